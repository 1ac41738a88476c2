// Facts about the methods of a .pte beyond ExecuTorch's own tables: named data "wick.metadata".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/type.h"
#include "compiler/plan/method_plan.h"
#include "compiler/quantize/border.h"
#include "compiler/support/result.h"
#include "devices/instruction_place.h"
#include "wick/program.h"

namespace wick::cli {

/// Scale and zero point of the elements, or of the program's first quantize or last dequantize.
struct GridFacts {
  double scale = 1;
  int64_t zero_point = 0;
};

struct InputFacts {
  std::string name;                    // Python argument name; "in0", "in1" .. if the file has none
  std::optional<compiler::Type> type;  // with symbols; none for values burnt in at export
  std::vector<compiler::Sym> numbers;  // symbols of the leading elements of a tensor of integers; 0 where there is none
  compiler::Sym below = 0;             // the elements are indices below this size; 0: they are no indices
  std::optional<GridFacts> grid = std::nullopt;
};

/// A place in the user's model.
struct PlaceFacts {
  std::string module, source;
};
/// The contents of one delegate. Places are "" if the file does not state them.
struct DelegateFacts {
  uint64_t num_nodes = 0;
  std::vector<std::string> named_data;  // keys of the constants it asks for
  std::vector<PlaceFacts> nodes;        // by debug handle of the payload
  std::vector<PlaceFacts> outputs;
};

/// The facts of one method. `known` is false for files made by others; the vectors are then filled from ExecuTorch's
/// tables: sizes are upper bounds, outputs count in program order.
struct MethodFacts {
  bool known = false;
  std::vector<InputFacts> inputs;                                    // one per input of the method
  std::vector<size_t> mutated_inputs;                                // input of each leading output
  std::vector<int64_t> output_leaves;                                // leaf number of each output after those
  std::vector<std::optional<GridFacts>> output_grids;                // as many, or none at all
  compiler::Border border;                                           // border with which the model was compiled
  std::vector<std::pair<compiler::Sym, compiler::SymRange>> ranges;  // of symbols and of sizes derived from them
  std::vector<compiler::Sym> rules;                                  // conditions on sizes that the method checks
  std::vector<compiler::SharedState> shared_states;                  // mutable buffers that other methods have as well
  compiler::SymRanges symbols;                                       // the ranges of lone symbols
  std::vector<DelegateFacts> delegates;                              // one per delegate of the method, or none
};

/// Reads "f32[s0, 3]", "f32[1, 8]{0,1}", "int(s0)", "float" or "bool". Errors: corrupt_file.
compiler::Result<compiler::Type> parse_type(std::string_view text);

/// The facts of `method`, checked against its tables. Errors: corrupt_file.
compiler::Result<MethodFacts> read_facts(const MethodMeta& method);
/// The facts of all methods of `program`, in its order. Errors: corrupt_file.
compiler::Result<std::vector<MethodFacts>> read_facts(const Program& program);

/// "out3" or "mut_0": the array name of output `index`. Requires: index < number of outputs.
std::string output_name(const MethodFacts& facts, size_t index);

/// The type of a value as text: "f32[2, 3]", "f32[<=8, 3]", "int", "float", "bool", "str", "none".
std::string value_text(const ValueMeta& value);
/// The type of an input: with symbols if they are known, with the value if it was burnt in.
std::string input_text(const MethodMeta& method, const MethodFacts& facts, size_t index);

using device::operator_text;

}  // namespace wick::cli
