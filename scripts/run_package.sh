#!/usr/bin/env bash
# Builds a folder that `wick package` wrote, with its example or another main, for the board in QEMU that has its
# processor, and runs that there: run_package.sh FOLDER [gcc|clang] [MAIN.c]. Exit status: main's. The firmware and its map
# are FOLDER/build/COMPILER/firmware.{elf,map}.
set -euo pipefail
folder="$(cd "${1:?usage: scripts/run_package.sh FOLDER [gcc|clang] [MAIN.c]}" && pwd)"
compiler="${2:-gcc}"
main="${3:-$folder/example/main.c}"
cd "$(dirname "$0")/.."
name="$(sed -n 's/^project(\([A-Za-z0-9_]*\).*/\1/p' "$folder/CMakeLists.txt")"
cpu="$(sed -n 's/^TARGET ?= //p' "$folder/Makefile")"
case "$cpu" in
  cortex-m55 | cortex-m52 | cortex-m85) core=cortex-m55 machine=mps3-an547 script=mps3_an547.ld triple=thumbv8.1m.main-none-eabihf ;;
  cortex-m4 | cortex-m7 | cortex-m33 | cortex-m35p) core=cortex-m4 machine=mps2-an386 script=mps2.ld triple=thumbv7em-none-eabihf ;;
  cortex-m3) core=cortex-m3 machine=mps2-an385 script=mps2.ld triple=thumbv7m-none-eabi ;;
  *) echo "no board in QEMU has the processor '$cpu'" >&2; exit 2 ;;
esac
flags=(-mcpu=$core -mthumb)
case "$core" in
  cortex-m55) flags+=(-mfloat-abi=hard) ;;
  cortex-m4) flags+=(-mfloat-abi=hard -mfpu=fpv4-sp-d16) ;;
  cortex-m3) flags+=(-mfloat-abi=soft) ;;
esac
if [ "$compiler" = clang ]; then
  libraries=(/usr/include/newlib/c++/*)
  c="clang-19 --target=$triple -fshort-enums -isystem /usr/include/newlib"
  cxx="clang++-19 --target=$triple -fshort-enums -isystem ${libraries[0]} -isystem ${libraries[0]}/arm-none-eabi -isystem /usr/include/newlib"
else
  c=arm-none-eabi-gcc cxx=arm-none-eabi-g++
fi
build="build/$compiler"
make --no-print-directory -s -j"$(nproc)" -C "$folder" CXX="$cxx" AR=arm-none-eabi-ar CPU_FLAGS="${flags[*]}" BUILD="$build" WARN="-Wall -Wextra -Werror"
build="$folder/$build"
for part in start semihosting newlib; do
  $cxx "${flags[@]}" -std=c++17 -Os -fno-exceptions -fno-rtti -I. -c "devices/board/$part.cpp" -o "$build/$part.o"
done
$c "${flags[@]}" -std=c99 -Os -Wall -Wextra -Werror -I"$folder/include" -c "$main" -o "$build/main.o"
# There is nothing to unwind; clang's objects say so.
arm-none-eabi-gcc "${flags[@]}" --specs=nosys.specs -nostartfiles -Wl,--gc-sections -Wl,--no-warn-execstack -Ldevices/board \
  "-Tdevices/board/$script" "-Wl,-Map=$build/firmware.map" "$build"/{main,start,semihosting,newlib}.o "$build/lib$name.a" -lm -o "$build/firmware.elf"
exec timeout "${LIMIT_S:-120}" qemu-system-arm -M "$machine" -nographic -monitor none -serial none \
  -semihosting-config enable=on,target=native -kernel "$build/firmware.elf" </dev/null
