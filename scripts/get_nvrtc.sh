#!/usr/bin/env bash
# Puts NVRTC, which compiles CUDA kernels, into a cache folder of the user: get_nvrtc.sh [FOLDER]
# FOLDER: default ~/.cache/wick/nvrtc (XDG_CACHE_HOME), where Wick looks for it. The library is NVIDIA's own package
# nvidia-cuda-nvrtc from PyPI, by pip, under the licence that is put beside it. A wheel that lies in FOLDER already (from
# another machine, say) is used if its SHA-256 is right. Exit code 6: it cannot be had here.
set -euo pipefail

readonly package=nvidia-cuda-nvrtc version=13.0.88
# machine, SHA-256 of its wheel
readonly wheels='
x86_64 ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
aarch64 d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b
'
readonly library=libnvrtc.so.13 builtins=libnvrtc-builtins.so.13.0

[ $# -le 1 ] || { echo "usage: scripts/get_nvrtc.sh [FOLDER]" >&2; exit 2; }
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/wick/nvrtc}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

stop() { echo "get_nvrtc: $*" >&2; exit 6; }

machine=$(uname -m)
sum=$(awk -v machine="$machine" '$1 == machine { print $2 }' <<<"$wheels")
[ "$(uname -s)" = Linux ] && [ -n "$sum" ] || stop "NVIDIA has no NVRTC $version for $(uname -s) on $machine"

# The version stands in a file that is written last: without it the folder is not complete.
if [ "$(cat "$folder/version" 2>/dev/null || true)" = "$version" ]; then exit 0; fi

is_right() { printf '%s  %s\n' "$sum" "$1" | sha256sum --check --status; }

work=$(mktemp -d "$folder/.get.XXXXXX")
trap 'rm -rf "$work"' EXIT
wheel=
for file in "$folder"/*.whl; do
  if [ -f "$file" ] && is_right "$file"; then wheel=$file; fi
done
if [ -z "$wheel" ]; then
  python3 -m pip --version >/dev/null 2>&1 ||
    stop "no pip here (package python3-pip); or put the wheel of $package $version for $machine into $folder"
  echo "get_nvrtc: $package $version from PyPI, NVIDIA's licence: $folder/License.txt" >&2
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work" "$package==$version" >&2 ||
    stop "pip cannot fetch $package $version"
  wheel=$(ls "$work"/*.whl)
  is_right "$wheel" || stop "the wheel of $package $version has another SHA-256 than expected"
fi

(cd "$work" && cmake -E tar xf "$wheel")
for file in "$library" "$builtins"; do
  [ -f "$work/nvidia/cu13/lib/$file" ] || stop "$wheel holds no $file"
  mv "$work/nvidia/cu13/lib/$file" "$folder/"
done
mv "$work"/*.dist-info/licenses/License.txt "$folder/"
echo "$version" >"$work/version"
mv "$work/version" "$folder/version"
