"""The pages of the rules on the site: their list by subject, and one page for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gpu_constructs.rules import Rule, rooms, rules_of
from gpu_constructs.rules.other_ids import PART_OF
from tools.rule_examples import BASES, Example, example_of

__all__ = ["WHO_ELSE", "rule_pages", "subjects"]

WHO_ELSE = json.loads((Path(__file__).with_name("who_else.json")).read_text(encoding="utf-8"))
"""Rules of other tools, by the tool and the rule of ours whose wrong example they find."""

_INTRODUCTION = """\
# Rules

What is asked of every fleet of GPU hosts and tasks, at the synth of an app and by `gpu-constructs check`. Where
an example is Python, only the constructs know what the rule asks, and it finds nothing in a template. An *error* cannot
work, by the mechanism that is named; a *warning* may not work, or not as meant; *info* is worth knowing. An id always
means the same rule. `gpu-constructs rules GPU060` prints a rule in a terminal.

A finding is accepted where it is, with a reason, in the metadata of the resource:

```json
"Metadata": {"gpu-constructs": {"Acknowledge": {"GPU002": "we want the newest driver"}}}
```

Each page has an example in which the rule finds something, and the same example corrected. Both are the part of a
template that the rule is about, and a test checks both.
"""

_TOOLS = {
    "cfn-lint": "in the example",
    "cdk-preflight": "in CDK apps",
}


def rule_pages() -> dict[str, str]:
    """The text of each page by its name below ``rules/``."""
    lists = [line for room in rooms() for line in _list(room)]
    pages = {"index.md": "\n".join([_INTRODUCTION, *lists, ""])}
    for room in rooms():
        subject, _ = _subject(room)
        pages |= {f"{each.id}.md": "\n".join([*_page(each, subject), ""]) for each in rules_of(room)}
    return pages


def subjects() -> Iterator[tuple[str, list[str]]]:
    """Each subject with the ids of its rules."""
    for room in rooms():
        yield _subject(room)[0], sorted(each.id for each in rules_of(room))


def _list(room: ModuleType) -> Iterator[str]:
    subject, question = _subject(room)
    yield f"\n## {subject}\n\n{question[0].upper()}{question[1:]}\n"
    yield "| rule | severity | question |"
    yield "|---|---|---|"
    for each in sorted(rules_of(room), key=lambda each: each.id):
        yield f"| {_link(each.id)} | {each.severity} | {each.question.replace('|', '&#124;')} |"


def _page(rule: Rule, subject: str) -> Iterator[str]:
    is_page = rule.source.startswith("https://") and " " not in rule.source
    example = example_of(rule.id)
    yield f"# {rule.id}: {rule.question}\n"
    yield f"**{rule.severity}** · [{subject}](index.md#{subject.lower().replace(' ', '-')})\n"
    yield f"Otherwise: {rule.because}.\n"
    if rule.softer:
        yield f"Only a warning {rule.softer}.\n"
    if rule.unless:
        yield f"Not reported where {_listed(rule.unless)} reports the same cause.\n"
    yield f"Source: {f'<{rule.source}>' if is_page else rule.source}\n"
    others = [
        f"{tool} {where} ({WHO_ELSE[tool][rule.id]})" for tool, where in _TOOLS.items() if rule.id in WHO_ELSE[tool]
    ]
    yield f"Who else finds it: {', '.join(others) or 'none of cfn-lint and cdk-preflight'} ({WHO_ELSE['date']}).\n"
    for title, part in (("Wrong", example.wrong), ("Right", example.right)):
        yield f"## {title}\n\n```yaml\n{example.shown(part)}```\n"
    if around := "\n".join(_around(example)):
        yield around
    if merged := sorted(old for old, now in PART_OF.items() if now == rule.id):
        yield f"Reported as {_listed(merged, is_linked=False)} by earlier versions."


def _around(example: Example) -> Iterator[str]:
    """The templates around an example."""
    if not example.base:
        return
    yield "## The template around both\n"
    for each in example.base:
        text = (BASES / f"{each}.yaml").read_text(encoding="utf-8").rstrip()
        yield f'??? note "{each}.yaml"\n\n    ```yaml\n' + "\n".join(f"    {line}" for line in text.splitlines())
        yield "    ```\n"


def _listed(ids: tuple[str, ...] | list[str], *, is_linked: bool = True) -> str:
    *others, last = map(_link, ids) if is_linked else ids
    return f"{', '.join(others)} or {last}" if others else last


def _subject(room: ModuleType) -> tuple[str, str]:
    """What a room is about, and what its rules ask: the two halves of the first line of its docstring."""
    subject, _, question = (room.__doc__ or "").partition("\n")[0].partition(": ")
    return subject, question


def _link(rule: str) -> str:
    return f"[{rule}]({rule}.md)"
