#!/bin/sh
# Compiles common, core, program and exec for size and checks that they need no heap, exceptions, RTTI, static
# constructors or libm, and stay below a limit of code bytes (without what only methods with an allocator, or tools, link).
# Usage: check_freestanding.sh COMPILER INCLUDE_FOLDER_OF_GENERATED_HEADERS
set -eu
compiler=$1
generated=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# GCC builds for devices and sets the limit; clang inlines more even at -Oz.
case $("$compiler" --version) in
  *clang*) size_flag=-Oz limit=51200 ;;
  *) size_flag=-Os limit=44032 ;;
esac

for source in "$root"/common/*.cpp "$root"/runtime/core/*.cpp "$root"/runtime/program/*.cpp "$root"/runtime/exec/*.cpp; do
  case $source in *_test.cpp | *_fuzz.cpp) continue ;; esac
  "$compiler" -std=c++17 $size_flag -DNDEBUG -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -ffp-contract=off \
    -ffunction-sections -fdata-sections -I"$root" -I"$root/include" -isystem "$generated" \
    -isystem "$generated/third_party" -c "$source" -o "$work/$(basename "$source").o"
done

status=0
ld -r -o "$work/all.o" "$work"/*.cpp.o
# What the linker would have to find elsewhere: plain memory and string functions only.
unexpected=$(nm -u "$work/all.o" | awk '{print $2}' |
  grep -vxE 'memcpy|memmove|memset|memcmp|bcmp|strlen|strcmp|strncmp|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail' || true)
if [ -n "$unexpected" ]; then
  echo "undefined symbols that a bare target lacks:" $unexpected
  status=1
fi
if objdump -h "$work/all.o" | grep -E '\.(init_array|ctors)'; then
  echo "there are static constructors"
  status=1
fi
# Code; constants are counted apart.
rm "$work/unbounded_memory.cpp.o" "$work/bundled_program.cpp.o" "$work/newer_format.cpp.o"
ld -r -o "$work/all.o" "$work"/*.cpp.o
text=$(objdump -h "$work/all.o" | awk '$2 ~ /^\.text/ {print $3}' | while read -r hex; do echo $((0x$hex)); done |
  awk '{sum += $1} END {print sum}')
rodata=$(objdump -h "$work/all.o" | awk '$2 ~ /^\.(rodata|data)/ {print $3}' | while read -r hex; do echo $((0x$hex)); done |
  awk '{sum += $1} END {print sum}')
echo "code $text bytes (limit $limit), constants $rodata bytes"
if [ "$text" -gt "$limit" ]; then
  echo "the code is larger than its limit"
  status=1
fi
exit $status
