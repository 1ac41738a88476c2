// Internal to linearize: the state of one translation.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/plan/linearize.h"

namespace wick::compiler {

/// Instructions for a comparison produce a bool, those for other expressions an integer.
bool is_condition(const Sym& sym);
/// Whether a view makes the value.
bool is_view(const Value* value);
/// Why the operands of a concatenation are not written in place.
const char* why_copied(const Node& cat);

class Linearizer {
 public:
  Linearizer(const Function& function, const LinearizeOptions& options)
      : function_(function), graph_(*function.graph), options_(options) {}
  MethodPlan run();

 private:
  // --- values (linearize_values.cpp) ---
  int32_t add_value(PlannedValue value);
  int32_t literal_int(int64_t value);
  int32_t literal(const Arg& arg);
  int32_t none_value();
  int32_t int_value(const Sym& sym);  // a literal, or instructions that compute it
  int32_t int_list(const Ints& ints);
  int32_t tensor_index(const Value* value);  // of a tensor that has storage already
  int32_t scalar_index(const Value* value);
  int32_t tensor_list(const Values& values, bool optional);
  int32_t argument(const ArgSpec& spec, const Arg& arg);
  void note_not_stock(std::string_view text);
  uint32_t operator_index(std::string_view registry_name, bool stock);
  PlannedTensor describe(const Value* value);  // dtype and bounds, no storage
  void refuse_unbounded(const Value* value);
  uint64_t bound_bytes(const PlannedTensor& tensor);
  uint32_t new_storage(Storage::Kind kind, uint64_t size_bytes, const std::string& label);
  int32_t define_tensor(const Value* value, uint32_t storage, uint64_t offset_bytes);
  int32_t allocate(const Value* value);  // own storage, in the arena or from the allocator
  uint32_t storage_for(const PlannedTensor& tensor, const std::string& label);
  int32_t scratch_like(const PlannedTensor& tensor, const std::string& label);
  void bind(const Value* value, int32_t index) { index_[value] = index; }
  static constexpr int32_t kUnread = -1;  // in place of an operand that no sub-graph reads
  const PlannedTensor& tensor_at(int32_t index) const {
    return std::get<PlannedTensor>(plan_.values[static_cast<size_t>(index)]);
  }
  // Defines symbols from the sizes of a tensor that exists now. Returns those that were not known.
  std::vector<std::string> define_symbols(const Value* value);

  // --- instructions (linearize.cpp) ---
  uint32_t emit_kernel(std::string_view registry_name, std::vector<int32_t> args, bool stock = true);
  size_t emit_jump(int32_t condition);  // destination filled by land()
  void land(size_t jump) { plan_.instructions[jump].args[1] = static_cast<int32_t>(plan_.instructions.size()); }
  void copy_into(int32_t target, int32_t source, const std::string& reason);
  void touch(int32_t value_index, uint32_t instruction);

  void inputs();
  void stored_values();
  void nodes(const Graph& graph);
  void node(const Node& node);
  void kernel_node(const Node& node);
  void delegate_node(const Node& node);
  void scalar_node(const Node& node);
  bool alias_view(const Node& node);
  using LocalNodes = std::unordered_set<const Node*>;
  const Value* seen_whole(const Value* operand);
  std::vector<const Value*> written_in_place(const Node& cat, const LocalNodes& local);
  void plan_concatenations(const Graph& graph);
  size_t last_read(const Value* value) const;
  static const Value* overwritten(const Value* result);
  bool dies_in(const Value* value, const Node& writer, size_t outside_uses) const;
  int32_t changed_argument(const Node& node, size_t index);
  void plan_state_writes();
  void updates();
  void outputs();
  void extend_views();
  void extend_loops();
  void free_unbounded();

  // --- checks while running (linearize_checks.cpp) ---
  void check(int32_t condition, const std::string& message);
  int32_t compare(const char* name, int32_t a, int32_t b);
  void check_range(const Sym& sym, const std::string& subject, int64_t natural_min);
  std::string number_subject(const Node& node) const;
  void check_input_sizes();
  std::set<std::string, std::less<>> sizes_that_stock_needs() const;
  void assertion(const Node& node);
  void failures();

  // --- control flow (linearize_control.cpp) ---
  void cond(const Node& node);
  void while_loop(const Node& node);
  void scan(const Node& node, bool with_carry);
  void carry(const std::vector<int32_t>& carried, const std::vector<int32_t>& values);
  std::vector<int32_t> inline_graph(const Graph& graph, const std::vector<int32_t>& operands);
  std::vector<int32_t> captured_indices(const Node& node);
  static bool is_needed(const Value* value);
  int32_t false_value();

  const Function& function_;
  const Graph& graph_;
  LinearizeOptions options_;
  MethodPlan plan_;
  OriginPtr origin_;
  const Graph* current_ = nullptr;  // whose nodes are being emitted
  std::map<std::pair<const Graph*, int64_t>, uint32_t> delegates_;
  std::unordered_map<const Value*, int32_t> index_;
  std::map<std::string, int32_t> literals_;                                 // by text with type
  std::vector<std::map<std::string, int32_t>> expressions_{1};              // computed expressions, per nesting level
  std::unordered_map<const Value*, std::pair<uint32_t, uint64_t>> placed_;  // concatenation operands: storage, offset
  std::unordered_set<const Node*> joined_;                                  // concatenations whose operands are placed
  std::unordered_map<const Value*, const Value*> writes_state_;             // result written in place -> state
  std::unordered_map<const Node*, size_t> position_;                        // of top-level nodes
  std::map<int32_t, int32_t> view_roots_;  // tensor whose pointer is set at run time -> its source
  struct Loop {
    uint32_t first, last;  // instructions, both included
  };
  std::vector<Loop> loops_;
  uint32_t outputs_at_ = 0;  // instructions before the outputs are final
  struct Check {
    size_t jump;  // taken when the check fails
    OriginPtr origin;
    std::string message;
  };
  std::vector<Check> checks_;
};

}  // namespace wick::compiler
