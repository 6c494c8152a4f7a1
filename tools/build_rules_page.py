"""Writes ``docs/rules.md`` from the rules: ``python -m tools.build_rules_page``, from the top of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gpu_constructs.rules import Rule, rooms, rules_of
from tools.rule_examples import BASES, Example, example_of

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"

_INTRODUCTION = """\
# Rules

<!-- Made by `python -m tools.build_rules_page` from gpu_constructs/rules and tests/rules/examples; not edited. -->

What is asked of every fleet of GPU hosts and tasks, at the synth of an app and by `gpu-constructs check`. Where
an example is Python, only the constructs know what the rule asks, and it finds nothing in a template. An *error* cannot
work, by the mechanism that is named; a *warning* may not work, or not as meant; *info* is worth knowing. An id always
means the same rule.

A finding is accepted where it is, with a reason, in the metadata of the resource:

```json
"Metadata": {"gpu-constructs": {"Acknowledge": {"GPU002": "we want the newest driver"}}}
```

Each rule has an example in which it finds something, and the same example corrected. Both are the part of a template
that the rule is about, and a test checks both; the templates around them are linked.
"""


def page() -> str:
    """The page."""
    return "\n".join([_INTRODUCTION, *_contents(), *(line for room in rooms() for line in _room(room)), ""])


def _contents() -> Iterator[str]:
    yield "| subject | what is asked | rules |"
    yield "|---|---|---|"
    for room in rooms():
        subject, question = _subject(room)
        yield f"| [{subject}](#{_anchor(subject)}) | {question} | {len(rules_of(room))} |"


def _room(room: ModuleType) -> Iterator[str]:
    subject, question = _subject(room)
    rules = sorted(rules_of(room), key=lambda each: each.id)
    yield f"\n## {subject}\n\n{question[0].upper()}{question[1:]}\n"
    yield "| rule | severity | question |"
    yield "|---|---|---|"
    for each in rules:
        yield f"| {_link(each.id)} | {each.severity} | {_cell(each.question)} |"
    for each in rules:
        yield from _section(each)


def _section(rule: Rule) -> Iterator[str]:
    source = f"<{rule.source}>" if rule.source.startswith("https://") and " " not in rule.source else rule.source
    example = example_of(rule.id)
    yield f"\n### {rule.id}\n\n**{rule.severity}**: {rule.question}\n"
    yield f"Otherwise: {rule.because}.\n"
    if rule.softer:
        yield f"Only a warning {rule.softer}.\n"
    if rule.unless:
        *others, last = map(_link, rule.unless)
        causes = f"{', '.join(others)} or {last}" if others else last
        yield f"Not reported where {causes} reports the same cause.\n"
    yield f"Source: {source}"
    for title, part in ((f"Wrong{_within(example)}", example.wrong), ("Right", example.right)):
        yield f"\n{title}:\n\n```yaml\n{example.shown(part)}```"


def _within(example: Example) -> str:
    """The templates around an example, as links."""
    folder = f"../{BASES.relative_to(PAGE.parents[1]).as_posix()}"
    links = [f"[{each}]({folder}/{each}.yaml)" for each in example.base]
    return f", in {' with '.join((links[0], ', '.join(links[1:])) if links[1:] else links)}" if links else ""


def _subject(room: ModuleType) -> tuple[str, str]:
    """What a room is about, and what its rules ask: the two halves of the first line of its docstring."""
    subject, _, question = (room.__doc__ or "").partition("\n")[0].partition(": ")
    return subject, question


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _link(rule: str) -> str:
    return f"[{rule}](#{rule.lower()})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
