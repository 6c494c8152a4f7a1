"""What is wrong with these files, and what do they cost? Files in, report out: what all doors that read files ask."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_constructs.check.report import Report as Report
    from gpu_constructs.check.report import check_files as check_files
    from gpu_constructs.check.report import report_in as report_in

# Loaded when first asked for: an app that prices its fleet loads no reader of files.
_HOME = {"Report": "report", "check_files": "report", "report_in": "report"}

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
