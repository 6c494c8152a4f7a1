"""``gpu-constructs rules``: what is asked of every fleet, and what each question rests on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import Line, pieces, table, write_report
from gpu_constructs.fleet import METADATA_KEY
from gpu_constructs.rules import Rule, all_rules, find_rule, known_id
from gpu_constructs.rules.other_ids import id_now, is_gone, reported_by, what_became_of

EXAMPLES = """\
examples:
  gpu-constructs rules
  gpu-constructs rules GPU002

exit codes:
  0 it is shown, 2 no rule has that id, or wrong usage
"""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", nargs="?", metavar="RULE", help="everything about one rule, such as GPU002")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Lists the rules, or says of one what it asks; of one that is asked no more, who says now what it said."""
    wanted = None if arguments.rule is None else known_id(arguments.rule)
    write_report(
        arguments,
        lambda: [_facts(each) for each in all_rules()] if wanted is None else _facts_of(wanted),
        lambda width: _listing(width) if wanted is None else _everything(wanted, width),
    )
    return 0


def _listing(width: int) -> Iterator[Line]:
    rows = [(each.id, str(each.severity), each.question) for each in all_rules()]
    return table(("rule", "severity", "question"), rows, width=width)


_CONSTRUCTS = "a construct, where it is made; no rule finds it in a file"


def _is_of_constructs(id_: str) -> bool:
    return id_.startswith(f"{METADATA_KEY}::")


def _everything(id_: str, width: int) -> Iterator[Line]:
    said = (f"{id_} is a warning of {_CONSTRUCTS}",) if _is_of_constructs(id_) else what_became_of([id_])
    for text in said:
        yield from pieces("", text, width)
    if not id_now(id_) or _is_of_constructs(id_):
        return
    rule = find_rule(id_now(id_))
    yield [(rule.id, "title"), (" ", ""), (str(rule.severity), str(rule.severity))]
    for text in (rule.question, rule.reason):
        yield from pieces("  ", text, width)
    yield [(f"  {rule.source}", "aside")]


def _facts_of(id_: str) -> dict[str, str]:
    if _is_of_constructs(id_):
        return {"id": id_, "part_of": "", "said_by": _CONSTRUCTS}
    if is_gone(id_):
        return {"id": id_, "part_of": id_now(id_), "said_by": reported_by().get(id_, "")}
    return _facts(find_rule(id_))


def _facts(rule: Rule) -> dict[str, str]:
    return {
        "id": rule.id,
        "severity": str(rule.severity),
        "question": rule.question,
        "because": rule.because,
        "softer": rule.softer,
        "source": rule.source,
    }
