#!/bin/sh
# create-venv.sh PYTHON DIRECTORY: a virtual environment, or one sentence about what is missing.
set -eu
python=$1
directory=$2

if ! command -v "$python" >/dev/null 2>&1; then
    echo "Postroom needs Python 3.11 or newer, and there is no $python on the PATH." >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    found=$("$python" -c 'import platform; print(platform.python_version())')
    echo "Postroom needs Python 3.11 or newer, and $python on the PATH is $found." >&2
    exit 1
fi
if ! "$python" -m venv --clear "$directory"; then
    rm -rf "$directory" # half an environment would look like a whole one next time
    echo "$python could not create a virtual environment; on Debian and Ubuntu install python3-venv." >&2
    exit 1
fi
