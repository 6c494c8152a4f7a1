"""A copy of the catalogue, and changes to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_constructs.facts.records import DATA

__all__ = ["copied", "edit"]


def copied(folder: Path) -> Path:
    for name in ("accelerated", "general", "prices"):
        shutil.copy(DATA / f"{name}.json", folder)
    return folder


def edit(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    file = folder / f"{name}.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")
