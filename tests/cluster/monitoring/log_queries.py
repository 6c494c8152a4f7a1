"""What CloudWatch Logs finds in events: patterns of metric filters, and the commands of Logs Insights that are used.

Written from https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html and
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

Event = Mapping[str, Any]


def counts(pattern: str, event: Event) -> bool:
    """Whether a metric filter counts an event: every group of terms has one that is true."""
    (body,) = re.findall(r"^\{ (.*) \}$", pattern)
    return all(
        any(
            fnmatchcase(str(_field(event, path) or ""), value)
            for path, value in re.findall(r'\$\.([\w.-]+) = "([^"]*)"', group)
        )
        for group in body.split(" && ")
    )


def answer_of(query: str, events: Sequence[Event]) -> list[dict[str, str]]:
    """The table that a query shows, of events in the order of time."""
    source, *commands = query.split(" | ")
    assert re.fullmatch("SOURCE '[^']+'", source), "a query says where it looks"
    rows: list[dict[str, str]] = []
    for command in commands:
        word, _, rest = command.partition(" ")
        match word:
            case "filter":
                events = [each for each in events if any(_is_in(term, each) for term in rest.split(" or "))]
            case "stats":
                rows = _counted(rest, events)
            case "fields":
                rows = [_fields(rest, each) for each in events]
            case "sort":
                name, _ = rest.split(" ")
                rows.sort(key=lambda row: row[name].rjust(20), reverse=rest.endswith(" desc"))
            case "limit":
                rows = rows[: int(rest)]
            case _:
                raise AssertionError(f"{word} is not used, and not known here")
    return rows


def _is_in(term: str, event: Event) -> bool:
    if term.startswith("ispresent("):
        return _field(event, term[10:-1]) is not None
    if " > " in term:
        name, least = term.split(" > ")
        return bool((_field(event, name) or 0) > float(least))
    name, value = term.split(" = ")
    return bool(_field(event, name) == json.loads(value))


def _counted(rest: str, events: Sequence[Event]) -> list[dict[str, str]]:
    name, by = re.fullmatch(r"count\(\*\) as (\w+) by (.*)", rest).groups()  # type: ignore[union-attr] # else it fails
    keys = [tuple(_fields(by, each).items()) for each in events]
    return [{name: str(keys.count(each)), **dict(each)} for each in dict.fromkeys(keys)]


def _fields(text: str, event: Event) -> dict[str, str]:
    shown = {}
    for each in re.split(r", (?![^(]*\))", text):
        path, _, name = each.partition(" as ")
        tried = re.fullmatch(r"coalesce\((.*)\)", path)
        paths = tried[1].split(", ") if tried else [path]
        values = (_field(event, one) for one in paths)
        shown[name or path] = str(next((value for value in values if value is not None), ""))
    return shown


def _field(event: Event, path: str) -> Any:
    """A field by its path; names with a hyphen stand between backticks, and items of a list have numbers."""
    if path == "@timestamp":
        return event["time"]
    assert "-" not in path.replace("detail-type", "") or path.startswith("`") or "." in path
    value: Any = event
    for name in path.strip("`").split("."):
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, Mapping):
            value = value.get(name)
        else:
            return None
    return value
