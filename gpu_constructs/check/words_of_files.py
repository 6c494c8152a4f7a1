"""What is found in a plan of Terraform, in the words of Terraform; rules name properties of CloudFormation."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.rules import Finding
from gpu_constructs.rules.words import Word, parts_of
from gpu_constructs.template import Stacks


def in_words_of_file(finding: Finding, stacks: Stacks) -> Finding:
    """A finding in the words of the file that it is about."""
    origin = finding.about or finding.origin
    say = None if origin is None or origin.file is None else stacks.words.get(origin.file)
    if say is None or origin is None:
        return finding
    resource = finding.origin.resource if finding.origin is not None else origin.resource

    def said(text: str) -> str:
        return "".join(say(each, resource, isinstance(each, Word)) for each in parts_of(text))

    return replace(
        finding,
        message=said(finding.message),
        fix=said(finding.fix),
        allowed=said(finding.allowed),
        ways=(),
        otherwise="",
    )
