"""Writes ``docs/rules.md`` from the rules: ``python -m tools.build_rules_page``, from the top of the repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gpu_constructs.rules import RULES, Rule

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"

_INTRODUCTION = """\
# Rules

<!-- Made by `python -m tools.build_rules_page` from gpu_constructs/rules; not edited. -->

What is asked of every fleet of GPU hosts and tasks, at the synth of an app and by `gpu-constructs check`. An *error*
cannot work, by the mechanism that is named; a *warning* may not work, or not as meant; *info* is worth knowing. An id
always means the same rule.

A finding is accepted where it is, with a reason, in the metadata of the resource:

```json
"Metadata": {"gpu-constructs": {"Acknowledge": {"GPU002": "we want the newest driver"}}}
```
"""


def page(rules: Iterable[Rule]) -> str:
    """The page.

    Args:
        rules: In the order in which they stand on it.
    """
    return "\n".join([_INTRODUCTION, *_overview(rules := tuple(rules)), *_sections(rules)])


def _overview(rules: Iterable[Rule]) -> Iterator[str]:
    yield "| rule | severity | question |"
    yield "|---|---|---|"
    for each in rules:
        yield f"| [{each.id}](#{each.id.lower()}) | {each.severity} | {_cell(each.question)} |"


def _sections(rules: Iterable[Rule]) -> Iterator[str]:
    for each in rules:
        source = f"<{each.source}>" if each.source.startswith("https://") and " " not in each.source else each.source
        yield f"\n## {each.id}\n\n**{each.severity}**: {each.question}\n"
        yield f"Otherwise: {each.because}.\n\nSource: {source}"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(RULES), encoding="utf-8")
