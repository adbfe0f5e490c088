#!/usr/bin/env bash
# Installs what packages.txt lists for the given words and this machine lacks: docker/install.sh build test
# Nothing is asked of the network when nothing is missing.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages.txt"
[ $# -gt 0 ] || { echo "usage: install.sh WORD... (the words of packages.txt: build, runtime, test, demo)" >&2; exit 2; }

wanted() {
    awk -v words="$*" '
        BEGIN { split(words, list); for (i in list) asked[list[i]] = 1 }
        /^#/ { next }
        { for (i = 2; i <= NF; i++) if ($i in asked) { print $1; next } }' "$list"
}

for word in "$@"; do
    [ -n "$(wanted "$word")" ] || { echo "no package in $list is for '$word'" >&2; exit 2; }
done

missing=()
for package in $(wanted "$@"); do
    state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "these Debian packages are missing: ${missing[*]}" >&2
        echo "installing them needs root: run this as root, install sudo, or have them installed" >&2
        exit 1
    fi
    root=(sudo)
fi

# DPkg::Lock::Timeout waits for another dpkg, but `update` takes a lock of its own that apt does not wait for.
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 "$@"; }

echo "installing: ${missing[*]}"
tries=1
until apt update; do
    [ $tries -lt 6 ] || { echo "apt-get update failed $tries times; its own words are above" >&2; exit 1; }
    tries=$((tries + 1))
    sleep 5
done
apt install --yes --no-install-recommends "${missing[@]}" >/dev/null
