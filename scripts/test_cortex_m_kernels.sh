#!/usr/bin/env bash
# Compares the kernels of builds for devices with their reference, in QEMU: test_cortex_m_kernels.sh [PRESET ..]
# (default cortex-m55, cortex-m4, cortex-m3; they must be built).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then set -- cortex-m55 cortex-m4 cortex-m3; fi
run() {  # BOARD PROGRAM WORDS
  timeout 300 qemu-system-arm -M "$1" -nographic -monitor none -serial none \
    -semihosting-config "enable=on,target=native$3" -kernel "$2" </dev/null
}
test_preset() {  # PRESET
  local board program broken status
  case $1 in
    cortex-m55*) board=mps3-an547 ;;
    cortex-m4*) board=mps2-an386 ;;
    # An M3 runs what is built for an M0, which has other multiplications and fewer registers in instructions.
    cortex-m3* | cortex-m0*) board=mps2-an385 ;;
    *) echo "no board for the preset $1: wanted cortex-m55, cortex-m4, cortex-m3 or cortex-m0" >&2; return 2 ;;
  esac
  program="build/$1/bin/cortex_m_kernels_device_test"
  if [ ! -f "$program" ]; then
    echo "$program is not built: cmake --preset $1 && cmake --build --preset $1" >&2
    return 2
  fi
  echo "$1 on $board"
  # Kernels that read or write beyond their tensors are noticed: as a fault, or an operand that changed.
  for broken in read_behind:99 read_before:99 write_behind:99 write_before:99 write_operand:1; do
    status=0
    run "$board" "$program" ",arg=test,arg=${broken%:*}" || status=$?
    if [ "$status" -ne "${broken#*:}" ] && [ "$status" -ne 99 ]; then
      echo "a kernel that does ${broken%:*} gets through" >&2
      return 1
    fi
  done
  run "$board" "$program" ""
}
if [ $# -eq 1 ]; then
  test_preset "$1"
  exit
fi
# QEMU takes one core: as many presets at a time as there are cores. What they say is shown in order.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
code=0
printf '%s\n' "$@" | xargs -P "$(nproc)" -I {} sh -c 'scripts/test_cortex_m_kernels.sh "$1" >"$2/$1" 2>&1' sh {} "$logs" || code=1
for preset in "$@"; do cat "$logs/$preset"; done
exit "$code"
