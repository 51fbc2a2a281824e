#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
#
# Puts PyTorch into a Python environment of its own, for the comparisons in this folder. The build,
# the tests and the library never need it. A second call installs nothing.
#
# usage: bench/peers/setup.sh [DIRECTORY]      (default: .venv in the root of the repository)
# pip's own settings apply: PIP_INDEX_URL may name an index with PyTorch's smaller CPU-only builds.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:-$here/../../.venv}

command -v python3 >/dev/null || { echo "setup.sh: python3 is missing; install it first" >&2; exit 1; }
if [[ ! -x $venv/bin/python ]]; then
  python3 -m venv "$venv" || {
    echo "setup.sh: 'python3 -m venv' failed; on Debian: apt-get install python3-venv" >&2
    exit 1
  }
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
"$venv/bin/python" -c 'import torch; print("PyTorch", torch.__version__)'
echo "python: $(cd "$venv" && pwd)/bin/python"
