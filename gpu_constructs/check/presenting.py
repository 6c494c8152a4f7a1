"""How a finding is told: where it is changed, once for what is alike, the most serious first, in words of its file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace

from gpu_constructs.check.other_values import place
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding
from gpu_constructs.rules.finding import Text, Word, and_list, parts_of
from gpu_constructs.template import Places, Stacks


def located(finding: Finding, places: Places) -> Finding:
    """A finding at the place where it is changed."""
    if finding.origin is None:
        return finding
    at = places.of(finding.origin, finding.changes, finding.value)
    return replace(finding, origin=at, about=finding.about or finding.origin)


def once_a_parameter(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Of what a rule says of the value of one parameter, or twice of one place, the first, with the others' names."""

    def said(each: Finding) -> Hashable:
        origin = each.origin
        if each.parameter or origin is None:
            return id(each)
        words = "" if origin.path[:1] == ("Parameters",) else each.message
        return each.rule, each.severity, origin.file, origin.path, each.fix, words

    for first, *others in grouped((said(each), each) for each in findings).values():
        names = [each for each in dict.fromkeys(each.subject for each in others) if each not in first.message]
        also = f" (also of {and_list(names)})" if names else ""
        yield replace(first, message=Text(first.message, also)) if also else first


def in_row(finding: Finding, rows: Mapping[tuple[Origin, str, str], Origin]) -> Finding:
    """What only another value brings, where the table of the values is."""
    if finding.origin is None or not finding.parameter:
        return finding
    return replace(finding, origin=rows.get((finding.origin, finding.parameter, finding.subject), finding.origin))


def order(finding: Finding) -> tuple[int, str, int, str, str]:
    """The most serious first, and then by file and line of what is shown."""
    origin = finding.origin
    _, _, resource, file = place(finding)
    return finding.severity.rank, file or "", 0 if origin is None else origin.line or 0, resource, finding.rule


def in_words_of_file(finding: Finding, stacks: Stacks) -> Finding:
    """A finding in the words of its file: Terraform has arguments, and requests have no capitals."""
    about = finding.about or finding.origin
    of_file = None if about is None or about.file is None else stacks.words.get(about.file)
    if about is None or (of_file is None and all(each.origin.file != about.file for each in stacks.tasks)):
        return finding
    from gpu_constructs.template.terraform.words import in_request  # noqa: PLC0415 - most files are templates

    say, resource = of_file or in_request, (finding.origin or about).resource

    def said(text: str) -> str:
        return "".join(say(part, resource, isinstance(part, Word)) for part in parts_of(text))

    message, fix, allowed = map(said, (finding.message, finding.fix, finding.allowed))
    ways = () if of_file else tuple(replace(each, text=said(each.text)) for each in finding.ways)
    return replace(finding, message=message, fix=fix, allowed=allowed, ways=ways, otherwise="")
