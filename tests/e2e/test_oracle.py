"""The emulator is an oracle only as long as it shares nothing with what it judges."""

from __future__ import annotations

import subprocess
import sys

from .server import ROOT

LOADED = """
import sys
import tests.e2e.emulator.__main__
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_the_emulator_imports_neither_the_library_nor_the_cdk() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    assert not {"gpu_constructs", "stacks", "aws_cdk", "constructs", "jsii"} & set(loaded.split())
