"""``gpu-constructs preflight``: whether the account can have the hosts, before anything is deployed."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from gpu_constructs.account.preflight.check import Ask, Result, Verdict
from gpu_constructs.account.preflight.run import CHECKS, policy, preflight
from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.live_answers import account_part, deadline
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import Line, fix_lines, json_text, pieces, write_report
from gpu_constructs.errors import InvalidValueError, __version__, arguments_written
from gpu_constructs.facts.names import require_region

_STYLES = {Verdict.OK: "good", Verdict.SHORT: "error", Verdict.NOT_CHECKED: "warning"}
_PASSED = {Verdict.OK: True, Verdict.SHORT: False, Verdict.NOT_CHECKED: None, Verdict.NOTHING_TO_CHECK: None}
_WIDEST = len(Verdict.NOT_CHECKED.value)
_NOTHING = Verdict.NOTHING_TO_CHECK
_INDENT = 4
_ON_REQUEST = [each.id for each in CHECKS if each.on_request]
_COULD_NOT = 2

_LONGEST = max(len(each.id) for each in CHECKS)

EXAMPLES = f"""\
examples:
  gpu-constructs preflight cdk.out
  gpu-constructs preflight cdk.out --check quotas --check block-offerings
  gpu-constructs preflight template.yaml --region eu-west-1 --format json
  gpu-constructs preflight --policy

checks:
{chr(10).join(f"  {each.id:<{_LONGEST}}  {each.question}" for each in CHECKS)}

It only reads, and works with the permissions there are.

exit codes:
  0 passed, 1 something is short, missing or not offered (with --strict: or was not checked),
  2 nothing could be checked, or wrong usage
"""


def define(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser, nargs="*")
    add_format(parser)
    parser.add_argument("--profile", help="the AWS profile whose credentials are used")
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        choices=[each.id for each in CHECKS],
        metavar="CHECK",
        help=f"ask this check; can be repeated; default: all but {' and '.join(_ON_REQUEST)}",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 as well if something was not checked")
    parser.add_argument("--policy", action="store_true", help="print the least IAM policy that the checks need")


def run(arguments: argparse.Namespace) -> int:
    asked = arguments.check or [each.id for each in CHECKS if not each.on_request]
    checks = [each for each in CHECKS if each.id in asked]
    if arguments.policy:
        sys.stdout.write(json_text(policy(checks if arguments.check else CHECKS, arguments.region)))
        return 0
    if not arguments.paths:
        raise InvalidValueError("nothing to check", argument="PATH", allowed="cdk.out, a template, or --policy alone")
    configuration = found_configuration(arguments.config, arguments.paths)
    if arguments.region is None and configuration.region is None:
        arguments.region = _region(arguments.profile)
    fleet = reviewed(arguments, configuration, rules=()).fleet
    asks: Callable[[str], Ask] = account_part("preflight.asking").asker(arguments.profile, deadline())
    results = preflight(fleet, asks, checks)
    write_report(arguments, lambda: _facts(results), lambda width: _lines(results, width))
    return _code(results, strict=arguments.strict)


def _region(profile: str | None) -> str | None:
    """The region of files that name none, as the AWS CLI finds it."""
    found: tuple[str, str] | None = account_part("calls").region_of(profile)
    if found is None:
        return None
    region, source = found
    with arguments_written({"region": source}):
        require_region(region)
    return region


def _code(results: Sequence[Result], *, strict: bool) -> int:
    verdicts = {each.verdict for each in results}
    if verdicts.isdisjoint({Verdict.OK, Verdict.SHORT}):
        return _COULD_NOT
    return int(Verdict.SHORT in verdicts or (strict and Verdict.NOT_CHECKED in verdicts))


def _facts(results: Sequence[Result]) -> dict[str, object]:
    facts = [{**asdict(each), "verdict": str(each.verdict), "passed": _PASSED[each.verdict]} for each in results]
    return {"version": __version__, "results": facts}


def _lines(results: Sequence[Result], width: int) -> Iterator[Line]:
    if not results:
        yield [("no hosts to check", "")]
        return
    for region, found in groupby(results, key=lambda each: each.region):
        yield [(region or "region not known", "title")]
        of_region = list(found)
        asked = (each for each in of_region if each.verdict is not _NOTHING)
        for _, same in groupby(asked, key=lambda each: (each.word, each.text, each.fix)):
            yield from _of(list(same), width)
        if without := [f"{each.check} ({each.text})" for each in of_region if each.verdict is _NOTHING]:
            yield from pieces("  ", f"{_NOTHING}: {', '.join(without)}", width, style="aside")
    ranked = sorted(results, key=lambda each: list(Verdict).index(each.verdict))
    counts = Counter(each.word for each in ranked if each.verdict is not _NOTHING)
    yield [(", ".join(f"{count} {word}" for word, count in counts.items()) or "nothing was checked", "title")]


def _of(same: Sequence[Result], width: int) -> Iterator[Line]:
    """What is said of one thing, or once of several."""
    for each in same:
        yield [(f"  {each.word:<{_WIDEST}}", _STYLES[each.verdict]), (f"  {each.check}: {each.subject}", "")]
    result = same[0]
    yield from pieces(" " * _INDENT, result.text, width)
    yield from fix_lines(_INDENT, result.fix, width)
