// Checks each integer result of a program: is it what the model computes from the program's own integers before it?
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/trace/program_elements.h"

namespace wick::cli {

/// Assigns tensors of the program to quantized values of the model. Values are numbered in the order in which the model
/// computes them.
struct Reading {
  static constexpr size_t kNone = SIZE_MAX;     // the program lacks the value; its candidates only look alike
  std::map<size_t, size_t> choices;             // index into candidates_of(); 0, the nearest, if absent
  std::map<size_t, std::vector<double>> slack;  // argument of candidates_of(); none if absent
};

/// Whether the operator quantizes to a scale that the file states: its results are followed.
bool is_followed(const OperatorName& op);

/// A quantized value of the model in one run.
struct Followed {
  size_t num_candidates = 0;
  std::vector<int32_t> values;  // as the model computed them; empty: a constant, or not on a grid of 8 or 16 bits
  std::vector<int32_t> taken;   // the program's, with which the run continued; empty: it has none
  bool is_conclusive = true;    // taken, exact, or computed from the program's elements and on an 8-bit grid
  bool is_at_place = false;     // a candidate that no earlier value took is from the value's own source line and module
};

/// A tracer for a run of the model on portable kernels. Where the program has elements for a quantized value of the
/// model (candidates_of), the run continues with the program's elements, so that later values are judged independently
/// of earlier roundings. The program deviates at a kernel if the model quantizes a value that nodes of the kernel's
/// source line and module compute from the program's own elements, the value has as many elements as the kernel's
/// result, no tensor of the program stands for the value, and the kernel's result stands for no quantized value of the
/// model.
class LocalCheck {
 public:
  LocalCheck(const std::vector<Elements>& program, const Reading& reading)
      : program_(program),
        reading_(reading),
        known_(program.size()),
        taken_(program.size()),
        tracer_{ignore, check, this} {}
  LocalCheck(const LocalCheck&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method);
  /// Must be called after the run.
  std::optional<Deviation> first_deviation() const;
  /// Each quantized value in the order of the run.
  const std::vector<Followed>& followed() const { return followed_; }

 private:
  using Place = std::pair<std::string, std::string>;  // source, module
  enum class Origin : uint8_t { constants, program, model };
  /// How bytes of memory were computed. Origin::program: from constants, inputs and elements that the program has as
  /// well. `places`: of the nodes that computed them from quantized elements.
  struct Made {
    Origin origin = Origin::constants;
    std::set<Place> places;
    void add(const Made& other);
  };
  struct Region {
    uintptr_t end = 0;
    Made made;
  };
  /// Kernels of the program, one of which should have computed `wanted`.
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
  Place place_of(const InstructionInfo& instruction) const;
  bool take_from_program(const InstructionInfo& quantize, const QuantizedValue& value, const Made& made,
                         Followed& followed);

  const std::vector<Elements>& program_;
  const Reading& reading_;
  std::vector<bool> known_;  // by tensor of the program: the model has such a quantized value
  std::vector<bool> taken_;  // by tensor of the program: it stands for a value of the model
  Tracer tracer_;
  std::optional<MethodMeta> method_;
  bool rounds_alike_ = false;            // the model has all operators that wrote the program's elements
  std::map<uintptr_t, Region> regions_;  // by their first byte; they do not overlap
  std::vector<Suspects> suspects_;
  std::vector<Followed> followed_;
};

}  // namespace wick::cli
