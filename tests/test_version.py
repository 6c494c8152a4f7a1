from __future__ import annotations

import re
from pathlib import Path

from gpu_constructs.version import version


def test_it_is_the_version_that_is_released() -> None:
    written = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'^version = "(.+)"$', written, re.MULTILINE) == [version()]
