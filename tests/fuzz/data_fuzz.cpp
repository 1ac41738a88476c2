// Any bytes as a .ptd: an error, or tensors that a program with external weights loads and reads within their memory.
#include <cstring>
#include <string>

#include "schema/test_program_builder.h"
#include "tests/fuzz/block.h"
#include "tests/fuzz/program_edit.h"
#include "tests/fuzz/run_program.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace wick;

// out = mutable + constant + input, the first two from a .ptd, in several dtypes.
schema::AlignedBytes make_program() {
  schema::TestProgram program;
  const int32_t add = program.op("aten::add", "out"), alpha = program.integer(1);
  program.arena_sizes = {0, 1024};
  uint64_t offset = 0;
  for (const DType dtype : {DType::f32, DType::i64, DType::u8}) {
    const std::string suffix = dtype_name(dtype);
    schema::TestTensor constant{.dtype = dtype, .sizes = {2, 3}, .external = true, .name = "constant_" + suffix};
    schema::TestTensor state = constant;
    state.name = "state_" + suffix;
    state.memory_id = 1;
    state.memory_offset = offset;
    offset += 64;
    const int32_t a = program.tensor(state), b = program.tensor(constant), out = program.planned(dtype, {2, 3});
    program.call(add, {a, b, alpha, out, out});
    program.outputs.push_back(out);
  }
  return program.build();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const schema::AlignedBytes program = make_program();
  const fuzz::Block file({data, size});
  char buffer[1024];
  ErrorText text(buffer);
  const Result<DataMap> map = DataMap::load(file.bytes(), {&text});
  if (!map.ok()) return 0;
  size_t touched = 0;
  for (size_t i = 0; i < map->size() && i < 100; ++i) {
    const DataMap::Entry entry = map->entry(i);
    if (!map->find(entry.key).ok()) abort();
    for (const uint8_t byte : entry.bytes) touched += byte;
    for (const int32_t dim : entry.sizes) touched += static_cast<size_t>(dim);
    for (const uint8_t dim : entry.dim_order) touched += dim;
  }
  if (touched == SIZE_MAX) abort();  // so that the reads stay
  fuzz::run_program(program.span(), &*map);
  return 0;
}

#ifdef WICK_FUZZ
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  fuzz::Random random(seed);
  if (random.one_in(4)) return LLVMFuzzerMutate(data, size, max_size);
  const std::vector<uint8_t> edited = fuzz::edit_data({data, size}, random);
  if (edited.empty() || edited.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, edited.data(), edited.size());
  return edited.size();
}
#endif
