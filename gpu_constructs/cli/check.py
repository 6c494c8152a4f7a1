"""``gpu-constructs check``: what keeps GPU tasks from running, in templates that are not deployed yet."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from gpu_constructs.check.accepted import Baseline, reasonless, with_severities, without_accepted
from gpu_constructs.check.configuration import FAIL_ON, NEVER, UNCHECKED_TASKS, Configuration, found_configuration
from gpu_constructs.check.other_values import Outcome, ValueTable
from gpu_constructs.check.report import NOT_JUDGED, Report
from gpu_constructs.cli.formats import FORMATS, Checked, written
from gpu_constructs.cli.inputs import add_inputs, add_selection, reviewed_worlds
from gpu_constructs.cli.options import add_format, add_repeated
from gpu_constructs.cli.output import Line, fix_lines, hanging, pieces, say, show, unstyled, width_of, wrapped
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, brief, counted, shown
from gpu_constructs.facts.budget import LABEL, MESSAGE
from gpu_constructs.facts.values import grouped
from gpu_constructs.rules import Finding, Severity, known_id, rules_without
from gpu_constructs.rules.finding import and_list, or_list
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.rules.other_ids import what_became_of

_UNREADABLE = 2

EXAMPLES = """\
examples:
  gpu-constructs check cdk.out
  gpu-constructs check template.yaml --parameter InstanceType=g5.xlarge --region eu-west-1
  gpu-constructs check cdk.out --output sarif=gpu.sarif --output junit=gpu.xml
  cdk synth | gpu-constructs check - --ignore GPU002

A finding is accepted in the template itself, with a reason:
  Metadata: {"gpu-constructs": {"Acknowledge": {"GPU002": "we want the newest driver"}}}

exit codes:
  0 nothing as grave as --fail-on says, 1 something is, 2 wrong usage, nothing
  to check, or a file that cannot be read or written
