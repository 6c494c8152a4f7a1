"""What is wrong with these files, and what do they cost? Files in, report out: what all doors that read files ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_constructs.facts.values import loaded_later

if TYPE_CHECKING:
    from gpu_constructs.check.report import Report as Report
    from gpu_constructs.check.report import check_files as check_files
    from gpu_constructs.check.report import report_in as report_in

# Loaded when first asked for: an app that prices its fleet loads no reader of files.
_HOME = {"Report": "report", "check_files": "report", "report_in": "report"}

__getattr__ = loaded_later(__name__, _HOME)
