#!/usr/bin/env bash
# clang-tidy over the .cpp files that differ from commit $1 (default HEAD), or over all with --all; headers through the files that include
# them.
# Without such files: says so and succeeds. The preset "tidy" gives the compile commands; files that only boards compile
# (mve.cpp, plain.cpp, devices/board, ..) have those of the first preset of a processor that knows them.
set -euo pipefail
cd "$(dirname "$0")/.."
base="${1:-HEAD}"
changed() {
  if [ "$base" = --all ]; then git ls-files -- '*.cpp'; else git diff --name-only --diff-filter=d "$base" -- '*.cpp'; fi
  git ls-files --others --exclude-standard -- '*.cpp'
}
mapfile -t files < <(changed | sort -u)
status=0
# Checks those of `files` that a preset compiles; the others are left in `files`.
check_in() {
  local preset=$1 known=() left=() file
  for file in "${files[@]}"; do
    if grep -qF "\"file\": \"$PWD/$file\"" "build/$preset/compile_commands.json"; then known+=("$file"); else left+=("$file"); fi
  done
  files=("${left[@]}")
  [ ${#known[@]} -gt 0 ] || return 0
  echo "${#known[@]} files of $preset"
  printf '%s\n' "${known[@]}" | xargs -P 2 -n 4 clang-tidy-19 -p "build/$preset" --quiet --warnings-as-errors='*' || status=1
}

[ ${#files[@]} -gt 0 ] || { echo "no changed .cpp files"; exit 0; }
cmake --preset tidy --log-level=ERROR >/dev/null
# Generated headers must be there before a file that includes them can be read.
ninja -C build/tidy wick_schema_headers wick_xnnpack_payload_headers wick_cuda_payload_headers \
  generated/edit/program_generated.h generated/edit/flat_tensor_generated.h >/dev/null 2>&1 || true
check_in tidy
if command -v arm-none-eabi-g++ >/dev/null; then
  for preset in cortex-m55 cortex-m4 cortex-m3; do
    [ ${#files[@]} -gt 0 ] || break
    cmake --preset "$preset" --log-level=ERROR >/dev/null
    ninja -C "build/$preset" wick_schema_headers >/dev/null 2>&1 || true
    check_in "$preset"
  done
fi
[ ${#files[@]} -eq 0 ] || printf 'not checked, since no preset compiles it: %s\n' "${files[@]}"
exit $status