"""


def define(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser, directories=True)
    add_selection(parser)
    add_format(parser, *(each for each in FORMATS if each != "json"))
    to_file = "write the report to a file as well, such as sarif=gpu.sarif; -: to stdout, behind the report of --format"
    add_repeated(parser, "--output", "FORMAT=FILE", to_file)
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="exit with 1 at a finding of this severity or higher; unchecked: at an error, or if something of a task "
        "or its hosts is not known; default: error",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show info findings as well")
    add_repeated(parser, "--ignore", "RULE", "leave a rule out, such as GPU002")
    parser.add_argument(
        "--baseline", metavar="FILE", help="tell only what is not in this file, which holds old findings"
    )
    parser.add_argument("--update-baseline", action="store_true", help="write what is found now into the baseline")


def run(arguments: argparse.Namespace) -> int:
    configuration = found_configuration(arguments.config, arguments.paths)
    if arguments.verbose and configuration.file is not None:
        say(f"configuration: {configuration.file}")
    baseline = _baseline(arguments, configuration)
    fail_on = arguments.fail_on or configuration.fail_on or str(Severity.ERROR)
    ignored = tuple(map(known_id, arguments.ignore)) or configuration.ignore
    outputs = _outputs(arguments.output, arguments.paths)
    result = reviewed_worlds(arguments, configuration, rules=rules_without(ignored))
    # What constructs warned of is no rule that could be left out.
    result = replace(result, findings=tuple(each for each in result.findings if each.rule not in ignored))
    result = with_severities(result, configuration.severity)
    names_all = os.path.abspath(configuration.folder) in map(os.path.abspath, arguments.paths)
    is_all = names_all and not (arguments.include or arguments.exclude)
    result = without_accepted(result, configuration, is_all=is_all)
    if arguments.update_baseline and baseline is not None and result.files:
        baseline = baseline.updated(result)
        baseline.write()
        say(f"{baseline.file}: {counted(sum(number for number, _ in baseline.held.values()), 'finding')} written")
    result = result if baseline is None else baseline.without_old(result)
    for error in result.unreadable:
        say(str(error))
    if not result.files:
        if not result.unreadable:
            say(_nothing_to_check(arguments.paths, result))
        return _UNREADABLE
    for each in dict.fromkeys((*reasonless(configuration), *what_became_of(ignored), *result.notes, *result.unused)):
        say(each)
    # Whoever fails on infos wants to see them.
    verbose = arguments.verbose or fail_on == str(Severity.INFO)
    checked = Checked(
        review=result, fails=lambda each: _is_too_grave([each], fail_on), ignored=ignored, verbose=verbose
    )
    if arguments.format == _TEXT:
        show(lines(result, width=width_of(sys.stdout), verbose=verbose), sys.stdout)
    else:
        sys.stdout.write(written(arguments.format, checked))
    for kind, file in outputs:
        told = map(unstyled, lines(result, verbose=verbose))
        _write(file, "".join(f"{each}\n" for each in told) if kind == _TEXT else written(kind, checked))
    return _UNREADABLE if result.unreadable else int(_is_too_grave(result.findings, fail_on))


def _baseline(arguments: argparse.Namespace, configuration: Configuration) -> Baseline | None:
    """The baseline that is named; one that is still to be written is empty."""
    file = arguments.baseline or configuration.baseline
    if file is None and arguments.update_baseline:
        raise InvalidValueError("no baseline is named", argument="--update-baseline", allowed="with --baseline FILE")
    if file is None or (arguments.update_baseline and not os.path.lexists(file)):
        return None if file is None else Baseline(file=file)
    return Baseline.read(file)


def _nothing_to_check(paths: Sequence[str], result: Report) -> str:
    looked_at = f"none of {counted(result.skipped, 'file')}" if result.skipped > 1 else "no file"
    return (
        f"nothing to check in {and_list(map(_named, paths))}: {looked_at} is a template, a cloud assembly, a task "
        "definition or a job; fix: run cdk synth and name cdk.out, or name the files"
    )


def _outputs(given: Sequence[str], inputs: Sequence[str]) -> list[tuple[str, str]]:
    allowed = f"FORMAT=FILE, with {or_list([_TEXT, *FORMATS])} for FORMAT"
    found = []
    for each in given:
        kind, equals, file = each.partition("=")
        if not (equals and file and kind in {_TEXT, *FORMATS}):
            raise InvalidValueError(f"{shown(each)} names no report", argument="--output", allowed=allowed)
        if file != _STDOUT and any(os.path.realpath(file) == os.path.realpath(path) for path in inputs):
            raise InvalidValueError(f"{shown(file)} is what is checked", argument="--output", allowed="another file")
        found.append((kind, file))
    return found


def _write(file: str, report: str) -> None:
    if file == _STDOUT:
        sys.stdout.write(report)
        return
    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as opened:
            opened.write(report)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise GpuConstructsError(f"cannot write {shown(file)}: {why}", argument="--output") from error


def _is_too_grave(findings: Iterable[Finding], fail_on: str) -> bool:
    if fail_on == NEVER:
        return False
    if fail_on == UNCHECKED_TASKS:
        return any(each.rule in NOT_JUDGED or each.severity is Severity.ERROR for each in findings)
    return any(each.severity.rank <= Severity(fail_on).rank for each in findings)


_TEXT = "text"
_STDOUT = "-"
_WORD = max(map(len, Severity))
_MOST_UNCHECKED = 10
_MOST_FILES = 5
_MOST_ACKNOWLEDGED = 20
_NOT_CHECKED = "not checked: "
_INDENT = 4 + _WORD + 2 + len("GPU001") + 2


def lines(review: Report, *, width: int = 100, verbose: bool = False) -> Iterator[Line]:
    """A review, line by line; what only another value of a parameter brings is told in a table of the values."""
    tables = {(each.origin, each.parameter, each.subject): each for each in review.values}
    for _, of_file in groupby(_alike(review.findings, verbose=verbose), key=lambda same: _file(same[0])):
        for (where, heading), of_resource in groupby(of_file, key=lambda same: (_where(same[0]), _heading(same[0]))):
            yield [(where, "title"), ("  ", ""), (heading, "title")]
            for finding, *others in of_resource:
                key = finding.origin, finding.parameter, finding.subject
                if not finding.parameter or finding.origin is None:
                    yield from _lines(finding, others, width)
                elif key in tables:
                    yield from _table(tables.pop(key), width)
        yield []
    for values in review.values:
        yield from (*_table(values, width), []) if not values.subject else ()
    yield from _unchecked(review.unchecked, width)
    if review.acknowledged:
        for each in review.acknowledged[:_MOST_ACKNOWLEDGED]:
            accepted = f"{each.finding.rule} of {_resource(each.finding)}: {brief(each.reason, LABEL)}"
            yield [(f"acknowledged: {accepted}", "aside")]
        more = len(review.acknowledged) - _MOST_ACKNOWLEDGED
        yield from [[(f"acknowledged: and {more} more", "aside")]] if more > 0 else ()
    if review.untried:
        counts = (f"{counted(number, 'value')} of {brief(name, LABEL)}" for name, number in review.untried.items())
        yield [(f"not tried: {and_list(counts)}", "aside")]
    grave = [each.severity for each in review.findings if each.severity is not Severity.INFO]
    mood = min(grave, key=lambda each: each.rank, default="warning" if review.unchecked else "good")
    yield [(summary(review, verbose=verbose), mood)]


def summary(review: Report, *, verbose: bool = True) -> str:
    """What was found and what was looked at, in one line."""
    seen = review.seen
    skipped = f"; {counted(review.skipped_jobs, 'job')} for Amazon EKS skipped" if review.skipped_jobs else ""
    skipped += f"; {counted(review.skipped, 'other file')} skipped" if review.skipped else ""
    skipped += f"; {counted(len(review.unreadable), 'file')} not read" if review.unreadable else ""
    if not (seen.pools or seen.tasks or seen.services or seen.runs or review.findings):
        several = len(review.files) > _MOST_FILES
        where = f"{len(review.files)} files{_of_worlds(review)}" if several else and_list(review.files)
        return f"no ECS capacity or task was found in {where or 'what was read'}{skipped}"
    counts = Counter(each.severity for each in review.findings)
    counts[Severity.INFO] -= len(review.unchecked)
    of_severities = [(counts[each], each) for each in Severity if counts[each]]
    words = (f"{number} info" if each is Severity.INFO else counted(number, each) for number, each in of_severities)
    found = ", ".join(words) or "nothing found"
    found += " (shown with -v)" if counts[Severity.INFO] and not verbose else ""
    unchecked = f", {counted(len(review.unchecked), 'task')} not checked" if review.unchecked else ""
    accepted = f", {len(review.acknowledged)} acknowledged" if review.acknowledged else ""
    accepted += f", {len(review.baselined)} in the baseline" if review.baselined else ""
    looked_at = ", ".join(
        (
            counted(seen.pools, "pool"),
            counted(seen.tasks, "task"),
            counted(seen.services, "service"),
            *([counted(seen.runs, "scheduled or started run")] if seen.runs else ()),
        )
    )
    where = f"{counted(len(review.files), 'file')}{_of_worlds(review)}"
    return (
        f"{found}{unchecked}{accepted} in {where}; {looked_at} looked at"
        f"{'' if seen.has_gpus else ', no GPU known among them'}{skipped}"
    )


def _of_worlds(review: Report) -> str:
    """That directories were checked apart, where there are several."""
    return f", in {review.worlds} groups, each checked by itself" if review.worlds > 1 else ""


def _alike(findings: Iterable[Finding], *, verbose: bool) -> Iterable[list[Finding]]:
    """What is shown, each with what is the same in other places."""
    shown = [each for each in findings if each.rule != UNCHECKED and (verbose or each.severity is not Severity.INFO)]
    return grouped((_what(each), each) for each in shown).values()


def _what(finding: Finding) -> object:
    """What makes findings in several places one to a reader: the rule, the value or the words, and the fix."""
    if finding.parameter or not finding.fix:
        return id(finding)
    message = finding.message
    for name in sorted({finding.subject, _resource(finding)}, key=len):  # a run is called Runner[Run]
        message = re.sub(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", "", message)  # the names of its place
    return finding.rule, finding.severity, str(finding.value), message, finding.fix


def _at(finding: Finding) -> str:
    line = finding.origin.line if finding.origin else None
    return _resource(finding) if line is None else f"{_resource(finding)} (line {line})"


def _unchecked(findings: Sequence[Finding], width: int) -> Iterator[Line]:
    """What was not judged: a line for each task, as far as a reader wants to see them, and one for all that helps."""
    shown = findings[:_MOST_UNCHECKED]
    for each in shown:
        yield from pieces(_NOT_CHECKED, brief(each.message, MESSAGE), width, mark="warning")
    if len(findings) > len(shown):
        yield [(_NOT_CHECKED, "warning"), (f"and {len(findings) - len(shown)} more tasks", "")]
    yield from fix_lines(0, findings[0].fix if findings else "", width)


def _lines(finding: Finding, others: Sequence[Finding], width: int) -> Iterator[Line]:
    label = (f"{finding.severity:<{_WORD}}", str(finding.severity))
    head = [("    ", ""), label, (f"  {finding.rule:<6}  ", "aside")]
    yield from hanging(head, brief(finding.message, MESSAGE), width)
    yield from fix_lines(_INDENT, brief(finding.fix, MESSAGE), width)
    also = [_at(each) if _file(each) == _file(finding) else f"{_at(each)} of {_file(each)}" for each in others]
    yield from pieces(f"{' ' * _INDENT}also: ", and_list(also) if also else "", width)


def _table(values: ValueTable, width: int) -> Iterator[Line]:
    """What becomes of one thing with each value of a parameter, a line for all values that come to the same."""
    subject, parameter = brief(values.subject, LABEL), brief(values.parameter, LABEL)
    label, of_all = (
        f"{Severity.WARNING:<{_WORD}}",
        f"{_named(values.origin.file)}:{values.origin.line}  values of {parameter}",
    )
    if subject:
        yield [("    ", ""), (label, Severity.WARNING), (f"  {subject} with other values of {parameter}", "")]
    else:
        yield [(of_all, "title")]
    indent = 4 + _WORD + 2
    for finding, outcomes in values.alike:
        texts = (f"{brief(each.value)}{' (default)' if each.is_default else ''}" for each in outcomes)
        start = f"{and_list(texts)}: "
        first, *rest = wrapped(f"{start}{_outcome(finding, values, outcomes[0])}", width=width, indent=indent + 2)
        yield [(f"{' ' * indent}{first}", "")]
        yield from ([(f"{' ' * (indent + 2)}{each}", "")] for each in rest)


def _outcome(finding: Finding | None, values: ValueTable, first: Outcome) -> str:
    if finding is None:
        return "works"
    if first.is_else:
        return f"works but for {finding.rule} of {brief(finding.subject, LABEL)}"
    if finding.subject != values.subject:
        return f"{finding.rule}, see {brief(finding.subject, LABEL)}"
    fix = f"; fix: {brief(finding.fix, MESSAGE)}" if finding.fix else ""
    return f"{finding.rule} {brief(finding.message, MESSAGE)}{fix}"


def _heading(finding: Finding) -> str:
    origin = finding.origin
    if origin is None:
        return brief(finding.subject, LABEL)
    made_at = None if origin.source is None else f"{origin.source.file}:{origin.source.line}"
    elsewhere = finding.about is not None and finding.about.resource != origin.resource
    of_what = f"for {finding.subject}" if elsewhere else None
    places = (origin.property_name, of_what, origin.construct_path, made_at)
    details = [brief(each, LABEL) for each in places if each]
    return f"{brief(origin.resource, LABEL)} ({', '.join(details)})" if details else brief(origin.resource, LABEL)


def _file(finding: Finding) -> str:
    return _named(finding.origin.file if finding.origin else None)


def _where(finding: Finding) -> str:
    """File, line and column as terminals and editors open them."""
    origin = finding.origin
    numbers = () if origin is None or origin.line is None else (origin.line, origin.column)
    return ":".join([_file(finding), *(str(each) for each in numbers if each is not None)])


def _named(file: str | None) -> str:
    return "(stdin)" if file == "-" else file or "(no file)"


def _resource(finding: Finding) -> str:
    return brief(finding.origin.resource if finding.origin else finding.subject, LABEL)
