#!/usr/bin/env bash
# Builds the runner for each board that QEMU emulates, build/<preset>/bin/wick_runner, and what firmwares may link, by
# clang and by GCC, from which their flash is told.
set -euo pipefail
cd "$(dirname "$0")/.."
for preset in cortex-m55 cortex-m4 cortex-m3; do
  grep -q "\"name\": \"$preset\"" CMakePresets.json || continue
  cmake --preset "$preset" --log-level=WARNING
  cmake --build --preset "$preset"
  cmake --preset "$preset-gcc" --log-level=WARNING
  cmake --build --preset "$preset-gcc" --target wick_runner_parts_object
  cp "build/$preset-gcc/bin/wick_runner_parts.o" "build/$preset/bin/wick_runner_parts_gcc.o"
done
