"""What is wrong with these files? Files in, report out: what every door that reads files asks."""

from gpu_constructs.checking.report import Report, check_files, report_in

__all__ = ["Report", "check_files", "report_in"]
