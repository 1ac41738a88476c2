#!/usr/bin/env bash
# Makes sure that the Debian packages for building Wick are there: setup.sh build|all
# Asks only dpkg when they are; else installs them when run as root, or prints the one command that does and stops with
# exit code 6.
set -euo pipefail

build_packages=(
  clang-19 lld-19 cmake ninja-build ccache
  flatbuffers-compiler libflatbuffers-dev libsimdjson-dev libminizip-dev zlib1g-dev libcli11-dev libfmt-dev
  libgtest-dev libbenchmark-dev
  libfxdiv-dev python3  # for the XNNPACK library, which is built once
)
# Fuzzing, format, tidy, the g++ build; Arm: the headers-only C++ package, not the 1.6 GB library package.
extra_packages=(
  git g++ libclang-rt-19-dev llvm-19 clang-format-19 clang-tidy-19
  gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-dev qemu-system-arm
)

case "${1:-build}" in
  build) packages=("${build_packages[@]}") ;;
  all) packages=("${build_packages[@]}" "${extra_packages[@]}") ;;
  *) echo "usage: scripts/setup.sh build|all" >&2; exit 2 ;;
esac

installed() {
  dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is no Debian system; please provide these packages' equivalents and run cmake --preset dev:" >&2
  echo "  ${packages[*]}" >&2
  exit 6
fi

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

line="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
  echo "setup: ${#missing[@]} Debian packages are missing. Please run" >&2
  echo "  sudo $line" >&2
  echo "and then this command again." >&2
  exit 6
fi

echo "setup: $line" >&2
export DEBIAN_FRONTEND=noninteractive
# Package lists may be absent or stale; fetching them is tried once.
if ! $line >/dev/null; then
  apt-get update -q >/dev/null
  if ! $line >/dev/null; then
    echo "setup: apt-get could not install: ${missing[*]}" >&2
    exit 6
  fi
fi
