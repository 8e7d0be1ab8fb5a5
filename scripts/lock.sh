#!/bin/sh
# lock.sh PYTHON: pins what pyproject.toml allows in requirements/: run.txt, dev.txt and examples.txt.
set -eu
python=$1

compile() {
    uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-annotate "$@"
}

with_uv() {
    output=$1
    shift
    compile --extra postgres --extra redis "$@" --output-file "$output" pyproject.toml
}

# Without uv the pins hold for this platform and this Python only: pip writes no conditions.
with_pip() {
    output=$1
    shift
    "$python" -m venv --clear "$scratch/venv"
    pip="$scratch/venv/bin/python -m pip -qq --disable-pip-version-check --no-input"
    $pip install --upgrade pip # older ones know no dependency groups
    $pip install "$@"
    $pip freeze --exclude postroom >"$scratch/frozen"
    tr 'A-Z_' 'a-z-' <"$scratch/frozen" | LC_ALL=C sort >"$output"
}

if command -v uv >/dev/null 2>&1; then
    with_uv requirements/dev.txt --group dev
    with_uv requirements/run.txt --constraint requirements/dev.txt # what runs is what was tested
    compile --group examples --output-file requirements/examples.txt
else
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    with_pip requirements/dev.txt ".[postgres,redis]" --group dev
    with_pip requirements/run.txt ".[postgres,redis]" --constraint requirements/dev.txt
    with_pip requirements/examples.txt --group examples
fi
