"""What is found in the examples of the rules and in the templates of `acceptance`: each is checked once for all tests.

The files of tests that read it run in one process, see `conftest.py`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.rules import Choice, Finding, Severity, all_rules
from gpu_constructs.rules.catalogue import every, one_of
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from tools.rule_examples import Example, example_of

__all__ = ["about_batch", "all_of_part", "examples", "given", "of_part", "of_right", "of_template", "of_wrong"]


@cache
def examples() -> dict[str, Example]:
    """The examples, by their rules."""
    return {each.id: example_of(each.id) for each in all_rules()}


@cache
def of_wrong(rule: str) -> Report:
    """Of the example in which a rule finds something."""
    return _of_text(examples()[rule].file(examples()[rule].wrong))


@cache
def of_right(rule: str) -> Report:
    """Of the same example as it should be."""
    return _of_text(examples()[rule].file(examples()[rule].right))


def of_part(rule: str, part: str, of: str = "") -> list[Finding]:
    """What a rule finds in the templates of its example, or of another rule's, with another part."""
    return list(_of_text(example_of(of or rule).file(part), one_of(rule)).findings)


def all_of_part(rule: str, part: str) -> tuple[Finding, ...]:
    """What any rule finds there."""
    return _of_text(example_of(rule).file(part)).findings


def about_batch(part: str) -> list[str]:
    """The rules with errors, and what is not checked, in the example of GPU296 with another part."""
    found = all_of_part("GPU296", part)
    return [each.rule for each in found if each.severity is Severity.ERROR or each.rule == UNCHECKED]


@cache
def of_template(path: Path) -> Report:
    """Of a template, or of what is given with it."""
    return check_files(given(path))


def given(path: Path) -> list[Path]:
    """What a user gives in one call: a file, a cloud assembly, or the files of a folder."""
    return [path] if path.is_file() or (path / "manifest.json").exists() else sorted(path.iterdir())


def _of_text(text: str, rules: Choice = every) -> Report:
    return check_files(["-"], stdin=text.encode(), rules=rules)
