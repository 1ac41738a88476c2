// Time that does not depend on what else the machine does.
#pragma once
#include <time.h>

namespace wick::testing {

/// Processor time of the calling thread, in seconds.
inline double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace wick::testing
