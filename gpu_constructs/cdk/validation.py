"""The check at synth: every template of an app is read back and put to the rules, whoever made its constructs.

It is a validation plugin of CDK's own, so that an error fails ``cdk synth``, findings are located at the construct, and
a warning that is meant is acknowledged by id with a reason::

    Validations.of(capacity).acknowledge(Acknowledgment(id="gpu-constructs::GPU001", reason="our account has p3"))

https://docs.aws.amazon.com/cdk/v2/guide/policy-validation-synthesis.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from constructs import IConstruct

from gpu_constructs import __version__
from gpu_constructs.checking.report import check_files, report_in
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import METADATA_KEY, Fleet, Origin
from gpu_constructs.planning import plan
from gpu_constructs.planning.budget_verdict import BUDGET, BUDGET_NOT_KNOWN, findings_of, verdict
from gpu_constructs.planning.in_words import summary
from gpu_constructs.rules import Finding, Rule, Severity, catalogue
from gpu_constructs.rules.files.unread_input import understood
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.template import UnreadableError


def _is_shown(rule: Rule) -> bool:
    """What synth shows: what needs an answer, a part that was not understood, and in one line what was not checked."""
    return rule.severity is not Severity.INFO or rule.id in {understood.id, UNCHECKED}


_CHECKED: WeakKeyDictionary[IConstruct, GpuChecks] = WeakKeyDictionary()
"""The check of each app."""

_QUIET = "GPU_CONSTRUCTS_QUIET"
"""The environment variable that, with any value, keeps away the lines about hosts, prices and what was not checked."""


@jsii.implements(cdk.IPolicyValidationPlugin)
class GpuChecks:
    """Reads the templates of an app and reports what cannot work as errors and what may not as warnings.

    An app with a `GpuCluster` has it already. An app without one gets it with one line, which may be repeated::

        GpuChecks.add_to(app)

    Args:
        scope: None here; `add_to` takes one.
        directory: Where the app writes its cloud assembly; by default CDK is asked where its templates are.

    Raises:
        InvalidValueError: A scope was given.
    """

    def __init__(self, *scope: object, directory: str | None = None) -> None:
        if scope:
            raise InvalidValueError(
                f"the check takes no scope here, got {shown(scope[0])}",
                argument="scope",
                value=scope[0],
                fix="GpuChecks.add_to(app)",
            )
        self._directory = directory
        self._budget: float | None = None

    @staticmethod
    def add_to(scope: IConstruct) -> None:
        """Checks the whole app of a scope at every synth; once, however often it is called.

        Args:
            scope: The app, or anything in it.

        Raises:
            InvalidValueError: `scope` is not a construct.
        """
        check_of(scope, instead="GpuChecks.add_to(app)")

    def hold(self, usd_per_hour: float) -> None:
        """Holds the hosts against a budget as well, see `GpuBudget`.

        Args:
            usd_per_hour: US dollars; a lower one that was given before stays.
        """
        self._budget = usd_per_hour if self._budget is None else min(self._budget, usd_per_hour)

    @property
    def name(self) -> str:
        """First half of the ids by which findings are acknowledged."""
        return METADATA_KEY

    @property
    def version(self) -> str:
        """Version of this library."""
        return __version__

    @property
    def rule_ids(self) -> list[str]:
        """Ids of all rules, and of the budget."""
        return [*(each.id for each in catalogue.RULES), BUDGET, BUDGET_NOT_KNOWN]

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Called by CDK when the templates are written.

        Args:
            context: Where the templates are.
        """
        try:
            report = report_in(self._directories(context), rules=_is_shown)
            if report.unchecked_line:
                _say(f"{METADATA_KEY}: {report.unchecked_line}")
            for note in report.notes:
                _say(f"{METADATA_KEY}: {note}")
            findings = (*report.findings, *self._planned(report.fleet))
        except UnreadableError:
            # One template that cannot be read keeps none of the others from being checked.
            findings = tuple(each for stack in context.stack_templates for each in _findings_of_one(stack))
        return cdk.PolicyValidationPluginReport(
            success=not any(each.severity is Severity.ERROR for each in findings),
            violations=[_violation(each) for each in findings if each.rule != UNCHECKED],
        )

    def _planned(self, fleet: Fleet) -> tuple[Finding, ...]:
        """What the hosts have against the budget; what they cost is said on stderr."""
        found = plan(fleet)
        _say(summary(found, start=f"{METADATA_KEY}: "))
        return () if self._budget is None else findings_of(verdict(found, self._budget))

    def _directories(self, context: cdk.IPolicyValidationContext) -> list[str]:
        """A whole assembly says more than its templates: regions, stack names, what was acknowledged where."""
        if self._directory is not None:
            return [self._directory]
        folders = {Path(each).parent for each in context.template_paths}
        return [str(each) for each in sorted(folders) if not any(other in each.parents for other in folders)]


def check_of(scope: IConstruct, *, instead: str) -> GpuChecks:
    """The check of the app of a scope, which is added if it has none.

    Raises:
        InvalidValueError: `scope` is not a construct.
    """
    if not hasattr(type(scope), "node"):
        raise InvalidValueError(
            f"expects the app or a construct in it, got {shown(scope)}", argument="scope", value=scope, fix=instead
        )
    # Each `.` into CDK is a question to Node, and the stage around most scopes is the app itself.
    stage = cdk.Stage.of(scope)
    root = stage if isinstance(stage, cdk.App) else scope.node.root
    if root not in _CHECKED:
        _CHECKED[root] = GpuChecks(directory=root.outdir if isinstance(root, cdk.App) else None)
        cdk.Validations.of(root).add_plugins(_CHECKED[root])
    return _CHECKED[root]


def _say(lines: str) -> None:
    if lines and not os.environ.get(_QUIET):
        sys.stderr.write(f"{lines}\n")


def announce(construct: IConstruct, findings: Iterable[Finding]) -> None:
    """Shows at the construct what no template holds; acknowledged like everything else."""
    for each in findings:
        text = f"{each.message}; {each.fix}" if each.fix else each.message
        if each.severity is Severity.INFO:
            cdk.Annotations.of(construct).add_info(text)
            continue
        cdk.Validations.of(construct).add_warning(f"{METADATA_KEY}::{each.rule}", text)


def _violation(finding: Finding) -> cdk.PolicyViolation:
    origin = finding.origin
    return cdk.PolicyViolation(
        rule_name=finding.rule,
        description=finding.message,
        fix=finding.fix or None,
        severity=finding.severity.value,
        violating_resources=[]
        if origin is None
        else [
            cdk.PolicyViolatingResource(
                resource_logical_id=origin.resource or None,
                construct_path=None if origin.resource else origin.construct_path,
                template_path=origin.file,
                locations=["/".join(map(str, origin.path[2:]))],
            )
        ],
    )


def _findings_of_one(stack: cdk.PolicyValidationStack) -> tuple[Finding, ...]:
    try:
        return check_files([stack.template_path], rules=_is_shown).findings
    except UnreadableError as error:
        origin = Origin(resource="", file=stack.template_path, construct_path=stack.stack_construct_path)
        text = f"the template was not checked: {error}"
        return (
            Finding(rule=understood.id, severity=Severity.WARNING, subject="template", message=text, origin=origin),
        )
