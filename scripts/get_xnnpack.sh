#!/usr/bin/env bash
# Puts the source archives of XNNPACK and pthreadpool into a folder: get_xnnpack.sh FOLDER
# They are those of Debian 13, asked of the mirror that this machine's apt uses, whatever its own release; its apt
# configuration stays as it is. Archives that lie there already (from another machine, say) are used if their SHA-256 is
# right. Exit code 6: they cannot be had here.
set -euo pipefail

readonly suite=trixie
# package, SHA-256 of its .orig.tar.xz; cmake/WickXnnpack.cmake reads these lines
readonly archives='
xnnpack 90bde2caef0f880f627bab0dc805a86c4b8070cd98e3243db3046ab3f3be1a99
pthreadpool 4cc3cbd933b28131d2a34edc54f76af9fb41bc490af5eae1a5bd3cd07ea90708
'

[ $# -eq 1 ] || { echo "usage: scripts/get_xnnpack.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)

stop() { echo "get_xnnpack: $*" >&2; exit 6; }

is_right() {  # FILE SHA256
  [ -f "$1" ] && printf '%s  %s\n' "$2" "$1" | sha256sum --check --status
}

missing=()
while read -r package sum; do
  [ -n "$package" ] || continue
  is_right "$folder/$package.tar.xz" "$sum" || missing+=("$package $sum")
done <<<"$archives"
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

apt_helper=/usr/lib/apt/apt-helper
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
{ command -v apt-get >/dev/null && [ -x $apt_helper ] && [ -f $keyring ]; } ||
  stop "no apt with Debian's keyring here; put $(printf '%s.tar.xz ' "${missing[@]%% *}")(Debian 13's .orig.tar.xz) into $folder"

codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
         awk -v release="$codename" '$1 == release && $2 == "main" && !found { print $3; found = 1 }')
[ -n "$mirror" ] || stop "apt knows no mirror for $codename main (apt-get update?)"

# apt with a state of its own, which knows one suite's sources.
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
chmod 755 "$state"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
echo "deb-src [signed-by=$keyring] $mirror $suite main" >"$state/sources.list"
apt_options=(
  -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache"
  -o "APT::Sandbox::User=$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20
)
apt-get "${apt_options[@]}" -qq update >&2 || stop "the sources of $suite cannot be listed from $mirror"

for entry in "${missing[@]}"; do
  read -r package sum <<<"$entry"
  url=$(apt-get "${apt_options[@]}" -qq --print-uris source "$package" 2>/dev/null |
        sed -n "s/^'\([^']*\.orig\.tar\.xz\)'.*/\1/p" | head -n 1)
  [ -n "$url" ] || stop "$mirror lists no source archive of $package"
  file=$state/$package.tar.xz
  "$apt_helper" "${apt_options[@]}" download-file "$url" "$file" "SHA256:$sum" >/dev/null ||
    stop "$url cannot be fetched"
  is_right "$file" "$sum" || stop "$url has another SHA-256 than expected"
  # In the same folder first: whoever looks at the same time sees a whole file or none.
  cp "$file" "$folder/.$package.$$"
  mv "$folder/.$package.$$" "$folder/$package.tar.xz"
done
