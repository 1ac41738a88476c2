#!/usr/bin/env bash
# Runs the digits model on a Cortex-M55 in QEMU and compares its logits with the host's. Needs build/release and
# build/cortex-m55.
set -euo pipefail
cd "$(dirname "$0")/.."
wick="$PWD/build/release/bin/wick"
device="$PWD/build/cortex-m55/bin/digits_m55"
if [ ! -x "$wick" ] || [ ! -f "$device" ]; then
  echo "build the presets release and cortex-m55 first" >&2
  exit 2
fi
folder=build/cortex-m55/run
mkdir -p "$folder"
"$wick" compile tests/fixtures/digits/digits.pt2 -o "$folder/digits.pte" --backend portable
cp tests/fixtures/digits/digits.in.npz "$folder/input.npz"
"$wick" run "$folder/digits.pte" -i "$folder/input.npz" -o "$folder/expected.npz"
cd "$folder"
# The exit status of main comes back as QEMU's.
timeout 60 qemu-system-arm -M mps3-an547 -nographic -monitor none -serial none \
  -semihosting-config enable=on,target=native -kernel "$device" </dev/null
