#!/usr/bin/env bash
# Builds the targets that build/fuzz/fuzz_targets.txt lists; the preset "fuzz" must be configured.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t targets < <(cut -d ' ' -f 1 build/fuzz/fuzz_targets.txt)
cmake --build --preset fuzz --target "${targets[@]}" make_seeds make_program_seeds
