#!/usr/bin/env bash
# Compiles the handwritten-digits model, looks into it, and runs the held-back test images through the result.
# Exit 1 when the numbers are not eager PyTorch's.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
fixtures=tests/fixtures/digits
out=build/demo
mkdir -p "$out"

say() { printf '\n$ %s\n' "$*"; }

backend=xnnpack
"$bin/digits_demo" --has-xnnpack || backend=portable
say wick compile $fixtures/digits.pt2 -o $out/digits.pte --backend $backend --report $out/report.json
"$bin/wick" compile $fixtures/digits.pt2 -o $out/digits.pte --backend $backend --report $out/report.json

say wick inspect $out/digits.pte
"$bin/wick" inspect $out/digits.pte

say digits_demo $out/digits.pte $fixtures/images.npz
"$bin/digits_demo" $out/digits.pte $fixtures/images.npz

# From the report: numbers of the only method.
number() { grep -o "\"$1\": *[0-9.]*" "$out/report.json" | head -n 1 | sed 's/.*: *//'; }
printf '\ncompile time  %s ms\narena         %s bytes (lower bound %s)\nfile          %s bytes\n' \
  "$(number compile_ms)" "$(number arena_bytes)" "$(number arena_lower_bound_bytes)" "$(number file_bytes)"
