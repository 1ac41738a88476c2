/* Spots keywords on a microcontroller: 49 frames of 10 spectral features come in, as from a microphone's driver, and the
   network gives a logit for each of 12 words. Exit status: 0 if each frame gave finite logits. */
#include <stdio.h>

#include "ds_cnn.h"

#define FRAMES 49
#define FEATURES 10
static float features[FRAMES][FEATURES]; /* a ring: the latest frames */

/* A driver would wait for samples and compute the features of a frame. This one makes them up. */
static void next_frame(float* frame, unsigned* state) {
  int i;
  for (i = 0; i < FEATURES; ++i) {
    *state = *state * 1664525u + 1013904223u;
    frame[i] = (float)(*state >> 8) / 8388608.0f - 1.0f;
  }
}

static int spot(unsigned oldest) {
  float* input = ds_cnn_input(0);
  const float* logits;
  unsigned frame, best = 0;
  int i;
  for (frame = 0; frame < FRAMES; ++frame) {
    for (i = 0; i < FEATURES; ++i) input[frame * FEATURES + (unsigned)i] = features[(oldest + frame) % FRAMES][i];
  }
  if (ds_cnn_run() != 0) return -1;
  logits = ds_cnn_output(0);
  for (i = 0; i < DS_CNN_OUTPUT_0_COUNT; ++i) {
    if (logits[i] - logits[i] != 0) return -1;
    if (logits[i] > logits[best]) best = (unsigned)i;
  }
  return (int)best;
}

int main(void) {
  unsigned state = 1, frame;
  if (ds_cnn_init() != 0) {
    printf("init: %s\n", ds_cnn_error());
    return 2;
  }
  for (frame = 0; frame < 4 * FRAMES; ++frame) {
    next_frame(features[frame % FRAMES], &state);
    if (frame % FRAMES == FRAMES - 1) {
      const int word = spot((frame + 1) % FRAMES);
      if (word < 0) {
        printf("run: %s\n", ds_cnn_error());
        return 1;
      }
      printf("frame %u: word %d\n", frame + 1, word);
    }
  }
  printf("arena %d bytes, state %d bytes\n", DS_CNN_ARENA_BYTES, DS_CNN_STATE_BYTES);
  return 0;
}
