/* Recognises handwritten digits on a microcontroller: a firmware of the library that `wick package` writes. Exit
   status: 0 if all images are recognised. */
#include <stdio.h>

#include "digits_int8.h"

#define NUM_IMAGES 3
static const int labels[NUM_IMAGES] = {2, 7, 9};
/* Eight rows of eight pixels, 0 to 16. */
static const unsigned char images[NUM_IMAGES][DIGITS_INT8_INPUT_0_COUNT] = {
    { 0,  3, 15, 16,  6,  0,  0,  0,
      0, 11, 15, 12, 15,  0,  0,  0,
      0,  2,  2,  2, 16,  4,  0,  0,
      0,  0,  0,  0, 16,  4,  0,  0,
      0,  0,  0,  5, 16,  1,  0,  0,
      0,  0,  0, 11, 15,  4,  1,  0,
      0,  1, 10, 16, 16, 16, 11,  0,
      0,  4, 16, 14, 12,  8,  3,  0},
    { 0,  0,  3, 15, 16, 16,  5,  0,
      0,  0, 10, 12, 10, 16,  6,  0,
      0,  2, 15,  2,  3, 16,  1,  0,
      0,  0,  2,  3, 10, 13,  2,  0,
      0,  0,  3, 16, 16, 16, 10,  0,
      0,  0,  0, 12, 13,  7,  1,  0,
      0,  0,  1, 16,  6,  0,  0,  0,
      0,  0,  5, 14,  2,  0,  0,  0},
    { 0,  1, 11, 15, 13,  2,  0,  0,
      0,  8, 13,  5, 14,  9,  0,  0,
      0,  3, 15,  1, 10, 12,  0,  0,
      0,  0,  7, 15, 14, 16,  3,  0,
      0,  0,  0,  0,  0, 13,  8,  0,
      0,  0,  0,  0,  0, 12,  8,  0,
      0,  2,  8,  4,  5, 16,  7,  0,
      0,  1, 15, 16, 15,  8,  1,  0}
};

static int recognise(const unsigned char* pixels) {
  float* input = digits_int8_input(0);
  const float* logits;
  int i, best = 0;
  for (i = 0; i < DIGITS_INT8_INPUT_0_COUNT; ++i) input[i] = (float)pixels[i] / 16.0f;
  if (digits_int8_run() != 0) return -1;
  logits = digits_int8_output(0);
  for (i = 1; i < DIGITS_INT8_OUTPUT_0_COUNT; ++i) best = logits[i] > logits[best] ? i : best;
  return best;
}

int main(void) {
  int i, right = 0;
  if (digits_int8_init() != 0) {
    printf("init: %s\n", digits_int8_error());
    return 2;
  }
  for (i = 0; i < NUM_IMAGES; ++i) {
    const int found = recognise(images[i]);
    if (found < 0) printf("run: %s\n", digits_int8_error());
    printf("image %d: found %d, is %d\n", i, found, labels[i]);
    right += found == labels[i];
  }
  printf("%d of %d right; arena %d bytes\n", right, NUM_IMAGES, DIGITS_INT8_ARENA_BYTES);
  return right == NUM_IMAGES ? 0 : 1;
}
