"""The check at synth: every template of an app is read back and put to the rules, whoever made its constructs.

It is a validation plugin of CDK's own, so that an error fails ``cdk synth``, findings are located at the construct, and
a warning that is meant is acknowledged by id with a reason::

    Validations.of(capacity).acknowledge(Acknowledgment(id="gpu-constructs::GPU001", reason="our account has p3"))

https://docs.aws.amazon.com/cdk/v2/guide/policy-validation-synthesis.html
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from numbers import Real
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from constructs import IConstruct

from gpu_constructs.cdk.calls import written_if_refused
from gpu_constructs.cdk.kinds import names_checked
from gpu_constructs.cdk.refusal import ARGUMENTS
from gpu_constructs.errors import InvalidValueError, __version__, shown, unexpected
from gpu_constructs.fleet import METADATA_KEY
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import in_arguments
from gpu_constructs.rules.other_ids import OfConstructs

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
        self.errors: list[str] = []
        self._budget: float | None = None

    @staticmethod
    def add_to(scope: IConstruct) -> None:
        """Checks the whole app of a scope at every synth; once, however often it is called.

        Args:
            scope: The app, or anything in it.
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
        from gpu_constructs.cdk.synth_report import rule_ids  # noqa: PLC0415 - for apps that are checked

        return rule_ids()

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Called by CDK when the templates are written.

        Args:
            context: Where the templates are.
        """
        from gpu_constructs.cdk.synth_report import report_of  # noqa: PLC0415 - for apps that are checked

        report, lines = report_of(self._directories(context), context, self._budget)
        errors = (each for each in report.violations if each.severity == Severity.ERROR.value)
        self.errors = [f"ERROR {each.description} ({METADATA_KEY}::{each.rule_name})" for each in errors]
        for each in lines:
            if each and not os.environ.get(_QUIET):
                sys.stderr.write(f"{each}\n")
        return report

    def _directories(self, context: cdk.IPolicyValidationContext) -> list[str]:
        """A whole assembly says more than its templates: regions, stack names, what was acknowledged where."""
        if self._directory is not None:
            return [self._directory]
        folders = {Path(each).parent for each in context.template_paths}
        return [str(each) for each in sorted(folders) if not any(other in each.parents for other in folders)]


def check_of(scope: IConstruct, *, instead: str) -> GpuChecks:
    """The check of the app of a scope, which is added if it has none."""
    if not hasattr(type(scope), "node"):
        raise unexpected("scope", scope, "the app or a construct in it", fix=instead)
    # Each `.` into CDK is a question to Node, and the stage around most scopes is the app itself.
    stage = cdk.Stage.of(scope)
    root = stage if isinstance(stage, cdk.App) else scope.node.root
    if root not in _CHECKED:
        _CHECKED[root] = GpuChecks(directory=root.outdir if isinstance(root, cdk.App) else None)
        cdk.Validations.of(root).add_plugins(_CHECKED[root])
        if isinstance(root, cdk.App) and type(root).synth is cdk.App.synth:
            _judge(root, _CHECKED[root])
    return _CHECKED[root]


def _judge(app: cdk.App, checks: GpuChecks) -> None:
    """Has ``cdk synth`` fail at what is wrong in stages too, as it does for the stages of CDK Pipelines.

    Of an app whose stacks are in stages it reports nothing by itself and exits with 0, unless they are synthesized with
    ``validate_on_synthesis``. ``cdk deploy`` and all others look at the stacks that they are called for.
    """
    synth = app.synth

    def synth_and_fail(**options: Any) -> object:  # noqa: ANN401 - what CDK takes
        if any(isinstance(each, cdk.Stage) for each in app.node.children):
            options.setdefault("validate_on_synthesis", True)
        written = synth(**options)
        # Before 2.262 aws-cdk-lib prints the report and tells its own Node process alone.
        if checks.errors and not hasattr(cdk, "PolicyValidationStack"):
            raise RuntimeError("\n".join(("ValidationFailed", *checks.errors)))
        return written

    setattr(app, "synth", synth_and_fail)  # noqa: B010 - a method, of this app alone


def announce(construct: IConstruct, findings: Iterable[Finding]) -> None:
    """Shows at the construct what no template holds; acknowledged like everything else."""
    for each in findings:
        said = (in_arguments(text, ARGUMENTS) for text in (each.message, each.fix) if text)
        text = "; ".join(said)
        if each.severity is Severity.INFO:
            cdk.Annotations.of(construct).add_info_v2(f"{METADATA_KEY}::{each.rule}", text)
        else:
            _warn(construct, each.rule, text)


def warn(construct: IConstruct, name: OfConstructs, text: str) -> None:
    """Warns at a construct of what no rule finds; acknowledged as ``gpu-constructs::`` and the name."""
    _warn(construct, name, text)


def _warn(construct: IConstruct, name: str, text: str) -> None:
    """Warns, unless the app accepts it already: CDK asks only what has a path (``searchPaths`` of annotations.js)."""
    id_, notes = f"{METADATA_KEY}::{name}", construct.node.root.node.metadata
    if not any(each.type == "aws:cdk:acknowledged-rules" and id_ in each.data for each in notes):
        cdk.Validations.of(construct).add_warning(id_, text)


class GpuBudget:
    """What the hosts of an app may cost an hour, at MaxSize of every capacity.

    ::

        GpuBudget.add_to(app, usd_per_hour=40)

    Above it, `cdk synth` fails. Where it is not known whether the hosts stay within it, there is a warning, which is
    acknowledged as ``gpu-constructs::budget-not-known``. Prices are on-demand list prices with their date; a Spot host
    counts as an on-demand one, and hosts in a Capacity Block are paid in advance and do not count. `GpuChecks` is added
    with it.
    """

    @staticmethod
    @written_if_refused
    @names_checked
    def add_to(scope: IConstruct, *, usd_per_hour: float) -> None:
        """Holds all hosts of the app of a scope against a budget at every synth.

        Args:
            scope: The app, or anything in it.
            usd_per_hour: US dollars an hour. The lowest counts where there are several.
        """
        amount = _amount(usd_per_hour)
        if not math.isfinite(amount) or amount < 0:
            raise InvalidValueError(
                f"{shown(usd_per_hour)} is not a budget",
                argument="usd_per_hour",
                value=usd_per_hour,
                allowed="US dollars an hour, a number of 0 or more that is known at synth",
            )
        check_of(scope, instead="GpuBudget.add_to(app, usd_per_hour=40)").hold(amount)


def _amount(usd_per_hour: object) -> float:
    """A number as it can be added up; not a number for anything else."""
    if not isinstance(usd_per_hour, Real) or isinstance(usd_per_hour, bool):
        return math.nan
    try:
        return float(usd_per_hour)
    except OverflowError:
        return math.inf
