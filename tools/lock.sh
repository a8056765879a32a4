#!/usr/bin/env bash
# Remakes requirements/*.lock from pyproject.toml: every release pinned, every file by hash, no
# index address. One resolution serves all supported Pythons (markers tell them apart).
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet 'uv>=0.5'

compile() { # OUTPUT, then what to resolve
    local output=$1
    shift
    "$scratch/venv/bin/uv" pip compile "$@" --quiet --no-config --universal --python-version 3.11 \
        --generate-hashes --no-emit-index-url --no-emit-find-links --upgrade \
        --custom-compile-command 'make lock' --output-file "$output"
}

mkdir -p requirements
compile requirements/runtime.lock pyproject.toml
compile requirements/dev.lock pyproject.toml --group dev
