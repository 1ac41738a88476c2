#!/usr/bin/env bash
# Runs tests as on other machines: check_host_independence.sh [TEST ..]
# Each variation runs the tests named (default: some that take a second or two) from build/dev, which must be built.
# Prints a line for each, and the end of what failed. Exit code 1 if something did. A variation that this machine does
# not allow is skipped, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/dev/bin
[ -x "$bin/wick" ] || { echo "check_host_independence: build/dev is not built (make dev)" >&2; exit 2; }
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(runtime_platform_test wick_npz_test wick_text_test wick_support_test xnnpack_runtime_test)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

vary() {  # NAME COMMAND..: the tests, each started by the command
  local name=$1 test
  shift
  for test in "${tests[@]}"; do
    [ -x "$bin/$test" ] || continue
    if ! "$@" "$bin/$test" --gtest_brief=1 >"$scratch/log" 2>&1; then
      failed=1
      echo "FAILED: $test, $name:"
      tail -n 15 "$scratch/log" | cut -c 1-300 | sed 's/^/   | /'
      return
    fi
  done
  echo "passed: $name"
}

skip() { echo "skipped: $1: $2"; }
with_mask() { umask "$1"; shift; "$@"; }
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent TMPDIR="$scratch/open" "$@"; }
with_file_limit() { ulimit -n 64; "$@"; }
with_stack_limit() { ulimit -s 4096; "$@"; }

for level in baseline sse4.1 avx avx2 avx512; do vary "instruction sets up to $level" env WICK_CPU=$level; done
vary "one core" taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')"
vary "lowest priority" nice -n 19
vary "no HOME" env -u HOME -u XDG_CACHE_HOME
vary "LC_ALL=C" env LC_ALL=C
locale=$(locale -a 2>/dev/null | grep -iE '^(de|fr|pl|tr)_' | head -n 1 || true)
if [ -n "$locale" ]; then vary "LC_ALL=$locale" env LC_ALL="$locale"; else skip "a locale with decimal commas" "none is installed"; fi
vary "another time zone" env TZ=Asia/Kathmandu
vary "umask 077" with_mask 077
vary "umask 000" with_mask 000
mkdir "$scratch/with blank"
vary "TMPDIR with a blank" env TMPDIR="$scratch/with blank"
vary "64 open files" with_file_limit
vary "a stack of 4 MiB" with_stack_limit
vary "random order, twice" env GTEST_SHUFFLE=1 GTEST_REPEAT=2
if unshare -n true 2>/dev/null; then vary "no network" unshare -n; else skip "no network" "unshare is not allowed"; fi
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$bin/wick" 2>/dev/null; then
  mkdir -m 777 "$scratch/open"
  chmod 755 "$scratch"
  vary "another user" as_nobody
else
  skip "another user" "only root becomes one, and build/ must be readable"
fi
exit $failed
