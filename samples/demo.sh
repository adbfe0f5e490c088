#!/usr/bin/env bash
# The main job, on a fresh machine: builds framemill and makes covers for urls.txt into samples/out.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../docker/prepare.sh" build demo

# Two programs: framemill decodes nothing itself, and finds its decoder in its own folder.
for product in framemill framemill-decoder; do
    swift build --package-path "$root" --configuration release --static-swift-stdlib --product $product
done
framemill="$(swift build --package-path "$root" --configuration release --static-swift-stdlib --show-bin-path)/framemill"

# The list names its files from here. One line of it is dead on purpose, on this machine, which the guard of the
# network would not even dial: --allow-net lets it.
cd "$root/samples"
code=0
"$framemill" batch urls.txt --out out --gallery out/index.html --manifest out/manifest.jsonl \
    --cache none --retry-failed --allow-net 127.0.0.1/32 || code=$?

# 1 says that some failed. Anything but exactly the dead line is a fault.
failed=$(grep -v '"code":"ok"' out/manifest.jsonl || true)
if [ $code -ne 1 ] || [ "$(grep -c dead.mp4 <<<"$failed")" -ne 1 ] || [ "$(wc -l <<<"$failed")" -ne 1 ]; then
    echo "expected every cover but that of dead.mp4; framemill ended with $code, and these failed:" >&2
    echo "$failed" >&2
    exit 1
fi

echo
echo "The covers are in   $root/samples/out"
echo "Look at them in     $root/samples/out/index.html"
echo "What is known:      $root/samples/out/manifest.jsonl"
echo "(One failure is expected: dead.mp4, to show how it is reported.)"
