#!/usr/bin/env bash
# Builds the runner (and the example) for each board that QEMU emulates: build/<preset>/bin/wick_runner.
set -euo pipefail
cd "$(dirname "$0")/.."
for preset in cortex-m55 cortex-m4 cortex-m3; do
  grep -q "\"name\": \"$preset\"" CMakePresets.json || continue
  cmake --preset "$preset" --log-level=WARNING
  cmake --build --preset "$preset"
done
