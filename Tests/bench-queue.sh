#!/usr/bin/env bash
# How many jobs that do nothing go through each queue: Tests/bench-queue.sh [JOBS]
# A file with SQLite's log and a redis-server with `appendfsync everysec`, both in a folder of their own on this disk.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../docker/prepare.sh" build test
cd "$root"

jobs=${1:-100000}
swift build --configuration release --product framemill-bench
bench=$(swift build --configuration release --show-bin-path)/framemill-bench
folder=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then kill "$server" && wait "$server" || true; fi
    rm -rf "$folder"
}
trap finish EXIT

redis-server --port 0 --unixsocket "$folder/redis" --dir "$folder" --save "" \
    --appendonly yes --appendfsync everysec >"$folder/log" &
server=$!
# It is there once it answers.
until redis-cli -s "$folder/redis" ping 2>/dev/null | grep -q PONG; do kill -0 "$server"; done

echo "load $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) cores"
echo "sqlite"
"$bench" queue --jobs "$jobs" "sqlite:$folder/queue.sqlite"
echo "redis"
"$bench" queue --jobs "$jobs" "unix://$folder/redis"
