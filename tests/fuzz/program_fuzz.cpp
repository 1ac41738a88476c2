// Any bytes as a .pte: an error, or methods that load and run without leaving their memory.
// The mutator edits the tables of programs that have valid ones, and bytes otherwise.
#include <cstring>

#include "tests/fuzz/program_edit.h"
#include "tests/fuzz/run_program.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz::run_program({data, size});
  return 0;
}

#ifdef WICK_FUZZ
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  wick::fuzz::Random random(seed);
  if (random.one_in(4)) return LLVMFuzzerMutate(data, size, max_size);
  const std::vector<uint8_t> edited = wick::fuzz::edit_program({data, size}, random);
  if (edited.empty() || edited.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, edited.data(), edited.size());
  return edited.size();
}
#endif
