"""How a wrong command line is told."""

from __future__ import annotations

import argparse
from typing import NoReturn

__all__ = ["Parser", "UsageError"]


class UsageError(Exception):
    """The command line itself is wrong.

    Args:
        problem: What is wrong, in argparse's words.
        usage: How the command is called.
    """

    def __init__(self, problem: str, usage: str) -> None:
        super().__init__(problem)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Raises what is wrong.

        Args:
            message: argparse's words.

        Raises:
            UsageError: Always.
        """
        raise UsageError(message, self.format_usage())
