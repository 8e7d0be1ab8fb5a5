#!/bin/sh
# quick-folder.sh: prints where tests keep their files. In memory where there is room and programs may run, because databases
# there need not wait for a disk; otherwise the usual place.
set -eu
memory=/dev/shm
needed_kilobytes=4000000

has_room() {
    [ -d "$memory" ] && [ -w "$memory" ] && [ "$(df -Pk "$memory" | awk 'NR == 2 { print $4 }')" -ge "$needed_kilobytes" ]
}

may_run_programs() {
    probe=$(mktemp "$memory/postroom-XXXXXX")
    printf '#!/bin/sh\n' >"$probe"
    chmod 700 "$probe"
    "$probe" 2>/dev/null && allowed=0 || allowed=1
    rm -f "$probe"
    return $allowed
}

if [ -z "${TMPDIR:-}" ] && has_room && may_run_programs; then echo "$memory"; else echo "${TMPDIR:-/tmp}"; fi
