"""How do machines read what was found? `FORMATS` has each form by its name.

What several of them need is here: what a reader is shown, where that is in the repository, and how it is recognized in
the next run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import cast

from gpu_constructs.check.report import Report
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.fit.unchecked import UNCHECKED

FORMATS = {
    "json": "for_programs.as_json",
    "sarif": "for_programs.as_sarif",
    "github": "for_ci.github",
    "gitlab": "for_ci.gitlab",
    "junit": "for_ci.junit",
}
"""Names of forms, and the module and the function that write each; it is loaded where it is asked for."""

UNREAD = "unreadable"
"""What stands for the id of a rule where a file could not be read."""

_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Variables by which a CI names the directory of the repository.

https://docs.github.com/en/actions/reference/workflows-and-actions/variables
https://docs.gitlab.com/ci/variables/predefined_variables/
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A check, and what its reader asked for.

    Attributes:
        verbose: Whether infos are shown, and in SARIF what was accepted.
    """

    review: Report
    fails: Callable[[Finding], bool]
    ignored: tuple[str, ...] = ()
    verbose: bool = False

    @property
    def shown(self) -> Iterator[Finding]:
        """What a reader looks at: files that were not read and tasks that were not checked, but not infos."""
        yield from self.unread
        for each in self.review.findings:
            if self.verbose or each.severity is not Severity.INFO or each.rule == UNCHECKED:
                yield each

    @property
    def unread(self) -> tuple[Finding, ...]:
        """Files that could not be read, each as an error."""
        return tuple(
            Finding(
                rule=UNREAD,
                severity=Severity.ERROR,
                subject=each.file,
                message=each.reason,
                fix=each.fix or "",
                origin=Origin(resource="", file=each.file, line=each.line, column=each.column),
            )
            for each in self.review.unreadable
        )


def written(name: str, checked: Checked) -> str:
    """A check in a form, by its name."""
    module, _, function = FORMATS[name].partition(".")
    return cast("str", getattr(import_module(f"gpu_constructs.cli.formats.{module}"), function)(checked))


def place_of(finding: Finding) -> tuple[str | None, int | None, int | None]:
    """File, line and column to look at: those of the app where they are known, else those of the template."""
    origin = finding.origin
    if origin is None:
        return None, None, None
    made = origin.source
    file, line, column = (
        (origin.file, origin.line, origin.column) if made is None else (made.file, made.line, made.column)
    )
    return None if file is None else in_repository(file), line, column


def in_repository(file: str) -> str:
    """A file as a CI knows it: from the top of the repository where the CI says where that is, else as it is named."""
    root = next(filter(None, map(os.environ.get, _ROOTS)), None)
    if root is not None and file != "-":
        below = os.path.relpath(os.path.realpath(file), os.path.realpath(root))
        if not below.startswith(os.pardir):
            file = below
    return os.path.normpath(file).replace(os.sep, "/")


def fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """The same in every run: made of names, not of lines or of what a message says of other resources.

    `seen` counts what has the same names in one report.
    """
    from hashlib import sha256  # noqa: PLC0415 - loads OpenSSL, for some forms alone

    origin: Origin | None = finding.origin
    file = os.path.basename(origin.file) if origin is not None and origin.file is not None else ""
    names = () if origin is None else (origin.construct_path or origin.resource, *map(str, origin.path[2:]))
    key = "\n".join((finding.rule, finding.subject, file, *names))
    seen[key] += 1
    return sha256(f"{key}\n{seen[key]}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
