"""What an expert says of the broken configurations, and whether the checker says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml  # type: ignore[import-untyped]  # PyYAML has no types

from tests.reports import of_template

if TYPE_CHECKING:
    from gpu_constructs.rules.finding import Finding

HERE = Path(__file__).parent
# The same in C where there is one.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
BROKEN, GOOD = HERE / "broken", HERE / "good"

# Its file, and the rule of cfn-lint that finds the same in it.
FOUND_BY_CFN_LINT: dict[str, str] = {
    "051-other-host-port-in-awsvpc.yaml": "E3053",
    "040-target-capacity-of-zero.yaml": "E3034",
    "117-eleven-tasks.yaml": "E3034",
    "153-metric-that-does-not-exist.yaml": "E3030",
    "154-group-minimum-above-maximum.yaml": "E3706",
}


@dataclass(frozen=True)
class Expected:
    """One broken configuration, a file or a folder of files given in one call, and what has to be said of it."""

    file: str
    severity: str
    places: tuple[str, ...]  # any of them may be changed, the first is the likely one; in a folder after "its file#"
    says: tuple[str, ...]  # regular expressions that the message or the fix has to match, each of them
    source: str

    @property
    def path(self) -> Path:
        return BROKEN / self.file


@dataclass(frozen=True)
class Judged:
    """What the checker says of one broken configuration."""

    expected: Expected
    why_missed: str  # empty if it is said, as gravely as the expert says it
    why_misplaced: str  # empty if it is said of a resource to change


@cache
def expectations() -> tuple[Expected, ...]:
    """All of them, in the order of their files."""
    tables = (
        yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - the safe one
        for path in (BROKEN / "expected").glob("*.yaml")
    )
    each = (_expected(file, entry) for table in tables for file, entry in table.items())
    return tuple(sorted(each, key=lambda expected: expected.file))


def _expected(file: str, entry: dict[str, object]) -> Expected:
    start = f"Resources.{entry['resource']}.Properties" if "resource" in entry else ""
    first = ".".join(part for part in (start, str(entry["property"])) if part)
    others, says = entry.get("or", []), entry["says"]
    assert isinstance(others, list)
    assert isinstance(says, list)
    return Expected(
        file, str(entry["severity"]), (first, *map(str, others)), tuple(map(str, says)), str(entry["source"])
    )


@cache
def judged(expected: Expected) -> Judged:
    """The verdict of the checker, held against that of the expert."""
    said = [each for each in of_template(expected.path).findings if _says(expected, each)]
    named = [each for each in said if each.severity.value == expected.severity]
    return Judged(
        expected,
        why_missed="" if named else _why_missed(expected, said),
        why_misplaced="" if any(_is_at_the_resource(expected, each) for each in named) else _where(named),
    )


def _why_missed(expected: Expected, said: list[Finding]) -> str:
    return f"{said[0].rule} says it as {said[0].severity.value}, not as {expected.severity}" if said else "not said"


def _where(named: list[Finding]) -> str:
    return ", ".join(
        sorted({f"{each.rule} says it of {each.origin.resource if each.origin else each.subject}" for each in named})
    )


def _says(expected: Expected, finding: Finding) -> bool:
    text = f"{finding.message} {finding.fix}"
    return all(re.search(pattern, text, re.IGNORECASE) for pattern in expected.says)


def _is_at_the_resource(expected: Expected, finding: Finding) -> bool:
    paths = [place.rpartition("#")[2] for place in expected.places]
    resources = {path.split(".")[1] for path in paths if path.startswith("Resources.")}
    origin = finding.origin
    return (
        not resources or (origin is not None and origin.resource in resources) or _is_at_the_property(expected, finding)
    )


def _is_at_the_property(expected: Expected, finding: Finding) -> bool:
    if finding.origin is None or finding.origin.line is None:
        return False
    at, file = finding.origin.line, Path(finding.origin.file or "").name
    return any(at in lines and file == path.name for path, lines in _lines(expected))


@cache
def _lines(expected: Expected) -> tuple[tuple[Path, range], ...]:
    """The lines of each place; of what is missing there, those of the nearest part that exists."""
    files = sorted(expected.path.iterdir()) if expected.path.is_dir() else [expected.path]
    roots = {path.name: (path, yaml.compose(path.read_text(encoding="utf-8"), Loader=_LOADER)) for path in files}
    found = []
    for place in expected.places:
        name, _, keys = place.rpartition("#")
        path, root = roots[name or next(iter(roots))]
        found.append((path, _lines_of(root, keys.split("."))))
    return tuple(found)


def _lines_of(node: yaml.Node, keys: list[str]) -> range:
    first = node.start_mark.line + 1
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pair = next(((name, value) for name, value in node.value if name.value == key), None)
            if pair is None:
                break
            first, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            first = node.start_mark.line + 1
        else:
            break
    return range(first, max(first, _last_line(node)) + 1)


def _last_line(node: yaml.Node) -> int:
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        end: int = node.end_mark.line + (node.end_mark.column > 0)
    else:
        children = (part for each in node.value for part in (each if isinstance(each, tuple) else (each,)))
        end = max((_last_line(child) for child in children), default=node.start_mark.line + 1)
    return end


def good_files() -> list[Path]:
    """The configurations that work."""
    return sorted(GOOD.iterdir())
