// What whole-program tests share: compile a .pt2, run the .pte on Wick's runtime, compare arrays with eager's.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/arrays/npz.h"
#include "compiler/driver/compile.h"
#include "wick/module.h"

namespace wick::testing {

/// Compiled methods loaded on Wick's runtime; state is kept between calls.
class CompiledProgram {
 public:
  /// Null with the rendered diagnostic or load error in `error`. `device`: DelegateOptions::device.
  static std::unique_ptr<CompiledProgram> make(const std::vector<compiler::CompileBytes>& inputs,
                                               const compiler::CompileOptions& options, IsaLevel isa,
                                               std::string* error, const std::string& device = "");
  /// Inputs by name in0, in1, ..; results named outK and mut_K as in the fixtures. False with `error` on failure.
  bool run(const std::string& method, const std::vector<cli::NamedArray>& inputs, std::vector<cli::NamedArray>* outputs,
           std::string* error);
  const compiler::CompileResult& compiled() const { return compiled_; }
  const std::vector<uint8_t>& pte() const { return bytes_; }

 private:
  compiler::CompileResult compiled_;
  std::vector<uint8_t> bytes_;
  std::unique_ptr<Module> module_;
};

/// How far two arrays may be apart: |got - want| <= absolute + relative * the larger.
struct ArrayTolerance {
  double relative = 1e-5, absolute = 1e-6;
};

/// "" if equal within the tolerance (floats; everything else exactly), else what differs. NaN equals NaN.
/// relative is to the larger of the two values.
std::string difference(const cli::NamedArray& got, const cli::NamedArray& want, const ArrayTolerance& tolerance);

/// Every expected array is there and equal. "" or one line per difference.
std::string differences(const std::vector<cli::NamedArray>& got, const std::vector<cli::NamedArray>& want,
                        const ArrayTolerance& tolerance);

}  // namespace wick::testing
