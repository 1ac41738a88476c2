#!/usr/bin/env bash
# clang-tidy over the .cpp files that differ from commit $1 (default HEAD), headers through the files that include them.
# Without such files: says so and succeeds. The preset "tidy" gives the compile commands.
set -euo pipefail
cd "$(dirname "$0")/.."
base="${1:-HEAD}"
mapfile -t files < <({ git diff --name-only --diff-filter=d "$base" -- '*.cpp'
                       git ls-files --others --exclude-standard -- '*.cpp'; } | sort -u)
cmake --preset tidy --log-level=ERROR >/dev/null
# Generated headers must be there before a file that includes them can be read.
ninja -C build/tidy wick_schema_headers wick_xnnpack_payload_headers >/dev/null 2>&1 || true
known=()
for file in "${files[@]}"; do
  if grep -qF "\"file\": \"$PWD/$file\"" build/tidy/compile_commands.json; then known+=("$file"); fi
done
if [ ${#known[@]} -eq 0 ]; then
  echo "no changed .cpp files"
  exit 0
fi
echo "${#known[@]} files"
printf '%s\n' "${known[@]}" | xargs -P 2 -n 4 clang-tidy-19 -p build/tidy --quiet --warnings-as-errors='*'
