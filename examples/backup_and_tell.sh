#!/bin/sh
# A nightly job that tells the owner how it went, once, however often it is started again.
#
#   backup_and_tell.sh COMMAND [ARGUMENT ...]
set -u

day=$(date +%F)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if "$@" >"$log" 2>&1; then
    postroom notify "Backup of $day is done." --idempotency-key "backup-$day-done" --priority low
else
    code=$?
    { echo "Backup of $day failed with $code:"; tail -n 20 "$log"; } |
        postroom notify - --idempotency-key "backup-$day-failed" --priority high
    exit "$code"
fi
