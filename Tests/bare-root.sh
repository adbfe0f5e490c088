#!/usr/bin/env bash
# Whether packages.txt is complete: runs a command of this checkout (as committed) in a new Debian 12 that holds the
# toolchain's own needs and nothing else. By hand, as root, with debootstrap installed; takes some minutes.
#
#   Tests/bare-root.sh                     samples/demo.sh: by a user who has sudo, under sudo, by the user again
#   Tests/bare-root.sh sudo Tests/run.sh   other commands, each by the user or, after the word, under sudo
set -euo pipefail

[ "$(id -u)" -eq 0 ] || { echo "making a Debian root needs root" >&2; exit 2; }
# In mounts of its own, so that whatever happens none is left on the machine.
[ -n "${IN_OWN_MOUNTS:-}" ] || exec env IN_OWN_MOUNTS=yes unshare --mount "$0" "$@"

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
toolchain=$(dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")")

bare=$(mktemp -d)
clean() {
    cd /
    umount --recursive --lazy "$bare/dev" "$bare/proc" "$bare$toolchain" "$bare/home/ann/shared" 2>/dev/null || true
    rm -rf --one-file-system "$bare"
}
trap clean EXIT

# The needs of the toolchain, after the list that comes with it, less what packages.txt has to bring itself.
needs=binutils,libc6-dev,libgcc-12-dev,libstdc++-12-dev,libcurl4,libedit2,libpython3.11
needs+=,libsqlite3-0,libxml2,libncurses6,tzdata,git,sudo
debootstrap --variant=minbase --include="$needs" bookworm "$bare" >"$bare.log" 2>&1 || { tail "$bare.log" >&2; exit 1; }
rm "$bare.log"
# mktemp's folder is root's alone, and a user who cannot enter / can run nothing.
chmod 755 "$bare"

mkdir -p "$bare$toolchain"
mount --bind "$toolchain" "$bare$toolchain"
mount --rbind /dev "$bare/dev"
mount -t proc proc "$bare/proc"
cp /etc/resolv.conf /etc/hosts "$bare/etc/"

# A folder of another name than the package's, owned by somebody who is not root.
chroot "$bare" useradd --create-home --shell /bin/bash ann
echo "ann ALL=(ALL) NOPASSWD:ALL" >"$bare/etc/sudoers.d/ann"
git clone --quiet "$checkout" "$bare/home/ann/another name"
chroot "$bare" chown -R ann: /home/ann
if [ -d "$checkout/../shared" ]; then
    mkdir "$bare/home/ann/shared"
    mount --bind "$checkout/../shared" "$bare/home/ann/shared"
fi

# The last demo fails if what ran under sudo left files that the user can't replace. /tmp is emptied before, as by a
# restart, so that those which are left there are not the user's from the first time.
[ $# -gt 0 ] || set -- samples/demo.sh sudo samples/demo.sh samples/demo.sh
prefix=
for word; do
    if [ "$word" = sudo ]; then
        prefix=sudo
        find "$bare/tmp" -mindepth 1 -delete
        continue
    fi
    # From elsewhere, and with nothing of this machine's environment. sudo brings a PATH of its own, without swift.
    chroot "$bare" su - ann -c "cd / && PATH=$toolchain/usr/bin:/usr/bin:/bin $prefix '/home/ann/another name/$word'"
    prefix=
done
