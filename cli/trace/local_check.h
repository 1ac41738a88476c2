// Whether each integer result of a program is what the model makes of the program's own integers before it.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/trace/node_trace.h"

namespace wick::cli {

/// Elements of one tensor that a kernel of the program wrote.
struct Elements {
  std::string op, source, module;
  uint32_t instruction = 0;
  DType dtype = DType::i8;
  std::vector<int32_t> values;  // row-major
  bool is_known = false;        // the model quantizes numbers to these
};

/// Keeps what each kernel of a program writes as int8, uint8 or int16, up to `max_bytes`.
class ElementRecorder {
 public:
  explicit ElementRecorder(uint64_t max_bytes) : max_bytes_(max_bytes), tracer_{ignore, record, this} {}
  ElementRecorder(const ElementRecorder&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method) { method_ = method; }
  std::vector<Elements>& all() { return all_; }

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void record(void* state, const InstructionInfo& instruction, Error error);

  uint64_t max_bytes_, bytes_ = 0;
  std::optional<MethodMeta> method_;
  Tracer tracer_;
  std::vector<Elements> all_;
};

/// A tracer for a run of the model on portable kernels. Where the model quantizes to elements that are within one step
/// of some that the program has, in the same order or another one of dimensions, the run goes on with the program's:
/// what follows is then judged apart from roundings before it. The program deviates at a kernel if the model quantizes
/// what nodes of the kernel's source line and module compute from the program's own elements to as many elements, none
/// of the program's are within one step of those, and the kernel's are near to nothing that the model quantizes.
class LocalCheck {
 public:
  explicit LocalCheck(std::vector<Elements>& program) : program_(program), tracer_{ignore, check, this} {}
  LocalCheck(const LocalCheck&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method) { method_ = method; }
  /// After the run.
  std::optional<Deviation> first_deviation() const;

 private:
  using Place = std::pair<std::string, std::string>;  // source, module
  enum class Origin : uint8_t { constants, program, model };
  /// What bytes of memory are made of. `program`: of constants, inputs, and elements that the program has, too;
  /// `places`: of the nodes behind the last elements.
  struct Made {
    Origin origin = Origin::constants;
    std::set<Place> places;
    void add(const Made& other);
  };
  struct Region {
    uintptr_t end = 0;
    Made made;
  };
  /// Kernels of which one should have given `wanted`.
  struct Suspects {
    std::vector<size_t> indices;
    std::vector<int32_t> wanted;
  };

  static void ignore(void*, const InstructionInfo&) {}
  static void check(void* state, const InstructionInfo& instruction, Error error);
  Made made_of(const InstructionInfo& instruction) const;
  Made made_of(const Tensor& tensor) const;
  void note(const Tensor& tensor, const Made& made);
  void check_quantized(const InstructionInfo& instruction, Made made);
  bool take_from_program(Tensor& tensor, const std::vector<int32_t>& values);

  std::vector<Elements>& program_;
  Tracer tracer_;
  std::optional<MethodMeta> method_;
  std::map<uintptr_t, Region> regions_;  // by their first byte; they do not overlap
  std::vector<Suspects> suspects_;
};

}  // namespace wick::cli
