#include "wick/evalue.h"

namespace wick {

int64_t EValue::to_int() const {
  if (tag == Tag::boolean) return boolean ? 1 : 0;
  if (tag != Tag::real) return integer;
  if (real != real) return 0;
  // 2^63 is exact in double; INT64_MAX is not.
  if (real >= 9223372036854775808.0) return INT64_MAX;
  if (real < -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(real);
}

}  // namespace wick
