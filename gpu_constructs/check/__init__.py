"""What is wrong with these files, and what do they cost? Files in, report out: what all doors that read files ask."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_constructs.check.report import Report as Report
    from gpu_constructs.check.report import check_files as check_files
    from gpu_constructs.check.report import report_in as report_in

__all__ = ["Report", "check_files", "report_in"]


def __getattr__(name: str) -> object:
    # An app that prices its fleet loads no reader of files.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("gpu_constructs.check.report"), name)
