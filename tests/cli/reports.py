"""Reports that tests of the output formats share."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.check.acknowledgements import Acknowledged
from gpu_constructs.check.other_values import Outcome, ValueTable
from gpu_constructs.check.report import Report
from gpu_constructs.cli.formats import Checked, written
from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    Origin,
    Pool,
    ResourceRequirement,
    SourceLine,
    Task,
    Workload,
)
from gpu_constructs.rules import Finding, Severity

POOL = Pool(
    name="Hosts",
    instance_types=(instance_type("g6.xlarge"),),
    image=UNKNOWN,
    min_instances=0,
    max_instances=4,
)
TASK = Task(name="Chat", containers=(Container(name="vllm", requirements=(ResourceRequirement.gpus(1),)),))
HERE = Origin(
    resource="Hosts",
    file="infra/app one.json",
    path=("Resources", "Hosts", "Properties", "MaxSize"),
    line=17,
    column=9,
    construct_path="Demo/Hosts",
)
MADE = replace(HERE, source=SourceLine(file="app/stack.ts", line=25, column=4))
FOUND = Finding(
    rule="GPU002",
    severity=Severity.WARNING,
    subject="Hosts",
    message="image al2023-gpu follows the newest release",
    fix="pin a release",
    origin=HERE,
)
GRAVE = replace(FOUND, rule="GPU009", severity=Severity.ERROR, message="8 GPUs are asked, g6.xlarge has 1", fix="")
NOWHERE = replace(FOUND, rule="GPU013", severity=Severity.INFO, origin=None, fix="")
REPORT = Report(
    fleet=Fleet(pools=(POOL,), tasks=(TASK,), workloads=(Workload(name="Service", task=TASK),)),
    findings=(NOWHERE, GRAVE, FOUND),
    acknowledged=(Acknowledged(finding=replace(FOUND, rule="GPU003"), reason="until spring"),),
    files=("infra/app one.json",),
)
REPORT_OF_AN_APP = replace(REPORT, findings=(*REPORT.findings, replace(FOUND, origin=MADE)))
NOTHING = Report(fleet=Fleet(), findings=(), files=("a.json",))


PLACE = Origin(resource="Parameters/Size", file="infra/app one.json", line=3)
OTHER = replace(FOUND, message="with Size=large: too large", fix="", origin=PLACE, parameter="Size")
TABLE = ValueTable(
    parameter="Size",
    subject="Hosts",
    origin=PLACE,
    outcomes=(
        Outcome(value="small", is_default=True),
        Outcome(value="large", is_default=False, finding=replace(GRAVE, message="too large", fix="less")),
        Outcome(value="huge", is_default=False, finding=replace(GRAVE, message="far too large")),
        Outcome(value="odd", is_default=False, finding=replace(GRAVE, subject="Service")),
    ),
)
CHOSEN = replace(REPORT, findings=(OTHER,), acknowledged=(), values=(TABLE,))


def in_form(name: str, report: Report, *, ignored: tuple[str, ...] = (), verbose: bool = False) -> str:
    """A report in a form for machines, of a check that fails at errors."""
    return written(
        name,
        Checked(review=report, fails=lambda each: each.severity is Severity.ERROR, ignored=ignored, verbose=verbose),
    )
