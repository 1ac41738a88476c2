// Reads tests/fixtures/cases/*.cases.gz: one call of one operator, its arguments and what eager PyTorch returns.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/program/exported_program.h"
#include "compiler/support/result.h"
#include "wick/module.h"

namespace wick::conformance {

/// A tensor as eager has it; `value.bytes` is row-major whatever the strides.
struct CaseTensor {
  HostTensor value;
  std::vector<int64_t> strides;
  int64_t offset = 0;       // in its storage
  bool conjugated = false;  // eager conjugates what is stored when it reads
};

/// What one schema return holds.
struct Expected {
  enum class Kind { tensor, tensors, number, none } kind = Kind::none;
  std::vector<CaseTensor> tensors;  // kind tensor: one
  HostValue number;
};

struct Case {
  std::string family, op;  // "binary", "aten.add.Tensor"
  size_t line = 0;         // in the unpacked file, from 1
  std::string arguments;   // JSON text of the inputs, for messages
  std::vector<compiler::pt2::NamedArgument> inputs;
  std::vector<std::pair<std::string, CaseTensor>> tensors;  // by number: t0, t1, ..
  std::vector<Expected> expect;
  std::vector<std::pair<std::string, CaseTensor>> mutated;
  std::optional<std::string> error;
  std::string text;  // of a case in an operator's row (OpDef::cases): the row's words
  bool shape_only = false;
  /// In tests/fixtures/sharing: for each tensor among the results the tensor in whose memory it lies, or "".
  std::vector<std::string> shares;
  std::optional<int64_t> never;  // a line for an operator: no result of so many calls lies in memory of an operand
};

/// The last is about dtypes: where others than eager and our kernels are asked, it is left out.
inline constexpr const char* kFamilies[] = {"pointwise",      "binary",    "movement", "reduction",
                                            "linear_algebra", "neural",    "indexing", "creation",
                                            "quantized",      "functions", "opdef",    "dtypes"};
/// Numbers beside tensors that cannot hold them, and tensors of several dtypes: about values only.
inline constexpr const char* kDtypeFamilies[] = {"numbers", "mixes"};

/// All cases of a family, or with WICK_CASES_PART=3/16 in the environment every 16th, from number 3 on.
/// Errors: file_io, corrupt_file, usage.
compiler::Result<std::vector<Case>> read_cases(const std::string& folder, const std::string& family);

/// Does the environment ask for a part? Then not everything that a list names has a case.
bool is_part_wanted();

/// Of every operator of all families the first `most` cases that eager accepts, by operator.
compiler::Result<std::map<std::string, std::vector<Case>>> first_cases(const std::string& folder, size_t most);

}  // namespace wick::conformance
