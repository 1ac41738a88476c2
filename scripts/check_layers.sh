#!/usr/bin/env bash
# Checks the include edges between folders, that the small-target folders use no heap headers, that libraries stay behind the
# folder that calls them, and that nothing outside its folder names a backend.
# Prints one line per broken rule and exits 1; prints nothing when all hold.
set -euo pipefail
cd "$(dirname "$0")/.."

# folder : what its files may include from this repository (a folder covers those below it; its own is always allowed).
# The longest matching folder on the left counts. "wick" is include/wick.
edges='
include/wick          :
common                : wick
schema                :
compiler/support      : wick common
compiler/ir           : wick common compiler/support
compiler/analysis     : wick common compiler/support compiler/ir
compiler/ops          : wick common compiler/support compiler/ir compiler/analysis
compiler/import       : wick common compiler/support compiler/ir compiler/analysis compiler/ops
compiler/layout       : wick common compiler/support compiler/ir compiler/analysis compiler/ops
compiler/passes       : wick common compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize runtime/core runtime/kernels
compiler/quantize     : wick common compiler/support compiler/ir compiler/ops
compiler/partition    : wick common compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/passes
compiler/plan         : wick common compiler/support compiler/ir compiler/analysis compiler/ops compiler/layout
compiler/emit         : wick common compiler/support compiler/ir compiler/analysis compiler/ops compiler/plan schema
compiler/driver       : wick common compiler runtime backends
compiler/testing      : wick common compiler runtime backends
runtime/platform      : wick common
runtime/core          : wick common runtime/platform
runtime/program       : wick common runtime/platform runtime/core schema
runtime/kernels       : wick common runtime/platform runtime/core
runtime/exec          : wick common runtime/platform runtime/core runtime/program
runtime/firmware      : wick common runtime/core runtime/program runtime/exec
runtime/module        : wick common runtime
backends              : wick common compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/partition compiler/passes runtime/core runtime/platform
backends/cortex_m     : wick common backends/runtime_table.h runtime/core
backends/cortex_m/compile : wick common backends/cortex_m/kernels/kernels.inc backends/cortex_m/kernels/costs.inc backends/cortex_m/kernels/requantize.h backends/cortex_m/kernels/int4.h backends/cortex_m/kernels/conv2d/mve_forms.h backends/cortex_m/kernels/conv2d_int4/unpacked.h compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/partition compiler/passes runtime/core
backends/cortex_m/kernels : wick common runtime/core
backends/cortex_m/kernels/device_test : wick common runtime/core backends/cortex_m/kernels devices/board
backends/cuda         : wick common backends/delegate_table.h backends/runtime_table.h compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/partition compiler/passes runtime/core runtime/platform
backends/cuda/payload : wick common
backends/cuda/compile : wick common backends/cuda/compile backends/cuda/payload backends/cuda/nvrtc backends/cuda/twin compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/partition compiler/passes runtime/core
backends/cuda/runtime : wick common backends/delegate_table.h backends/runtime_table.h backends/cuda/payload runtime/core runtime/platform
backends/cuda/compile/text : wick common compiler/support
backends/cuda/nvrtc   : wick common compiler/support backends/cuda/compile/text
backends/cuda/twin    : wick common compiler/support backends/cuda/compile/text
backends/xnnpack      : wick common backends/delegate_table.h backends/runtime_table.h compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/partition compiler/passes runtime/core runtime/platform schema
backends/xnnpack/runtime     : wick common backends/delegate_table.h backends/runtime_table.h backends/xnnpack/payload runtime/core runtime/platform
backends/xnnpack/runtime/xnn : wick common backends/xnnpack/payload backends/xnnpack/runtime runtime/core runtime/platform
devices               : wick common compiler/support runtime/core runtime/module devices/board devices/plugin
devices/board         :
devices/plugin        : devices/protocol.h
devices/runner        : wick devices/board devices/protocol.h devices/watch.h runtime/exec
cli                   : wick common compiler runtime backends devices
examples              : wick cli
tests                 : wick common compiler runtime backends devices schema cli
tests/toy_backend     : wick common backends compiler/support compiler/ir compiler/analysis compiler/ops compiler/quantize compiler/layout compiler/partition compiler/passes runtime/core runtime/platform
bench                 : wick common compiler runtime schema cli
'
# Folders that build without a heap, and headers that bring one (or exceptions, streams, locales).
no_heap='common devices/board devices/runner runtime/core runtime/program runtime/exec runtime/firmware runtime/kernels backends/cortex_m/kernels include/wick'
heap_headers='vector string map set unordered_map unordered_set memory list deque queue stack functional any optional variant iostream sstream fstream regex stdexcept thread mutex future locale filesystem'
# The hosted convenience among the public headers.
heap_allowed='include/wick/module.h'
# Headers of libraries and the only folder that may include each.
library_headers='
xnnpack.h     : backends/xnnpack/runtime/xnn
pthreadpool.h : backends/xnnpack/runtime/xnn
'
# Headers and sources of tests may use anything that the build gives them.
is_exempt() {
  case "$1" in
    *_test.cpp | *_bench.cpp | *_fuzz.cpp | *_test_support.* | *_test_writer.* | *_harness.* | */test_*) return 0 ;;
    *) return 1 ;;
  esac
}

