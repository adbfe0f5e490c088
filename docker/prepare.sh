# Sourced by samples/demo.sh and Tests/run.sh: the packages, the toolchain, and files that stay the user's own.
# Sets `root`, the top of the checkout. Usage: source docker/prepare.sh WORD...

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# `sudo` replaces PATH by its own, so the places a toolchain is usually unpacked to are looked at as well.
if ! command -v swift >/dev/null; then
    home=$(getent passwd "${SUDO_USER:-$(id -un)}" | cut -d: -f6)
    for place in /opt/*/usr/bin /usr/local/swift/usr/bin "$home/.local/share/swiftly/bin" "$home/swift/usr/bin"; do
        if [ -x "$place/swift" ]; then
            PATH="$place:$PATH"
            break
        fi
    done
fi
if ! command -v swift >/dev/null; then
    echo "no swift on PATH: install the Swift 6.3 toolchain for Debian 12 and put its usr/bin on PATH" >&2
    exit 1
fi

# Run by sudo in somebody's checkout, the build must not leave files there that its owner cannot replace.
hand_back() {
    if [ "$(id -u)" -eq 0 ] && [ "$(stat -c %u "$root")" -ne 0 ]; then
        for made in "$root/.build" "$root/samples/out"; do
            [ ! -e "$made" ] || chown -R --reference="$root" "$made"
        done
    fi
}
trap hand_back EXIT

"$root/docker/install.sh" "$@"
