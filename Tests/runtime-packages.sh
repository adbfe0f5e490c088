#!/usr/bin/env bash
# Whether the image that docker/Dockerfile describes can run the release binary: every shared library it loads must
# come from a package that packages.txt lists for `runtime`, or from one that those depend on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(swift build --configuration release --static-swift-stdlib --show-bin-path)

# What the listed packages bring along, by the dependencies that dpkg knows. Of alternatives, the first.
declare -A reached=()
queue=($(awk '!/^#/ && / runtime( |$)/ { print $1 }' docker/packages.txt))
while [ ${#queue[@]} -gt 0 ]; do
    package=${queue[-1]}
    unset 'queue[-1]'
    [ -z "${reached[$package]:-}" ] || continue
    reached[$package]=yes
    queue+=($(dpkg-query --show --showformat='${Pre-Depends}, ${Depends}\n' "$package" 2>/dev/null |
        head -1 | tr ',' '\n' | awk 'NF { sub(/:any$/, "", $1); print $1 }'))
done

wrong=0
count=0
while read -r library; do
    count=$((count + 1))
    # One folder by two names (/lib is /usr/lib), and dpkg knows a file by one of them.
    plain=${library#/usr}
    owner=$(dpkg-query --search "$plain" "/usr$plain" 2>/dev/null | head -1 | cut -d: -f1 || true)
    if [ -z "${reached[${owner:-none}]:-}" ]; then
        echo "$library (${owner:-of no package}) is not reached from the runtime packages" >&2
        wrong=1
    fi
done < <(ldd "$folder/framemill" "$folder/framemill-decoder" | awk '/=> not found/ { print $1 " (not found)" } / => \// { print $3 }')

[ $count -gt 0 ] || { echo "ldd named no library in $folder" >&2; exit 1; }
if ldd "$folder/framemill" | grep -E 'libav|libsw|libgif|libpng|libturbojpeg|libwebp|libavif' >&2; then
    echo "framemill itself loads a library that decodes" >&2
    wrong=1
fi
[ $wrong -eq 0 ] && echo "$count libraries, all from the runtime packages"
