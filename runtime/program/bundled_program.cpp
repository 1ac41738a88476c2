#include "wick/bundled_program.h"

#include "runtime/program/reader.h"
#include "runtime/program/tensor_layout.h"
#include "schema/bundled_program_generated.h"
#include "schema/header.h"

namespace wick {
namespace {

using flatbuffers::uoffset_t;
using Values = flatbuffers::Vector<flatbuffers::Offset<bpte::Value>>;

using Root = bpte::BundledProgram;
using Suite = bpte::BundledMethodTestSuite;
using Set = bpte::BundledMethodTestCase;

const Suite& suite_of(const Root* root, size_t suite) {
  return *root->method_test_suites()->Get(static_cast<uoffset_t>(suite));
}
const Set& set_of(const Root* root, size_t suite, size_t set) {
  return *suite_of(root, suite).test_cases()->Get(static_cast<uoffset_t>(set));
}

Error read_tensor(const bpte::Tensor& tensor, TensorMeta* meta, const char** why) {
  if (!tensor.sizes() || !tensor.dim_order()) return *why = "sizes or dim order are missing", Error::InvalidProgram;
  if (!is_aligned(tensor.sizes())) return *why = "sizes are misaligned", Error::InvalidProgram;
  meta->dtype = static_cast<DType>(tensor.scalar_type());
  meta->sizes = span_of(tensor.sizes());
  meta->dim_order = span_of(tensor.dim_order());
  if (!measure_shape(meta, why)) return Error::InvalidProgram;
  meta->storage = Storage::constant;
  meta->bytes = span_of(tensor.data());
  if (meta->bytes.size() != meta->nbytes)
    return *why = "it has more or fewer bytes than elements", Error::InvalidProgram;
  return Error::Ok;
}

Error read_value(const bpte::Value& value, ValueMeta* meta, const char** why) {
  // A field that is absent has a type, too.
  switch (value.val() ? value.val_type() : bpte::ValueUnion::NONE) {
    case bpte::ValueUnion::Tensor:
      meta->tag = Tag::tensor;
      return read_tensor(*value.val_as_Tensor(), &meta->tensor, why);
    case bpte::ValueUnion::Int:
      meta->tag = Tag::integer;
      meta->integer = value.val_as_Int()->int_val();
      return Error::Ok;
    case bpte::ValueUnion::Bool:
      meta->tag = Tag::boolean;
      meta->boolean = value.val_as_Bool()->bool_val();
      return Error::Ok;
    case bpte::ValueUnion::Double:
      meta->tag = Tag::real;
      meta->real = value.val_as_Double()->double_val();
      return Error::Ok;
    default: return *why = "neither a tensor nor a number", Error::InvalidProgram;
  }
}

ValueMeta checked_value(const Values* values, size_t index) {
  ValueMeta meta;
  const char* why = "";
  // Cannot fail: load() made the same call.
  (void)read_value(*values->Get(static_cast<uoffset_t>(index)), &meta, &why);
  return meta;
}

/// Limits what a file states: tables and strings may be shared, so a small file can state more than it holds.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(bytes) {}
  bool spend(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  uint64_t left_;
};

Error overspent(const char* what, ErrorText* text) {
  return explain(text, Error::InvalidProgram, what, " take more bytes than a file of this size can hold");
}

Error check_values(const char* method, size_t set, const char* kind, const Values* values, Budget* budget,
                   ErrorText* text) {
  for (size_t i = 0; i < size_of(values); ++i) {
    ValueMeta meta;
    const char* why = "";
    const Error error = read_value(*values->Get(static_cast<uoffset_t>(i)), &meta, &why);
    if (error != Error::Ok) {
      return explain(text, error, "test set ", static_cast<uint64_t>(set), " of method ", method, ": ", kind,
                     static_cast<uint64_t>(i), ": ", why);
    }
    if (!budget->spend(meta.tag == Tag::tensor ? meta.tensor.nbytes : 0))
      return overspent("the tensors of the test sets", text);
  }
  return Error::Ok;
}

Error check_suites(const Root& root, uint64_t file_bytes, ErrorText* text) {
  // A report names the method of each set. A set with short values may be smaller than a long name.
  constexpr uint64_t kNameBytesPerByte = 4;
  Budget tensors(file_bytes), names(kNameBytesPerByte * file_bytes);
  const auto* suites = root.method_test_suites();
  for (size_t i = 0; i < size_of(suites); ++i) {
    const Suite& suite = suite_of(&root, i);
    if (text_of(suite.method_name())[0] == 0)
      return explain(text, Error::InvalidProgram, "test suite ", static_cast<uint64_t>(i), " names no method");
    if (!names.spend((1 + uint64_t{size_of(suite.test_cases())}) * suite.method_name()->size()))
      return overspent("the methods' names in the test sets", text);
    for (size_t set = 0; set < size_of(suite.test_cases()); ++set) {
      const Set& values = set_of(&root, i, set);
      const char* method = text_of(suite.method_name());
      Error error = check_values(method, set, "input ", values.inputs(), &tensors, text);
      if (error != Error::Ok) return error;
      error = check_values(method, set, "expected output ", values.expected_outputs(), &tensors, text);
      if (error != Error::Ok) return error;
    }
  }
  return Error::Ok;
}

bool has_unknown_value(const Values* values) {
  for (size_t i = 0; i < size_of(values); ++i) {
    const bpte::Value& value = *values->Get(static_cast<uoffset_t>(i));
    if (has_unknown_field(&value, bpte::Value::VT_VAL)) return true;
    const bpte::Tensor* tensor = value.val_as_Tensor();
    if (tensor && has_unknown_field(tensor, bpte::Tensor::VT_DIM_ORDER)) return true;
  }
  return false;
}

bool verify_tables(Span<const uint8_t> file) {
  flatbuffers::Verifier::Options options;
  // A table takes an offset of at least four bytes, unless it is named more than once.
  options.max_tables = static_cast<uoffset_t>(file.size() / 4 + 64);
  flatbuffers::Verifier verifier(file.data(), file.size(), options);
  return bpte::VerifyBundledProgramBuffer(verifier);
}

}  // namespace

bool BundledProgram::is_bundled(Span<const uint8_t> file) {
  return schema::has_magic(file.data(), file.size(), schema::kIdentifierOffset, schema::kBundledProgramIdentifier);
}

Result<BundledProgram> BundledProgram::load(Span<const uint8_t> file, const LoadOptions& options) {
  ErrorText* text = options.text;
  if (reinterpret_cast<uintptr_t>(file.data()) % schema::kFileAlignment != 0)
    return explain(text, Error::InvalidArgument, "the file does not start at a multiple of 16 bytes in memory");
  if (!is_bundled(file)) {
    return explain(text, Error::InvalidProgram, "no bundled program: identifier ", schema::kBundledProgramIdentifier,
                   " not found at byte 4");
  }
  if (file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return explain(text, Error::InvalidProgram, "a bundled program has less than 2^31 - 1 bytes");
  if (!verify_tables(file))
    return explain(text, Error::InvalidProgram, "the tables of the bundled program are corrupt");
  const Root& root = *bpte::GetBundledProgram(file.data());
  if (size_of(root.program()) == 0) return explain(text, Error::InvalidProgram, "the bundled program holds no program");
  if (reinterpret_cast<uintptr_t>(root.program()->Data()) % schema::kFileAlignment != 0) {
    return explain(text, Error::InvalidProgram,
                   "the program inside the bundled program does not start at a multiple of 16 bytes");
  }
  const Error error = check_suites(root, file.size(), text);
  if (error != Error::Ok) return error;
  return BundledProgram(&root);
}

uint32_t BundledProgram::version() const { return root_->version(); }

bool BundledProgram::has_unknown_fields() const {
  if (has_unknown_field(root_, Root::VT_PROGRAM)) return true;
  for (size_t i = 0; i < num_suites(); ++i) {
    if (has_unknown_field(&suite_of(root_, i), Suite::VT_TEST_CASES)) return true;
    for (size_t set = 0; set < num_sets(i); ++set) {
      const Set& values = set_of(root_, i, set);
      if (has_unknown_field(&values, Set::VT_EXPECTED_OUTPUTS) || has_unknown_value(values.inputs()) ||
          has_unknown_value(values.expected_outputs()))
        return true;
    }
  }
  return false;
}

Span<const uint8_t> BundledProgram::program() const { return span_of(root_->program()); }

size_t BundledProgram::num_suites() const { return size_of(root_->method_test_suites()); }
const char* BundledProgram::method(size_t suite) const { return text_of(suite_of(root_, suite).method_name()); }
size_t BundledProgram::num_sets(size_t suite) const { return size_of(suite_of(root_, suite).test_cases()); }

size_t BundledProgram::num_inputs(size_t suite, size_t set) const {
  return size_of(set_of(root_, suite, set).inputs());
}
size_t BundledProgram::num_outputs(size_t suite, size_t set) const {
  return size_of(set_of(root_, suite, set).expected_outputs());
}
ValueMeta BundledProgram::input(size_t suite, size_t set, size_t index) const {
  return checked_value(set_of(root_, suite, set).inputs(), index);
}
ValueMeta BundledProgram::output(size_t suite, size_t set, size_t index) const {
  return checked_value(set_of(root_, suite, set).expected_outputs(), index);
}

}  // namespace wick
