"""cdk-preflight, most of whose rules are a deployment that AWS refused, over templates that are there already.

Its rules take three seconds to compile in each process and for each app: one app has all templates, and compiles once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import aws_cdk as cdk
import jsii
from cdk_preflight import Preflight

from tests.synthesis import app_in

__all__ = ["DOUBTED", "Doubt", "preflighted"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a rule that finds something is not right.

    Args:
        evidence: What AWS refused, from the rule's ``meta.yaml`` at https://github.com/badmintoncryer/cdk-preflight.
        but: Why that is not what was found.
    """

    evidence: str
    but: str


DOUBTED: Mapping[str, Doubt] = {
    "pf-ecs-container-memory-reservation": Doubt(
        evidence="2026-09-02 ap-northeast-1: Memory 256 with MemoryReservation 512",
        but="it takes a Memory that is not there for 0, as Rego does with to_number(null); ContainerDefinition of the "
        "ECS API: 'you must specify a non-zero integer for one or both of memory or memoryReservation'",
    ),
    "pf-ecs-host-network-host-port-mismatch": Doubt(
        evidence="2026-09-08 us-east-1: a HostPort that is not the ContainerPort",
        but="it takes a HostPort that is not there for 0; PortMapping of the ECS API: 'the hostPort can either be left "
        "blank or set to the same value as the containerPort'",
    ),
    "pf-ecs-svc-binpack-field": Doubt(
        evidence="2026-09-08 us-east-1: the field instanceId",
        but="it compares cpu and memory as they are spelled; CDK writes CPU and MEMORY for packed_by_cpu and "
        "packed_by_memory, and deploys both in its integ.placement-strategies",
    ),
}
"""Rules that stop what AWS takes, by id: what users of both exclude, see ``docs/checking.md``."""


def preflighted(templates: Iterable[Path]) -> list[str]:
    """What cdk-preflight finds in templates: the rule, the file, the resource, the message.

    Args:
        templates: Files as CDK writes them.
    """
    given = {f"Template{number}": each for number, each in enumerate(templates)}
    if not given:
        return []
    with TemporaryDirectory() as folder:
        app = app_in(Path(folder))
        # Some rules ask for the region.
        environment = cdk.Environment(account="123456789012", region="us-east-1")
        for name in given:
            cdk.Stack(app, name, env=environment)
        cdk.Validations.of(app).add_plugins(_Exchange(given))
        Preflight.apply(app)
        with suppress(RuntimeError):  # it says so, and the report says what
            app.synth()
        report = json.loads(Path(folder, "validation-report.json").read_text())
    return [
        f"{each['ruleName']} {given[where['templatePath'].split('.')[0]]} {where['logicalId']}: {each['description']}"
        for plugin in report["pluginReports"]
        for each in plugin["violations"]
        for where in (found.get("cloudFormationResource") for found in each["violatingConstructs"])
        if where is not None  # a rule of a whole app
    ]


@jsii.implements(cdk.IPolicyValidationPlugin)
class _Exchange:
    """Puts the given templates where those of empty stacks are, before the next plugin reads them."""

    def __init__(self, given: Mapping[str, Path]) -> None:
        self._given = given

    @property
    def name(self) -> str:
        return "exchange"

    @property
    def version(self) -> None:
        return None

    @property
    def rule_ids(self) -> None:
        return None

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        for path in context.template_paths:
            shutil.copyfile(self._given[Path(path).name.split(".")[0]], path)
        return cdk.PolicyValidationPluginReport(success=True, violations=[])
