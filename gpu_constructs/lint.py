"""The rules as a rule pack of cfn-lint: findings with its line numbers, its formats and its way of ignoring them.

::

    cfn-lint template.yaml --append-rules gpu_constructs.lint
    cfn-lint --append-rules=gpu_constructs.lint --format sarif -- templates/*.yaml

``--append-rules`` takes directories and names of modules, and every word that follows it: what comes after it must
begin with a dash (https://github.com/aws-cloudformation/cfn-lint/blob/main/src/cfnlint/config.py). In ``.cfnlintrc``::

    append_rules: [gpu_constructs.lint]

Rule ``GPU060`` is ``E9560`` here, and ``W9560`` or ``I9560`` by its severity: cfn-lint leaves 9000 to 9999 to others,
and gives line 1 of a file of custom rules the id 9001
(https://github.com/aws-cloudformation/cfn-lint/blob/main/docs/custom_rules.md), so the first 500 are left to that file.
``E9500`` says that nothing was checked, because the template could not be read as CloudFormation reads it.
An error has its warning as well, for what goes wrong with another allowed value of a parameter only. cfn-lint shows
informational rules with ``--include-checks I``, and leaves out what ``--ignore-checks W9502`` or a resource's metadata
names; what is acknowledged under ``gpu-constructs`` is not reported either. Which tasks were not checked is said on
stderr as well, by cfn-lint's own logger. What ``gpu-constructs.yaml`` in the working directory says of instance types,
hosts and the region counts here too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from cfnlint.rules import CloudFormationLintRule, RuleMatch
from cfnlint.template import Template

from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import GpuConstructsError, brief
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding, Severity, all_rules
from gpu_constructs.rules.finding import with_fix

_FIRST = 9500
_LETTERS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.INFO: "I"}

_UNREAD = "GPU000"

# What cfn-lint itself logs with, on stderr: informational findings are only shown to those who ask for them.
_LOGGER = logging.getLogger("cfnlint")

# What cfn-lint assumes where no region is named, so it says nothing about where the template goes.
_DEFAULT_REGION = "us-east-1"

# One review for each template, whatever the number of rules that ask for it.
_REVIEWS: WeakKeyDictionary[Template, Mapping[str, Sequence[Finding]]] = WeakKeyDictionary()


def lint_id(rule: str, severity: Severity) -> str:
    """The id under which cfn-lint knows what a rule finds."""
    return f"{_LETTERS[severity]}{_FIRST + int(rule.removeprefix('GPU'))}"


class GpuRule(CloudFormationLintRule):  # type: ignore[misc] # cfn-lint ships no types
    """What one rule finds with one severity; cfn-lint makes one object of each subclass in this module."""

    tags = ["gpu", "ecs"]  # noqa: RUF012 - as cfn-lint declares it

    def match(self, cfn: Template) -> list[RuleMatch]:
        """What is wrong in a template."""
        if cfn not in _REVIEWS:
            findings = dict.fromkeys(_reviewed_or_not(cfn))
            _REVIEWS[cfn] = grouped((lint_id(each.rule, each.severity), each) for each in findings)
        return [
            RuleMatch(_path(_place(finding, cfn.template), cfn.template), f"{finding.rule}: {with_fix(finding)}")
            for finding in _REVIEWS[cfn].get(self.id, ())
        ]


def _reviewed_or_not(cfn: Template) -> list[Finding]:
    """The findings, or the one that says why there are none: no template may look checked that was not."""
    try:
        return list(_reviewed(cfn))
    except GpuConstructsError as error:
        why = str(error).removeprefix("template: ")
    except Exception as error:  # noqa: BLE001 - cfn-lint would say it once for each rule
        why = f"{type(error).__name__} {error}".strip()
    message = f"no GPU was checked, the template cannot be read: {brief(why, MESSAGE)}"
    return [Finding(rule=_UNREAD, severity=Severity.ERROR, subject="template", message=message)]


def _reviewed(cfn: Template) -> Iterator[Finding]:
    """Findings with the values of every parameter file that cfn-lint was given; with the defaults if there is none."""
    configuration = found_configuration()
    named = cfn.regions[0] if len(cfn.regions) == 1 and cfn.regions[0] != _DEFAULT_REGION else None
    for parameters in [each.parameters for each in cfn.context.parameter_sets or ()] or [None]:
        with for_one_check(configuration.instance_types):
            report = check_files(
                [cfn.template],
                parameters=_texts(parameters),
                region=named or configuration.region,
                hosts=configuration.hosts,
                partial=configuration.partial,
            )
            if report.unchecked_line:
                _LOGGER.warning("%s: gpu-constructs: %s", cfn.filename, report.unchecked_line)
            for note in report.notes:
                _LOGGER.warning("%s: gpu-constructs: %s", cfn.filename, note)
            yield from report.findings


def _texts(parameters: Mapping[str, object] | None) -> dict[str, str] | None:
    if parameters is None:
        return None
    return {
        name: ",".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in parameters.items()
    }


def _place(finding: Finding, template: Any) -> Origin | None:  # noqa: ANN401 - YAML
    """Where the change has to be made; the resource that the finding is about where that one ignores rules."""
    about = finding.about
    here: Any = template if about is not None else None
    for step in ("Resources", "" if about is None else about.resource, "Metadata", "cfn-lint"):
        here = here[step] if _leads_on(here, step) else None
    return about if here else finding.origin


def _path(origin: Origin | None, template: Any) -> list[str | int]:  # noqa: ANN401 - YAML
    """As much of the way to a value as the template has: a value may come from a parameter, or from nowhere."""
    if origin is None:
        return []
    path: list[str | int] = []
    here = template
    for step in origin.path or ("Resources", origin.resource):
        if not _leads_on(here, step):
            break
        here = here[step]
        path.append(step)
    return path


def _leads_on(value: object, step: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and 0 <= step < len(value)
    return isinstance(value, dict) and step in value


def _class(rule: str, severity: Severity, question: str, because: str, source: str) -> type[GpuRule]:
    name = lint_id(rule, severity)
    described = {
        "id": name,
        "shortdesc": f"{rule}: {question}",
        "description": f"{because[:1].upper()}{because[1:]}",
        "source_url": source if source.startswith("https://") else "",
        "__doc__": f"``{rule}`` as {severity}.",
        "__module__": __name__,
    }
    return type(name, (GpuRule,), described)


def _classes() -> Iterator[type[GpuRule]]:
    yield _class(
        _UNREAD,
        Severity.ERROR,
        "can the template be read",
        "what is not read is not checked, and silence would look like a good template",
        "",
    )
    for each in all_rules():
        for severity in (each.severity, *([Severity.WARNING] if each.severity is Severity.ERROR else [])):
            yield _class(each.id, severity, each.question, each.reason, each.source)


# cfn-lint looks for classes among the names of the module.
globals().update({each.id: each for each in _classes()})
