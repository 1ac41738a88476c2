// Reads and checks any bytes as a payload; what passes is written, read again, and must pass again. Its mutator changes
// numbers of payloads that can be read, so that the checks behind the reader are reached.
#include <stdlib.h>
#include <string.h>

#include "backends/xnnpack/payload/payload_nodes.h"
#include "backends/xnnpack/test/payload_edit.h"

namespace {

using namespace wick;
using namespace wick::xnnpack;

#ifdef WICK_FUZZ
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::vector<uint8_t> blob = seed % 4 == 0 ? std::vector<uint8_t>() : edit_payload({data, size}, seed);
  if (blob.empty() || blob.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, blob.data(), blob.size());
  return blob.size();
}
#endif

void check_smaller_inputs(const Payload& payload) {
  std::vector<Dims> halved, dims;
  for (uint32_t id : payload.input_ids) {
    halved.push_back(payload.values[id].dims);
    for (uint32_t& dim : halved.back()) dim = (dim + 1) / 2;
  }
  (void)check_payload(payload, &halved, &dims, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char buffer[256];
  ErrorText text(buffer);
  Payload payload, copy;
  std::vector<Dims> dims, again;
  if (read_payload({data, size}, &payload, &text) != Error::Ok) return 0;
  if (check_payload(payload, nullptr, &dims, &text) != Error::Ok) return 0;
  if (dims.size() != payload.values.size()) abort();
  check_smaller_inputs(payload);
  for (size_t i = 1; i < payload.constants.size(); ++i) {
    if (payload.constants[i].key.empty()) return 0;
  }
  const std::vector<uint8_t> blob = write_payload(payload);
  if (read_payload({blob.data(), blob.size()}, &copy, &text) != Error::Ok) abort();
  if (check_payload(copy, nullptr, &again, &text) != Error::Ok || again != dims) abort();
  return 0;
}
