#!/usr/bin/env bash
# Runs the built fuzz targets, two at a time: fuzz.sh SECONDS [TARGET..]
# Starts from the committed corpus; new inputs stay under build/fuzz/corpus/, findings under build/fuzz/findings/.
# Prints the number of executions of each target; exits 1 when one crashed, hung (10 s) or passed 2 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:?usage: scripts/fuzz.sh SECONDS [TARGET..]}"
shift
wanted=" $* "

run_one() {  # seconds target corpus max_len
  local log="build/fuzz/$2.log" work="build/fuzz/corpus/$2" seeds=()
  mkdir -p "$work" build/fuzz/findings
  case "$2" in
    wick_compile_fuzz)  # every program among the fixtures
      build/fuzz/bin/make_seeds build/fuzz/seeds/documents tests/fixtures/structure/*.pt2
      seeds=(build/fuzz/seeds/documents) ;;
    program_fuzz)  # a call of every operator
      build/fuzz/bin/make_program_seeds build/fuzz/seeds/operators
      seeds=(build/fuzz/seeds/operators tests/fixtures/stock/1.5_xnnpack) ;;
    wick_cortex_m_*)  # programs that stock made
      seeds=(tests/fixtures/cortex_m) ;;
    wick_xnnpack_*)  # payloads that stock made
      seeds=(tests/fixtures/xnnpack) ;;
  esac
  local code=0
  "build/fuzz/bin/$2" -max_total_time="$1" -max_len="$4" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/findings/$2-" "$work" "$3" "${seeds[@]}" >"$log" 2>&1 || code=$?
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if [ "$code" -eq 0 ]; then
    echo "$2: ${runs:-?} executions, nothing found"
  else
    echo "$2: FAILED with exit code $code after ${runs:-?} executions; the end of $log:"
    tail -n 40 "$log"
    return 1
  fi
}
export -f run_one

while read -r target corpus max_len; do
  if [ "$wanted" = "  " ] || [[ "$wanted" == *" $target "* ]]; then echo "$seconds $target $corpus $max_len"; fi
done <build/fuzz/fuzz_targets.txt | xargs -P 2 -L 1 bash -c 'run_one "$@"' run_one
