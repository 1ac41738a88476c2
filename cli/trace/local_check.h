// Whether each integer result of a program is what the model makes of the program's own integers before it.
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

/// Which of the program's tensors stand for which of the model's quantized values: values by the order in which the
/// model computes them.
struct Reading {
  static constexpr size_t kNone = SIZE_MAX;     // the program lacks the value, and others look alike
  std::map<size_t, size_t> choices;             // of candidates_of(); 0, the nearest, if not given
  std::map<size_t, std::vector<double>> slack;  // of candidates_of(); none if not given
};

/// Whether the operator quantizes to a scale that the file states: its results are followed.
bool is_followed(const OperatorName& op);

/// A quantized value of the model, as one run found it.
struct Followed {
  size_t num_candidates = 0;
  std::vector<int32_t> values;  // as the model gave them; empty: a constant, or not on a grid of 8 or 16 bits
  std::vector<int32_t> taken;   // the program's, with which the run went on; empty: it has none
  bool is_conclusive = true;    // taken, exact, or made of the program's elements and on a grid of 8 bits
  bool is_at_place = false;     // a candidate that no value before took is from the value's own source line and module
};

/// A tracer for a run of the model on portable kernels. Where the program has elements for what the model quantizes
/// (candidates_of), the run goes on with the program's: what follows is then judged apart from roundings before it. The
/// program deviates at a kernel if the model quantizes what nodes of the kernel's source line and module compute from
/// the program's own elements to as many elements, none of the program's stand for those, and the kernel's stand for
/// nothing that the model quantizes.
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
  /// After the run.
  std::optional<Deviation> first_deviation() const;
  /// Each quantized value in the order of the run.
  const std::vector<Followed>& followed() const { return followed_; }

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
  Place place_of(const InstructionInfo& instruction) const;
  bool take_from_program(const InstructionInfo& quantize, const QuantizedValue& value, const Made& made,
                         Followed& followed);

  const std::vector<Elements>& program_;
  const Reading& reading_;
  std::vector<bool> known_;  // of the program's: the model quantizes numbers to these
  std::vector<bool> taken_;  // of the program's: they stand for a value of the model
  Tracer tracer_;
  std::optional<MethodMeta> method_;
  bool rounds_alike_ = false;            // the program has no elements but of operators that the model has
  std::map<uintptr_t, Region> regions_;  // by their first byte; they do not overlap
  std::vector<Suspects> suspects_;
  std::vector<Followed> followed_;
};

}  // namespace wick::cli
