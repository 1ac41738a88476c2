#!/usr/bin/env bash
# Proves on the built archives that the runtime for small targets needs no exceptions, RTTI, heap or static constructors,
# and how large the core is: check_freestanding.sh BUILD_FOLDER [TOOL_PREFIX]
set -euo pipefail
folder="${1:?usage: scripts/check_freestanding.sh BUILD_FOLDER [TOOL_PREFIX]}"
prefix="${2:-}"
max_core_text_bytes=42400

mapfile -t archives < <(find "$folder/common" "$folder/runtime" "$folder/backends" -name '*.a' | sort)
if [ ${#archives[@]} -eq 0 ]; then
  echo "no archives under $folder" >&2
  exit 1
fi

# Undefined names that would pull in: heap, exceptions, RTTI, guards of function statics, destructors at exit, streams.
forbidden='^(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|_Zn[wa].*|_Zd[la].*|__cxa_.*|_Unwind_.*|__gxx_personality.*|_ZSt.*|_ZNSt.*|_ZTI.*|_ZTVN10__cxxabiv1.*|__dynamic_cast|atexit|printf|fprintf|puts|fopen|fwrite|stdout|stderr)$'
bad=0
for archive in "${archives[@]}"; do
  # Names that another object of the runtime defines are no needs.
  needs=$("${prefix}nm" -u "$archive" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u | grep -E "$forbidden" || true)
  if [ -n "$needs" ]; then
    echo "$archive needs:" $needs
    bad=1
  fi
  defines=$("${prefix}nm" --defined-only "$archive" 2>/dev/null | awk '$3 ~ /^(_GLOBAL__sub_I_|_ZTI|_ZTS|_ZGV)/ { print $3 }' | sort -u)
  if [ -n "$defines" ]; then
    echo "$archive has static constructors or type information:" $defines
    bad=1
  fi
  if "${prefix}objdump" -h "$archive" 2>/dev/null | grep -Eq '\.(init_array|ctors|eh_frame|gcc_except_table|ARM\.extab)'; then
    echo "$archive has sections of static constructors or exceptions:" \
      "$("${prefix}objdump" -h "$archive" | grep -oE '\.(init_array|ctors|eh_frame|gcc_except_table|ARM\.extab)[^ ]*' | sort | uniq -c)"
    bad=1
  fi
done

# The core: everything but the kernels, the math functions that only they call, and what only packages, methods with an allocator or tools link. Linked into one object, so that what
# several files instantiate counts once, as it does in a program.
core=()
for archive in "${archives[@]}"; do
  text_bytes=$("${prefix}size" "$archive" | awk 'NR > 1 { sum += $1 } END { print sum + 0 }')
  case "$archive" in
    */kernels/* | */math/*) kind="kernels" ;;
    */firmware/*) kind="packages" ;;
    */libwick_runtime_unbounded.a) kind="allocator" ;;
    */libwick_runtime_tools.a) kind="tools" ;;
    *) kind="core"; core+=("$archive") ;;
  esac
  printf '%-8s %8d bytes of text  %s\n' "$kind" "$text_bytes" "${archive#"$folder"/}"
done
linked="$folder/core.o"
"${prefix}ld" -r -o "$linked" --whole-archive "${core[@]}"
core_bytes=$("${prefix}size" -A "$linked" | awk '$1 ~ /^\.text/ { sum += $2 } END { print sum + 0 }')
constant_bytes=$("${prefix}size" -A "$linked" | awk '$1 ~ /^\.rodata/ { sum += $2 } END { print sum + 0 }')
echo "core: $core_bytes bytes of code, at most $max_core_text_bytes; $constant_bytes bytes of constants"
if [ "$core_bytes" -gt "$max_core_text_bytes" ]; then
  echo "the core is too large"
  bad=1
fi
exit "$bad"
