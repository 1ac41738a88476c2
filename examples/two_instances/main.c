/* Two instances of one program. Each counts its own calls, from 3 on, and multiplies its input with the count; both
   share the constants, the kernels and the scratch memory. Exit status: 0 if neither disturbs the other. */
#include <stdio.h>

#include "counter.h"

#define AT_LEAST_1(bytes) ((bytes) > 0 ? (bytes) : 1)
#define ALIGNED(bytes) __attribute__((aligned(bytes)))

ALIGNED(COUNTER_ARENA_ALIGNMENT) static unsigned char arena[2][AT_LEAST_1(COUNTER_ARENA_BYTES)];
ALIGNED(COUNTER_STATE_ALIGNMENT) static unsigned char state[2][AT_LEAST_1(COUNTER_STATE_BYTES)];
/* The instances never run at the same time: one for both. */
ALIGNED(COUNTER_SCRATCH_ALIGNMENT) static unsigned char scratch[AT_LEAST_1(COUNTER_SCRATCH_BYTES)];
static counter_instance instances[2];

/* Runs one instance with `number` as its input; 0 if the output is number times its count. */
static int step(int which, float number, int count) {
  float* input = counter_instance_input(&instances[which], 0);
  const float* output;
  int i;
  for (i = 0; i < COUNTER_INPUT_0_COUNT; ++i) input[i] = number;
  if (counter_instance_run(&instances[which]) != 0) {
    printf("run: %s\n", counter_instance_error(&instances[which]));
    return 1;
  }
  output = counter_instance_output(&instances[which], 0);
  printf("instance %d, count %d: %d\n", which, count, (int)output[0]);
  return output[0] != number * (float)count;
}

int main(void) {
  int i, bad = 0, count[2] = {3, 3};
  for (i = 0; i < 2; ++i) {
    const counter_memory memory = {arena[i], state[i], scratch};
    if (counter_instance_init(&instances[i], &memory) != 0) {
      printf("init: %s\n", counter_instance_error(&instances[i]));
      return 2;
    }
  }
  for (i = 0; i < 6; ++i) {
    bad += step(0, 2, ++count[0]);
    if (i % 2 == 1) bad += step(1, 10, ++count[1]); /* half as often */
  }
  return bad != 0;
}
