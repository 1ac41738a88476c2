// Reads tests/fixtures/cases/*.cases.gz. A case is one call of one operator: its arguments and eager PyTorch's results.
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

/// A tensor as eager holds it. `value.bytes` is row-major, whatever the strides.
struct CaseTensor {
  HostTensor value;
  std::vector<int64_t> strides;
  int64_t offset = 0;       // first element in its storage, in elements
  bool conjugated = false;  // eager conjugates the stored elements when it reads them
};

/// The expected result for one return of the schema.
struct Expected {
  enum class Kind { tensor, tensors, number, none } kind = Kind::none;
  std::vector<CaseTensor> tensors;  // exactly one for kind tensor
  HostValue number;
};

struct Case {
  std::string family, op;  // "binary", "aten.add.Tensor"
  size_t line = 0;         // in the unpacked file, from 1
  std::string arguments;   // JSON text of the inputs, for messages
  std::vector<compiler::pt2::NamedArgument> inputs;
  std::vector<std::pair<std::string, CaseTensor>> tensors;  // named t0, t1, .. in this order
  std::vector<Expected> expect;
  std::vector<std::pair<std::string, CaseTensor>> mutated;
  std::optional<std::string> error;
  std::string text;  // family opdef: the case as the operator's row states it (OpDef::cases)
  bool shape_only = false;
  /// Only in tests/fixtures/sharing: for each result tensor, the name of the tensor whose memory it shares, or "".
  std::vector<std::string> shares;
  std::optional<int64_t> never;  // the line stands for this many calls, none of whose results shares memory
};

/// The last family, dtypes, repeats cases in other dtypes. Tests that are not about dtypes leave it out.
inline constexpr const char* kFamilies[] = {"pointwise",      "binary",    "movement", "reduction",
                                            "linear_algebra", "neural",    "indexing", "creation",
                                            "quantized",      "functions", "opdef",    "dtypes"};
/// `numbers`: number arguments that the tensor's dtype cannot represent. `mixes`: tensors of several dtypes. Both test
/// values only, so one setting suffices.
inline constexpr const char* kDtypeFamilies[] = {"numbers", "mixes"};

/// All cases of a family. With WICK_CASES_PART=3/16 in the environment, every 16th case, starting at number 3.
/// Errors: file_io, corrupt_file, usage.
compiler::Result<std::vector<Case>> read_cases(const std::string& folder, const std::string& family);

/// Whether WICK_CASES_PART selects a part of the cases. Then some entries of lists of exceptions have no case.
bool is_part_wanted();

/// For every operator, by name: the first `most` cases of all families that eager accepts.
compiler::Result<std::map<std::string, std::vector<Case>>> first_cases(const std::string& folder, size_t most);

}  // namespace wick::conformance
