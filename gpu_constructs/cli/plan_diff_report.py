"""The difference of two plans for readers: as text, as Markdown for a pull request, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from gpu_constructs import __version__
from gpu_constructs.budget import LABEL, brief
from gpu_constructs.cli.output import json_text
from gpu_constructs.cli.plan_report import budget_facts, budget_lines, facts_of, numbers_table, pieces
from gpu_constructs.cli.terminal import Line, clean
from gpu_constructs.planning.budget_verdict import BudgetVerdict
from gpu_constructs.planning.in_words import about_prices
from gpu_constructs.planning.plan_difference import PlanDifference, Row, Status
from gpu_constructs.planning.updates import RefusedUpdate

_HEAD = ("", "old", "new", "change")
_STYLES = {Status.ADDED: "warning", Status.REMOVED: "good", Status.CHANGED: ""}
_SHOWN = {Status.ADDED: "{row.new}", Status.REMOVED: "{row.old}", Status.CHANGED: "{row.old} -> {row.new}"}
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&$])")
_REFERENCE = re.compile(
    r"(?<=[@#])|(?i:(?=://)|(?<=\bw)(?=ww\.)|(?<=\bGH-)|(?<=\bmailto)(?=:)|(?<=\bxmpp)(?=:))"
    r"|(?<=[0-9a-f]{6})(?=[0-9a-f])"
)
"""Where GitHub's links are cut: mentions, issues, addresses, commits. https://github.github.com/gfm/#autolinks-extension-
https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls"""
_CUT = "&#8203;"
"""A space without width, which GitHub shows as nothing."""
_SAME = "The plan is the same."
_REFUSED = "AWS refuses this in one deploy"
_REPLACED = "CloudFormation replaces services"


def lines(found: PlanDifference, *, width: int, verdict: BudgetVerdict | None = None) -> Iterator[Line]:
    """The difference as text."""
    if found.is_empty:
        yield [(_SAME, "good")]
    else:
        yield from _changes(found, width)
    for each in found.refused:
        yield []
        yield [(_REFUSED, "error")]
        for label, text in _parts(each):
            yield from pieces(f"  {label}", text, width)
    if found.replaced:
        yield []
        yield [(_REPLACED, "warning")]
        for said in found.replaced:
            yield from pieces("  ", said, width)
    if verdict is not None:
        yield []
        yield from budget_lines(verdict, width)


def _changes(found: PlanDifference, width: int) -> Iterator[Line]:
    yield from numbers_table(_HEAD, [_cells(each) for each in found.totals], width)
    for pool in found.pools:
        yield []
        yield [(brief(pool.name, LABEL), "title"), (f" {pool.status.value}", _STYLES[pool.status])]
        for row in pool.rows:
            yield from pieces(f"  {row.what}: ", _SHOWN[pool.status].format(row=row), width)
    if found.quotas:
        yield []
        yield [("quotas", "title")]
        for row in found.quotas:
            yield from pieces("  ", f"{row.what}: {row.old} -> {row.new}", width)
    if found.is_priced:
        yield []
        yield from pieces("", about_prices(found.old, found.new), width, style="aside")


def markdown(found: PlanDifference, *, verdict: BudgetVerdict | None = None) -> str:
    """The difference as a comment of a pull request."""
    parts = ["### GPU hosts", *([_SAME] if found.is_empty else _tables(found))]
    for each in found.refused:
        parts.append(f"**{_REFUSED}**")
        *names, (_, source) = _parts(each)
        said = [f"- {label}{_escaped(text)}" for label, text in names]
        parts.append("\n".join([*said, f"- [documentation]({source})"]))
    if found.replaced:
        parts.append("\n".join([f"**{_REPLACED}**\n", *(f"- {_escaped(each)}" for each in found.replaced)]))
    if verdict is not None:
        parts += [_escaped("".join(piece for piece, _ in line)) for line in budget_lines(verdict, None)]
    if found.is_priced and not found.is_empty:
        about = about_prices(found.old, found.new)
        parts.append(_MARKUP.sub(r"\\\1", f"{about[0].upper()}{about[1:]}"))
    return "\n\n".join(parts) + "\n"


def _tables(found: PlanDifference) -> Iterator[str]:
    yield _table([_cells(each) for each in found.totals], _HEAD)
    rows = [
        (f"**{_escaped(pool.name)}**, {pool.status.value}" if not place else "", row.what, row.old, row.new)
        for pool in found.pools
        for place, row in enumerate(pool.rows)
    ]
    if rows:
        yield _table(rows, ("pool", "", "old", "new"), escaped=1, numbers=())
    if found.quotas:
        yield _table([_cells(each) for each in found.quotas], ("quota", *_HEAD[1:]))


def json_report(found: PlanDifference, verdict: BudgetVerdict | None = None) -> str:
    """The difference as JSON, with both plans."""
    return json_text(
        {
            "version": __version__,
            "same": found.is_empty,
            "totals": [_facts(each) for each in found.totals],
            "pools": [
                {"pool": each.name, "status": each.status.value, "changes": [_facts(row) for row in each.rows]}
                for each in found.pools
            ],
            "quotas": [_facts(each) for each in found.quotas],
            "refused": [{"change": each.change, **asdict(each.refusal)} for each in found.refused],
            "replaced": found.replaced,
            "old": facts_of(found.old),
            "new": facts_of(found.new),
            "budget": budget_facts(verdict),
        }
    )


def _parts(refused: RefusedUpdate) -> Sequence[tuple[str, str]]:
    of = refused.refusal
    labels = ("", "AWS: ", "first: ", "then: ", "see ")
    return tuple(zip(labels, (refused.change, of.answer, *of.steps, of.source), strict=True))


def _cells(row: Row) -> tuple[str, ...]:
    return row.what, row.old, row.new, row.change


def _facts(row: Row) -> dict[str, str]:
    return {"what": row.what, "old": row.old, "new": row.new, "change": row.change}


def _table(
    rows: Sequence[Sequence[str]], head: Sequence[str], *, escaped: int = 0, numbers: Sequence[str] = _HEAD[1:]
) -> str:
    """A table; the first so many columns are Markdown already, and those of numbers are on the right."""
    marks = ["---:" if each in numbers else "---" for each in head]
    written = [[each if place < escaped else _escaped(each) for place, each in enumerate(row)] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (list(head), marks, *written))


def _escaped(text: str) -> str:
    """A text that nothing in it can turn into markup or a link: names are the user's, and may be anything."""
    return _REFERENCE.sub(_CUT, _MARKUP.sub(r"\\\1", clean(brief(text, LABEL))))
