"""What synth says of an app: its templates are read and judged, and its hosts held against a budget.

Only apps that are checked load it, when their templates are written.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from constructs import IConstruct

from gpu_constructs.cdk.refusal import ARGUMENTS
from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.in_words import BUDGET, BUDGET_NOT_KNOWN, over_budget, summary
from gpu_constructs.check.report import report_in
from gpu_constructs.fleet import METADATA_KEY, Origin
from gpu_constructs.rules import Finding, Severity, all_rules
from gpu_constructs.rules.files.unread_input import understood
from gpu_constructs.rules.finding import in_arguments
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.template import UnreadableError


def rule_ids() -> list[str]:
    """Ids of all rules, and of the budget."""
    return [*(each.id for each in all_rules()), BUDGET, BUDGET_NOT_KNOWN]


def report_of(
    directories: Sequence[str], context: cdk.IPolicyValidationContext, budget: float | None
) -> tuple[cdk.PolicyValidationPluginReport, tuple[str, ...]]:
    """What is found in the templates of an app, and lines about hosts, prices and what was not checked."""
    # What needs an answer, a part that was not understood, and in one line what was not checked.
    kept = {understood.id, UNCHECKED}
    report = report_in(directories, rules=lambda each: each.severity is not Severity.INFO or each.id in kept)
    notes = (*([report.unchecked_line] if report.unchecked_line else []), *report.notes)
    found = plan(report.fleet)
    lines = tuple(f"{METADATA_KEY}: {each}" for each in (*notes, *summary(found)))
    # aws-cdk-lib names the construct of a template's stack from 2.262 on.
    stacks = getattr(context, "stack_templates", ()) if report.unreadable else ()  # each is several calls to Node
    paths = {each.template_path: each.stack_construct_path for each in stacks}
    unread = (_unread(each, paths.get(each.file)) for each in report.unreadable)
    findings = (*report.findings, *unread, *(() if budget is None else over_budget(found, budget)))
    violations = [_violation(each, context.app_construct) for each in findings if each.rule != UNCHECKED]
    success = not any(each.severity is Severity.ERROR for each in findings)
    return cdk.PolicyValidationPluginReport(success=success, violations=violations), lines


def _violation(finding: Finding, app: IConstruct) -> cdk.PolicyViolation:
    origin = finding.origin
    words = ARGUMENTS if _is_ours(app, origin) else {}
    return cdk.PolicyViolation(
        rule_name=finding.rule,
        description=in_arguments(finding.message, words),
        fix=in_arguments(finding.fix, words) or None,
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


def _is_ours(app: IConstruct, origin: Origin | None) -> bool:
    """Whether a construct of this library made what a finding points at, so that its user wrote our arguments."""
    here: IConstruct | None = app.node.root
    for each in ((origin and origin.construct_path) or "").split("/"):
        here = None if here is None else here.node.try_find_child(each)
        if any(kind.__module__.startswith("gpu_constructs.") for kind in type(here).__mro__):
            return True
    return False


def _unread(error: UnreadableError, construct_path: str | None) -> Finding:
    origin = Origin(resource="", file=error.file, construct_path=construct_path)
    text = f"the template was not checked: {error}"
    return Finding(rule=understood.id, severity=Severity.WARNING, subject="template", message=text, origin=origin)
