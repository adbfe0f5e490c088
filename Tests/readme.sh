#!/usr/bin/env bash
# Whether README.md names every failure code, every limit and every option that the sources have.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
named() {
    grep -qF -- "$1" README.md && return
    echo "README.md does not name $1" >&2
    status=1
}

for code in $(sed -nE 's/^ *case .*: \("([a-z_]+)", .*/\1/p' Sources/FramemillMedia/Failure.swift); do named "\`$code"; done
for limit in $(sed -nE 's/^ *public var ([a-zA-Z]+):.*/\1/p' Sources/FramemillMedia/Limits.swift); do named "\`$limit\`"; done
for option in $(grep -oE 'Option\(\s*"[a-z-]+"' -zh Sources/FramemillCommand/Verb*.swift | grep -aoE '"[a-z-]+"' | tr -d '"'); do
    named "--$option"
done
for limit in $(tr -d '\n' <Sources/FramemillCommand/LimitOption.swift | grep -oE '(whole|seconds)\( *"[a-z-]+"' |
    grep -oE '"[a-z-]+"' | tr -d '"'); do
    [ "$limit" = deadline ] || named "--limit-$limit"
done
exit $status
