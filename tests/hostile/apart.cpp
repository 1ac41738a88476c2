#include "tests/hostile/apart.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace wick::testing {

void* take_shared_memory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory;
}

void give_back_shared_memory(void* memory, size_t bytes) { munmap(memory, bytes); }

void run_apart(size_t count, long max_seconds, const std::function<std::string(size_t)>& name,
               const std::function<void(size_t, Progress&)>& run) {
  struct State {
    size_t current = 0;
    Progress progress;
  };
  const SharedWithChildren<State> state;
  for (size_t next = 0; next < count;) {
    const pid_t child = fork();
    if (child == 0) {
      for (state->current = next; state->current < count; ++state->current) {
        const itimerval limit = {{}, {max_seconds, 0}};
        (void)setitimer(ITIMER_PROF, &limit, nullptr);
        run(state->current, state->progress);
      }
      _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    ADD_FAILURE() << name(state->current) << " " << state->progress.text
                  << (WIFSIGNALED(status) ? ": killed by signal " + std::to_string(WTERMSIG(status)) : ": failed");
    next = state->current + 1;
  }
}

}  // namespace wick::testing