list_files() {
  scripts/list_files.sh '*.h' '*.cpp' '*.cc' '*.inc' | while IFS= read -r file; do
    if ! is_exempt "$file"; then echo "$file"; fi
  done
}

# What all backends share reads their rows: their names stand in their folder, their public header, their tests and docs.
# The schema of ExecuTorch names devices.
unexplained=0
for folder in backends/*/; do
  name=$(basename "$folder")
  named=$(scripts/list_files.sh '*.h' '*.cpp' '*.fbs' '*.txt' | grep -E '^(compiler|cli|runtime|common|schema|include)/' |
    grep -v -e '_test\.cpp$' -e '^schema/program\.fbs$' -e "^include/wick/${name}_backend.h$" | xargs grep -iEl -- "(^|[^a-z])($name|${name//_/-}|${name//_/})" || true)
  if [ -n "$named" ]; then
    count=$(printf '%s\n' "$named" | wc -l)
    if [ "$count" -gt 20 ]; then
      echo "backends/$name: $count files elsewhere use this word or words that begin with it: give the backend another name"
    else
      printf '%s\n' "$named" | sed "s/$/ names the backend $name/"
    fi
    unexplained=1
  fi
done

list_files | xargs -r awk -v edges="$edges" -v no_heap="$no_heap" -v heap_headers="$heap_headers" -v heap_allowed="$heap_allowed" -v libraries="$library_headers" '
  function under(path, folder) { return index(path "/", folder "/") == 1 }
  function owner(path,   f, best) {   # the longest folder of the table that holds path
    best = ""
    for (f in allowed) if (under(path, f) && length(f) > length(best)) best = f
    return best
  }
  BEGIN {
    n = split(edges, rows, "\n")
    for (i = 1; i <= n; ++i) {
      if (rows[i] !~ /:/) continue
      split(rows[i], half, ":")
      gsub(/ /, "", half[1])
      allowed[half[1]] = half[2]
    }
    m = split(no_heap, small, " ")
    split(heap_headers, names, " ")
    for (i in names) heap[names[i]] = 1
    n = split(libraries, rows, "\n")
    for (i = 1; i <= n; ++i) {
      if (rows[i] !~ /:/) continue
      gsub(/ /, "", rows[i])
      split(rows[i], half, ":")
      home[half[1]] = half[2]
    }
  }
  FNR == 1 { from = owner(FILENAME) }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    target = quoted[2]
    if (index(target, "/") == 0) next          # a file beside this one, or a generated one
    sub(/^wick\//, "include/wick/", target)
    to = owner(target)
    if (to == "" || from == "" || to == from) next
    k = split(allowed[from], list, " ")
    for (i = 1; i <= k; ++i) {
      folder = list[i] == "wick" ? "include/wick" : list[i]
      if (under(target, folder)) next
    }
    # schema/x_generated.h comes from schema/x.fbs; all else is written as it lies in the repository.
    printf "%s:%d: %s may not include %s\n", FILENAME, FNR, from, target
    bad = 1
  }
  /^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, angled, /[<>]/)
    if ((angled[2] in home) && !under(FILENAME, home[angled[2]])) {
      printf "%s:%d: only %s may include <%s>\n", FILENAME, FNR, home[angled[2]], angled[2]
      bad = 1
    }
    if (!(angled[2] in heap) || FILENAME == heap_allowed) next
    for (i = 1; i <= m; ++i) if (under(FILENAME, small[i])) {
      printf "%s:%d: %s builds without a heap and may not include <%s>\n", FILENAME, FNR, small[i], angled[2]
      bad = 1
    }
  }
  END { exit bad }
'
[ "$unexplained" -eq 0 ]
