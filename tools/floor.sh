#!/bin/sh
# Runs the tests of the constructs with the oldest aws-cdk-lib that pyproject.toml allows, in .floor beside .venv.
# Installs that release from the package index on the first call; every other package is the locked one of .venv.
set -eu

oldest=$(sed -n 's/^ *"aws-cdk-lib>=\([0-9.]*\).*/\1/p' pyproject.toml)
if [ "$(cat .floor/version 2>/dev/null || true)" != "$oldest" ]; then
    echo "floor: aws-cdk-lib $oldest"
    python -m venv --clear .floor
    .floor/bin/python -m pip --disable-pip-version-check --quiet install "aws-cdk-lib==$oldest.*" "constructs>=10.5,<11"
    python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$(
        .floor/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
    )/locked.pth"
    echo "$oldest" >.floor/version
fi

# Not those of acknowledge_aws_solutions, in a test file and in docs/security.md, which needs the locked release.
exec .floor/bin/python -m pytest -n0 -k "not (a_block_runs and security)" tests/capacity tests/cdk tests/managed tests/models tests/security \
    tests/serving tests/tasks tests/test_*.py --ignore tests/security/test_aws_solutions.py \
    --ignore tests/test_lint.py --ignore tests/test_rules_page.py
