// Reads a plan from untrusted bytes: FlatBuffers' verifier, then a limit for what they ask for, then check_plan.
#include <string.h>

#include "backends/cuda/payload/plan.h"
#include "backends/cuda/payload/plan_generated.h"

namespace wick::cuda {
namespace {

using flatbuffers::uoffset_t;

// The fewest bytes that an item takes in a file, including its entry in a list. A file may refer to one table many
// times. All items together may not need more bytes than the file could hold, so that time and memory stay linear in
// its size.
constexpr size_t kTableBytes = 12, kStepBytes = sizeof(fb::FormulaStep), kArgumentBytes = sizeof(fb::Argument);

class Reader {
 public:
  Reader(Span<const uint8_t> bytes, Plan* plan) : bytes_(bytes), plan_(*plan) {
    budget_ = uint64_t{bytes.size()} + bytes.size() / 4 + 1024;
  }

  Error run(ErrorText* text);

 private:
  bool verify();
  bool spend(size_t items, size_t each_bytes) {
    if (items > budget_ / each_bytes) return false;
    budget_ -= items * each_bytes;
    return true;
  }
  bool copy(const flatbuffers::String* from, std::string* to) {
    if (!from) return true;
    if (!spend(from->size(), 1)) return false;
    to->assign(from->c_str(), from->size());
    return true;
  }
  template <typename T>
  bool copy(const flatbuffers::Vector<T>* from, std::vector<T>* to) {
    if (!from) return true;
    if (!spend(from->size(), sizeof(T))) return false;
    to->resize(from->size());
    for (uoffset_t i = 0; i < from->size(); ++i) (*to)[i] = from->Get(i);
    return true;
  }
  // Calls read(table, item) for each table of a list.
  template <typename Table, typename Item, typename F>
  bool each(const flatbuffers::Vector<flatbuffers::Offset<Table>>* from, std::vector<Item>* to, F read) {
    if (!from) return true;
    if (!spend(from->size(), kTableBytes)) return false;
    to->resize(from->size());
    for (uoffset_t i = 0; i < from->size(); ++i) {
      if (!read(*from->Get(i), &(*to)[i])) return false;
    }
    return true;
  }

  bool symbol(const fb::Symbol& table, Symbol* symbol);
  bool formula(const fb::Formula& table, Formula* formula);
  bool buffer(const fb::Buffer& table, Buffer* buffer);
  bool interface(const fb::Interface& table, Interface* tensor);
  bool kernel(const fb::Kernel& table, Kernel* kernel);
  bool node(const fb::Node& table, PlanNode* node);
  bool lists();

