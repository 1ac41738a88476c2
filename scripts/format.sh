#!/usr/bin/env bash
# Checks (or with --fix rewrites) the format of every C++ file of the project.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(scripts/list_files.sh '*.cpp' '*.h' '*.cc')
[ ${#files[@]} -gt 0 ] || exit 0
if [ "${1:-}" = --fix ]; then
  clang-format-19 -i "${files[@]}"
else
  clang-format-19 --dry-run --Werror "${files[@]}"
fi
