#!/usr/bin/env bash
# Prints the project's files of some kinds: list_files.sh '*.h' '*.cpp' ..  Those that git tracks or would add; in a copy
# that is no checkout of its own (an archive, no git, a checkout of another user) all but those under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
  git ls-files --cached --others --exclude-standard -- "$@"
else
  kinds=()
  for kind in "$@"; do kinds+=(-o -name "$kind"); done
  find . \( -name .git -o -path ./build \) -prune -o -type f \( "${kinds[@]:1}" \) -print | sed 's|^\./||' | LC_ALL=C sort
fi | while IFS= read -r file; do
  if [ -f "$file" ]; then printf '%s\n' "$file"; fi
done