  Span<const uint8_t> bytes_;
  Plan& plan_;
  uint64_t budget_;
  std::vector<uint64_t> aligned_;  // the bytes, if they are misaligned
  const fb::Plan* root_ = nullptr;
};

bool Reader::verify() {
  const uint8_t* data = bytes_.data();
  if (bytes_.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return false;
  // The verifier checks offsets only: numbers are aligned only if the bytes are.
  if (reinterpret_cast<uintptr_t>(data) % alignof(uint64_t) != 0) {
    aligned_.resize((bytes_.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    memcpy(aligned_.data(), data, bytes_.size());
    data = reinterpret_cast<const uint8_t*>(aligned_.data());
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = static_cast<uoffset_t>(bytes_.size() / 2 + 64);
  flatbuffers::Verifier verifier(data, bytes_.size(), options);
  if (!verifier.VerifyBuffer<fb::Plan>(fb::PlanIdentifier())) return false;
  root_ = flatbuffers::GetRoot<fb::Plan>(data);
  return true;
}

bool Reader::symbol(const fb::Symbol& table, Symbol* symbol) {
  symbol->min = table.min();
  symbol->max = table.max();
  symbol->input = table.input();
  symbol->dim = table.dim();
  return copy(table.name(), &symbol->name);
}

bool Reader::formula(const fb::Formula& table, Formula* formula) {
  if (!table.steps()) return true;
  if (!spend(table.steps()->size(), kStepBytes)) return false;
  formula->reserve(table.steps()->size());
  // The verifier allows a list of 8-byte numbers at any multiple of 4.
  const uint8_t* bytes = table.steps()->Data();
  for (uoffset_t i = 0; i < table.steps()->size(); ++i) {
    fb::FormulaStep step;
    memcpy(static_cast<void*>(&step), bytes + i * sizeof step, sizeof step);
    formula->push_back({static_cast<FormulaOp>(step.op()), step.value()});
  }
  return true;
}

bool Reader::buffer(const fb::Buffer& table, Buffer* buffer) {
  buffer->space = static_cast<Space>(table.space());
  buffer->size_bytes = table.size_bytes();
  buffer->offset = table.offset();
  buffer->index = table.index();
  return copy(table.data(), &buffer->data) && copy(table.state(), &buffer->state);
}

bool Reader::interface(const fb::Interface& table, Interface* tensor) {
  tensor->dtype = static_cast<DType>(table.dtype());
  return copy(table.sizes(), &tensor->sizes) && copy(table.dim_order(), &tensor->dim_order);
}

bool Reader::kernel(const fb::Kernel& table, Kernel* kernel) {
  kernel->block = {table.block_x(), table.block_y(), table.block_z()};
  kernel->dynamic_shared_bytes = table.dynamic_shared_bytes();
  kernel->has_barriers = table.has_barriers();
  if (table.parameters()) {
    if (!spend(table.parameters()->size(), 1)) return false;
    for (const uint8_t kind : *table.parameters()) kernel->parameters.push_back(static_cast<ParameterKind>(kind));
  }
  kernel->arithmetic = static_cast<Arithmetic>(table.arithmetic());
  return copy(table.name(), &kernel->name) && copy(table.schedule(), &kernel->schedule);
}

bool Reader::node(const fb::Node& table, PlanNode* node) {
  node->kind = static_cast<NodeKind>(table.kind());
  node->kernel = table.kernel();
  node->grid = {table.grid_x(), table.grid_y(), table.grid_z()};
  node->size = table.size();
  node->value = table.value();
  node->debug_handle = table.debug_handle();
  node->flops = table.flops();
  node->read_bytes = table.read_bytes();
  node->written_bytes = table.written_bytes();
  node->first_end = table.first_end();
  node->second_end = table.second_end();
  if (table.arguments()) {
    if (!spend(table.arguments()->size(), kArgumentBytes)) return false;
    node->arguments.reserve(table.arguments()->size());
    for (const fb::Argument* each : *table.arguments()) {
      node->arguments.push_back(
          {static_cast<ParameterKind>(each->kind()), each->index(), each->offset(), each->writes() != 0});
    }
  }
  return copy(table.after(), &node->after);
}

bool Reader::lists() {
  const auto read_interface = [&](const fb::Interface& table, Interface* tensor) { return interface(table, tensor); };
  return copy(root_->method(), &plan_.method) && copy(root_->producer(), &plan_.producer) &&
         each(root_->symbols(), &plan_.symbols, [&](const fb::Symbol& t, Symbol* s) { return symbol(t, s); }) &&
         each(root_->formulas(), &plan_.formulas, [&](const fb::Formula& t, Formula* f) { return formula(t, f); }) &&
         each(root_->buffers(), &plan_.buffers, [&](const fb::Buffer& t, Buffer* b) { return buffer(t, b); }) &&
         each(root_->inputs(), &plan_.inputs, read_interface) &&
         each(root_->outputs(), &plan_.outputs, read_interface) &&
         each(root_->modules(), &plan_.modules,
              [&](const fb::Module& t, Module* m) {
                m->architecture = t.architecture();
                m->is_ptx = t.is_ptx();
                m->is_exact = t.is_exact();
                return copy(t.data(), &m->data);
              }) &&
         each(root_->kernels(), &plan_.kernels, [&](const fb::Kernel& t, Kernel* k) { return kernel(t, k); }) &&
         each(root_->nodes(), &plan_.nodes, [&](const fb::Node& t, PlanNode* n) { return node(t, n); }) &&
         each(root_->checks(), &plan_.checks,
              [&](const flatbuffers::String& s, Check* c) { return copy(&s, &c->message); }) &&
         each(root_->requirements(), &plan_.requirements, [&](const fb::Requirement& t, Requirement* r) {
           r->found = t.found();
           r->low = t.low();
           r->high = t.high();
           r->node = t.node();
           r->is_second = t.is_second();
           return copy(t.message(), &r->message);
         });
}

Error Reader::run(ErrorText* text) {
  if (bytes_.size() < 8 || memcmp(bytes_.data() + 4, fb::PlanIdentifier(), 4) != 0) {
    if (text) {
      text->append(
          "the payload is no plan of version 1 (identifier WCU1): another version of Wick or another compiler "
          "made it; compile the model again");
    }
    return Error::DelegateInvalidCompatibility;
  }
  if (!verify()) {
    if (text) text->append("the payload's tables are corrupt");
    return Error::InvalidProgram;
  }
  plan_.partition = root_->partition();
  plan_.model = root_->model();
  plan_.driver_version = root_->driver_version();
  plan_.status_buffer = root_->status_buffer();
  plan_.arena_bytes = root_->arena_bytes();
  plan_.state_bytes = root_->state_bytes();
  plan_.random_buffer = root_->random_buffer();
  plan_.random_blocks = root_->random_blocks();
  plan_.counters_buffer = root_->counters_buffer();
  if (!lists()) {
    if (text) text->append("the payload's tables refer to more items than a payload of this size can hold");
    return Error::InvalidProgram;
  }
  return check_plan(plan_, text);
}

}  // namespace

Error read_plan(Span<const uint8_t> bytes, Plan* plan, ErrorText* text) {
  *plan = Plan();
  return Reader(bytes, plan).run(text);
}

}  // namespace wick::cuda
