# Sourced by samples/demo.sh and Tests/run.sh, before all else: the packages, the toolchain, and a user to build as.
# Sets `root`, the top of the checkout. Usage: source docker/prepare.sh WORD...

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# home_of UID; in a container, the owner of a mounted checkout may have none.
home_of() { getent passwd "$1" | cut -d: -f6 | grep . || echo /tmp; }

# `sudo` replaces PATH by its own, so the places a toolchain is usually unpacked to are looked at as well.
if ! command -v swift >/dev/null; then
    home=$(home_of "${SUDO_UID:-$(id -u)}")
    for place in /opt/*/usr/bin /usr/local/swift/usr/bin "$home/.local/share/swiftly/bin" "$home/swift/usr/bin"; do
        if [ -x "$place/swift" ]; then
            PATH="$place:$PATH"
            break
        fi
    done
fi
if ! command -v swift >/dev/null; then
    echo "no swift on PATH that the user $(id -u) can run:" >&2
    echo "install the Swift 6.3 toolchain for Debian 12 and put its usr/bin on PATH" >&2
    exit 1
fi

"$root/docker/install.sh" "$@" || exit 1

# In somebody's checkout root installs, and leaves the rest to its owner, who could not build over what root built.
# To hand .build back afterwards is not enough, since SwiftPM keeps a lock for it in /tmp, which two users can't
# share: it opens for writing to its maker alone (where fs.protected_regular is set, not even to root).
owner=$(stat -c %u "$root")
if [ "$(id -u)" -eq 0 ] && [ "$owner" -ne 0 ]; then
    # Left by root, from a time before or by hand.
    for made in "$root/.build" "$root/samples/out"; do
        [ ! -e "$made" ] || chown -R --reference="$root" "$made"
    done
    home=$(home_of "$owner")
    script=$(realpath "$0")
    cd "$root" || exit 1 # Where root is may be closed to the owner.
    exec setpriv --reuid "$owner" --regid "$(stat -c %g "$root")" --clear-groups env HOME="$home" "$script"
fi
