#!/usr/bin/env bash
# Compares the kernels of builds for devices with their reference, in QEMU: test_cortex_m_kernels.sh [PRESET ..]
# (default cortex-m55, cortex-m4, cortex-m3; they must be built).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then set -- cortex-m55 cortex-m4 cortex-m3; fi
for preset in "$@"; do
  case $preset in
    cortex-m55*) board=mps3-an547 ;;
    cortex-m4*) board=mps2-an386 ;;
    # An M3 runs what is built for an M0, which has other multiplications and fewer registers in instructions.
    cortex-m3* | cortex-m0*) board=mps2-an385 ;;
    *) echo "no board for the preset $preset: wanted cortex-m55, cortex-m4, cortex-m3 or cortex-m0" >&2; exit 2 ;;
  esac
  program="build/$preset/bin/cortex_m_kernels_device_test"
  if [ ! -f "$program" ]; then
    echo "$program is not built: cmake --preset $preset && cmake --build --preset $preset" >&2
    exit 2
  fi
  echo "$preset on $board"
  timeout 300 qemu-system-arm -M "$board" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$program" </dev/null
done
