// A C program that gives a packaged program memory which it has to refuse.
#pragma once
#include <cctype>
#include <string>

namespace wick::cli {

// Calls every function of the program NAME with instances and memory that are null, misaligned or missing, then with
// good ones. DYNAMIC: the sizes of input 0 may change.
constexpr char kHostileProgram[] = R"(
#include <stdio.h>
#include <string.h>
#include "NAME.h"

#define CHECK(holds) do { if (!(holds)) { printf("line %d: %s\n", __LINE__, #holds); return 1; } } while (0)
#define SAYS(text) (strstr(NAME_instance_error(&instance), text) != 0)

__attribute__((aligned(64))) static unsigned char arena[UP_ARENA_BYTES + 64], state[UP_STATE_BYTES + 64],
    scratch[UP_SCRATCH_BYTES + 64], room[2 * sizeof(NAME_instance)], other_room[sizeof(NAME_memory) + 16];
static NAME_instance instance;

static int unusable(NAME_instance* handle) {
  CHECK(NAME_instance_input(handle, 0) == 0);
  CHECK(NAME_instance_run(handle) != 0);
  CHECK(NAME_instance_output(handle, 0) == 0);
#ifdef DYNAMIC
  {
    const int32_t sizes[] = UP_INPUT_0_SIZES;
    CHECK(NAME_instance_set_input_sizes(handle, 0, sizes) != 0);
    CHECK(NAME_instance_output_sizes(handle, 0) == 0);
  }
#endif
  CHECK(NAME_instance_error(handle)[0] != 0);
  return 0;
}

int main(void) {
  const NAME_memory good = {arena, state, scratch};
  NAME_instance copy;
  NAME_memory bad;
  CHECK(NAME_run() != 0 && NAME_input(0) == 0 && NAME_output(0) == 0);
  CHECK(strstr(NAME_error(), "not initialised") != 0);
  CHECK(NAME_init_with(0) != 0 && NAME_error()[0] != 0);

  CHECK(NAME_instance_init(0, &good) != 0);
  CHECK(NAME_instance_init((NAME_instance*)(void*)(room + 1), &good) != 0);
  if (unusable(0) || unusable((NAME_instance*)(void*)(room + 1)) || unusable(&instance)) return 1;
  CHECK(NAME_instance_init(&instance, 0) != 0 && SAYS("NAME_memory is null"));
  if (unusable(&instance)) return 1;
  memcpy(other_room + 1, &good, sizeof good);
  CHECK(NAME_instance_init(&instance, (const NAME_memory*)(const void*)(other_room + 1)) != 0 && SAYS("misaligned"));
  if (unusable(&instance)) return 1;

  CHECK(NAME_instance_init(&instance, &good) == 0);
  bad = good, bad.arena = 0;
  CHECK(NAME_instance_init(&instance, &bad) != 0 && SAYS("the arena is null or misaligned"));
  if (unusable(&instance)) return 1;
  bad = good, bad.arena = arena + 1;
  CHECK(NAME_instance_init(&instance, &bad) != 0 && SAYS("the arena is null or misaligned"));
  if (unusable(&instance)) return 1;
  bad = good, bad.state = 0;
  CHECK(NAME_instance_init(&instance, &bad) != 0 && SAYS("is null or"));
  if (unusable(&instance)) return 1;
  bad = good, bad.state = state + 1;
  CHECK(NAME_instance_init(&instance, &bad) != 0 && SAYS("is null or"));
  if (unusable(&instance)) return 1;
  bad = good, bad.scratch = 0;
  CHECK((NAME_instance_init(&instance, &bad) == 0) == (UP_SCRATCH_BYTES == 0));
  bad = good, bad.scratch = scratch + 1;
  CHECK((NAME_instance_init(&instance, &bad) == 0) == (UP_SCRATCH_BYTES == 0));

  CHECK(NAME_instance_init(&instance, &good) == 0 && NAME_instance_error(&instance)[0] == 0);
  copy = instance;
  if (unusable(&copy)) return 1;
  CHECK(NAME_instance_input(&instance, 99) == 0 && NAME_instance_output(&instance, 99) == 0);
  memset(NAME_instance_input(&instance, 0), 0, UP_INPUT_0_BYTES);
  CHECK(NAME_instance_run(&instance) == 0 && NAME_instance_output(&instance, 0) != 0);
#ifdef DYNAMIC
  CHECK(NAME_instance_set_input_sizes(&instance, 0, 0) != 0 && SAYS("the sizes are null or misaligned"));
  CHECK(NAME_instance_set_input_sizes(&instance, 0, (const int32_t*)(const void*)(room + 1)) != 0);
  CHECK(NAME_instance_set_input_sizes(&instance, 99, (const int32_t*)(const void*)room) != 0);
#endif
  return 0;
}
)";

inline std::string all_replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// The text of a test for a program of this name.
inline std::string hostile_program(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all_replaced(all_replaced(kHostileProgram, "NAME", name), "UP_", upper + "_");
}

}  // namespace wick::cli
