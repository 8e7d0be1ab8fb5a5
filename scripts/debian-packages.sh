#!/bin/sh
# Installs the Debian packages that the tests use; without root or apt-get it only says which are missing.
set -u

# package:command, where the command on the PATH makes the package unnecessary; a library has none
wanted="
postgresql:postgres
redis-server:redis-server
curl:curl
sqlite3:sqlite3
pgbouncer:pgbouncer
dovecot-imapd:dovecot
xvfb:Xvfb
openbox:openbox
xdotool:xdotool
wmctrl:wmctrl
xclip:xclip
x11-utils:xprop
x11-xserver-utils:xrandr
libglib2.0-bin:gsettings
gsettings-desktop-schemas:-
fonts-noto-color-emoji:-
chromium-headless-shell:chromium-headless-shell
chromium:chromium
"

is_installed() {
    dpkg-query --show --showformat='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

missing=""
for pair in $wanted; do
    package=${pair%%:*}
    command -v "${pair##*:}" >/dev/null 2>&1 || is_installed "$package" || missing="$missing $package"
done
python3 -c 'import tkinter' >/dev/null 2>&1 || is_installed python3-tk || missing="$missing python3-tk"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Not installed, and the tests that use them will say so:$missing"
    exit 0
fi

# Debian starts a service as soon as it is installed; the tests run their own and want none besides.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

echo "Installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# shellcheck disable=SC2086 # the list is meant to be split
if apt-get update >"$log" 2>&1 && apt-get install --yes --no-install-recommends $missing >>"$log" 2>&1; then
    rm -f "$log"
else
    tail -n 15 "$log" >&2
    rm -f "$log"
    echo "Could not install all of:$missing. The tests that use them will say so." >&2
fi
