#!/bin/sh
# Fetches the stock ExecuTorch wheel and builds stock_runner over it. The wheel's own libraries are enough: no torch.
#
#   tests/peer/setup.sh [FOLDER]      default build/peer
#
# Prints the path of the runner, or "skipped: REASON" (also exit code 0) where a peer cannot be had.
set -eu
version=1.5.1
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/build/peer}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
runner=$folder/stock_runner
et=$folder/executorch

skip() { echo "skipped: $1"; exit 0; }

if [ ! -f "$et/lib/libexecutorch.so" ]; then
  command -v python3 > /dev/null || skip "no python3"
  # Where nobody answers the tests should not wait for minutes.
  timeout 600 python3 -m pip --retries 1 --timeout 20 download --quiet --no-deps --only-binary :all: -d "$folder" "executorch==$version" > "$folder/pip.log" 2>&1 ||
    skip "the wheel cannot be had, see $folder/pip.log"
  wheel=$(ls "$folder"/executorch-"$version"-*.whl | head -n 1)
  # Whole or not at all.
  rm -rf "$folder/unpacked" "$et"
  python3 - "$wheel" "$folder/unpacked" << 'PYTHON' || skip "the wheel cannot be unpacked"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if n.startswith(("executorch/lib/", "executorch/include/"))])
PYTHON
  mv "$folder/unpacked/executorch" "$et"
fi

compiler=${CXX:-$(command -v clang++-19 || command -v g++ || true)}
[ -n "$compiler" ] || skip "no C++ compiler"
newer=$(find "$root/tests/peer" "$root/cli" "$root/compiler/support" "$root/common" "$root/runtime/platform" -maxdepth 1 -name '*.[ch]*' -newer "$runner" 2> /dev/null || echo all)
if [ ! -x "$runner" ] || [ -n "$newer" ]; then
  "$compiler" -std=c++20 -O2 -DFMT_HEADER_ONLY -DC10_USING_CUSTOM_GENERATED_MACROS -DET_EVENT_TRACER_ENABLED -DET_USE_THREADPOOL \
    "-DWICK_STOCK_VERSION=\"$version\"" \
    -isystem "$et/include" -isystem "$et/include/executorch/runtime/core/portable_type/c10" -I"$root" -I"$root/include" \
    "$root/tests/peer/stock_runner.cpp" "$root/tests/peer/stock_cpu.cpp" "$root/runtime/platform/cpu.cpp" "$root/cli/arrays/npz.cpp" "$root/cli/arrays/npz_header.cpp" "$root/cli/arrays/npz_zip.cpp" \
    "$root/compiler/support/crc32.cpp" "$root/compiler/support/diag.cpp" "$root/compiler/support/file_map.cpp" "$root/compiler/support/limits.cpp" "$root/common/dtype.cpp" "$root/common/status.cpp" \
    -o "$runner" -L"$et/lib" -Wl,-rpath,"$et/lib" -lexecutorch -lexecutorch_threadpool -Wl,--no-as-needed \
    -lexecutorch_kernels_optimized -lexecutorch_kernels_quantized -lexecutorch_backend_xnnpack -lz -ldl > "$folder/build.log" 2>&1 ||
    { cat "$folder/build.log" >&2; exit 1; }
fi
echo "$runner"
