// Changes single arguments of kernel calls, so that the program still loads and the kernel has to judge.
#pragma once
#include "tests/fuzz/editable_program.h"
#include "tests/fuzz/random.h"

namespace wick::fuzz {

/// A number or flag that a kernel call reads: an argument, or an item of a list argument.
struct NumberPlace {
  pte_edit::KernelCallT* call;
  size_t argument;
  int item;  // -1: the argument itself
};
std::vector<NumberPlace> number_places(const pte_edit::ExecutionPlanT& plan);

/// Gives this place alone, and not the others that share its value, edge `edge` of its kind.
constexpr size_t kNumEdges = 14;
void set_edge(pte_edit::ExecutionPlanT& plan, const NumberPlace& place, size_t edge);

/// Shortens or lengthens the list that holds `place`.
void change_length(pte_edit::ExecutionPlanT& plan, const NumberPlace& place, Random& random);

/// One change: a number, the length of a list, tensors of two calls exchanged, the dtype or the shape of a tensor that
/// keeps within its bytes.
void edit_arguments(pte_edit::ExecutionPlanT& plan, Random& random);

/// Gives each planned tensor an arena of its own, in which a sanitizer sees each step outside. With `more`, results
/// have room for more than they need, so that kernels with other arguments get as far as their loops. Kernels that do
/// not choose the sizes of their results take no such program.
enum class Room { exact, more };
void spread_tensors(pte_edit::ExecutionPlanT& plan, Room room = Room::more);
/// Lays all planned tensors over each other in one arena, each `step` bytes behind the one before.
void overlap_tensors(pte_edit::ExecutionPlanT& plan, size_t step);

}  // namespace wick::fuzz
