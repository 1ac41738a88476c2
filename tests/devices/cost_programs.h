// Operators for Cortex-M in several sizes that few models have, as programs: what they take makes the table of costs
// (scripts/fit_cortex_m_costs.py). C++20.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wick::cortex_m {

struct CostProgram {
  std::string name, text;
};
std::vector<CostProgram> cost_programs();

/// The .pte for "mve", "dsp" or "scalar". Empty, with the reason, if it does not compile.
std::vector<uint8_t> compiled_for(const CostProgram& program, const std::string& isa, std::string* failures);

}  // namespace wick::cortex_m
