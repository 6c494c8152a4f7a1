"""Many small cases as few stacks: synthesized once, then linted, nagged, and deployed and destroyed in one process.

built = build(tmp_path, [Case("g6, spot", lambda cluster, name: cluster.add_capacity(name, …)), …])
assert findings(built) == []                # cdk-nag's and this library's own
assert lint(built) == []                    # cfn-lint in all of REGIONS
with local() as cloud:
    deploy_and_destroy(cloud, built)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
from aws_cdk import aws_ec2 as ec2

from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, acknowledge_aws_solutions
from tests.linting import linted
from tests.matrix.case import Case
from tests.matrix.known import KNOWN_WARNINGS, NOT_OFFERED
from tests.matrix.tasks import EVERYTHING
from tests.preflight import preflighted
from tests.synthesis import Site, app_in

__all__ = ["PROVIDERS_OF_A_CLUSTER", "REGIONS", "Built", "build", "deploy_and_destroy", "findings", "lint"]

REGIONS = ("us-east-1", "us-west-2", "eu-west-1")

PROVIDERS_OF_A_CLUSTER = 20
"""Of one strategy (CreateCluster of the ECS API, botocore 1.44.5); CDK itself stops at 500 resources of a stack."""

_REFUSED_TYPE = re.compile(r"'(?P<type>[^']+)' is not one of .* in '(?P<region>[^']+)'", re.DOTALL)

_NO_FLOWS = "the network is there for the matrix alone; flow logs belong to a network that stays"


@dataclass(frozen=True, slots=True)
class Built:
    """A cloud assembly with all cases in it.

    Args:
        folder: Where it is.
        names: Names of the cases by construct id.
        stacks: Ids of its stacks.
        deployed: Those that the emulator takes.
    """

    folder: Path
    names: Mapping[str, str]
    stacks: tuple[str, ...]
    deployed: tuple[str, ...]

    def template(self, stack: str) -> dict[str, Any]:
        """The template of one stack."""
        template: dict[str, Any] = json.loads((self.folder / f"{stack}.template.json").read_text())
        return template

    def named(self, text: str) -> str:
        """The text, with the name of a case wherever its construct id is."""
        return re.sub(r"Case\d+(?!\d)", lambda found: f"{found[0]} ({self.names.get(found[0], '?')})", text)


def build(folder: Path, cases: Sequence[Case], *, nagged: bool = True) -> Built:
    """Synthesizes all cases in one app, with cdk-nag and this library's own check as plugins.

    Every stack has a network of two Availability Zones and one cluster. The flags are those of a new app.

    Args:
        folder: Where the cloud assembly goes.
        cases: What to build.
        nagged: Whether cdk-nag is asked, which takes most of the time.

    Raises:
        AssertionError: cdk-nag or this library's own check has an error.
    """
    app = app_in(folder, Site.recommended_context())
    if nagged:
        cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks())
        acknowledge_aws_solutions(app)
    names: dict[str, str] = {}
    stacks: dict[str, bool] = {}
    for batch in (*_batches(cases, is_deployed=True), *_batches(cases, is_deployed=False)):
        stack = cdk.Stack(app, f"matrix-{len(stacks)}")
        stacks[stack.node.id] = batch[0].is_deployed
        vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=1, restrict_default_security_group=False)
        cluster = GpuCluster(stack, "Cluster", vpc=vpc)
        for case in batch:
            name = f"Case{cases.index(case)}"
            names[name] = case.name
            case.define(cluster, name)
        cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.Validations.of(vpc).acknowledge(cdk.Acknowledgment(id="AwsSolutions::AwsSolutions-VPC7", reason=_NO_FLOWS))
    built = Built(folder, names, tuple(stacks), tuple(name for name, is_deployed in stacks.items() if is_deployed))
    try:
        app.synth()
    except RuntimeError as error:
        raise AssertionError("\n".join(findings(built) or [str(error)])) from None
    return built


def findings(built: Built) -> list[str]:
    """What cdk-nag and this library's own check say, apart from warnings that are known.

    With every combination, what cdk-preflight says too, whose rules take seconds to compile.
    """
    report = built.folder / "validation-report.json"
    plugins = json.loads(report.read_text())["pluginReports"] if report.exists() else []
    return [
        built.named(f"{plugin['pluginName']} {found['ruleName']} {found['description']} {where}")
        for plugin in plugins
        for found in plugin["violations"]
        for where in [[str(each.get("constructPath")) for each in found.get("violatingConstructs", ())]]
        if found["ruleName"] not in KNOWN_WARNINGS or found.get("severity") != "warning"
    ] + [built.named(each) for each in preflighted(built.folder.glob("*.template.json") if EVERYTHING else ())]


def lint(built: Built, regions: Sequence[str] = REGIONS, *, in_turn: bool = False) -> list[str]:
    """What cfn-lint says in these regions, warnings included, apart from types that are known not to be offered.

    Resources that differ only in their names are linted once, unless ``MATRIX=all``.

    Args:
        built: The stacks.
        regions: Where they may be deployed.
        in_turn: Whether each stack is linted in one of the regions only.
    """
    return [
        built.named(f"{stack} {found.rule.id} {_shortened(found.message)} at {found.path_string}")
        for number, stack in enumerate(built.stacks)
        for found in linted(_shapes(built.template(stack)), *([regions[number % len(regions)]] if in_turn else regions))
        if not (found.rule.id == "E3628" and _is_known(found.message))
    ]


def _shapes(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The template with one of those resources that differ in names alone; with every combination, all of it."""
    if EVERYTHING:
        return template
    resources = template["Resources"]
    ids = re.compile(rf"\b(?:{'|'.join(map(re.escape, resources))})\b")
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    for logical_id, each in resources.items():
        shape = _shape(each, ids, resources)
        # A cluster names each of its providers once.
        same[logical_id] = first.setdefault(logical_id if "CapacityProvider" in each["Type"] else shape, logical_id)
    kept = {**template, "Resources": {name: each for name, each in resources.items() if same[name] == name}}
    shapes: Mapping[str, Any] = json.loads(ids.sub(lambda found: same[found[0]], json.dumps(kept)))
    return shapes


def _shape(resource: Mapping[str, Any], ids: re.Pattern[str], resources: Mapping[str, Any]) -> str:
    """A resource as text, with what it refers to by type and number: the same subnet twice is not two subnets."""
    seen: dict[str, int] = {}

    def kind(found: re.Match[str]) -> str:
        return f"{resources[found[0]]['Type']} {seen.setdefault(found[0], len(seen))}"

    return ids.sub(kind, json.dumps(resource))


def deploy_and_destroy(cloud: Local, built: Built, meanwhile: Callable[[str], object] = lambda cluster: None) -> None:
    """Creates and deletes one stack after the other, those that the emulator takes, and leaves nothing.

    Args:
        cloud: The emulator; its switches are for the caller to set.
        built: The stacks.
        meanwhile: What happens while a stack stands; gets the name of its cluster.

    Raises:
        NotDeployedError: A stack is not created or not deleted.
        AssertionError: Something is left.
    """
    before = cloud.inventory()
    for name in built.deployed:
        stack = cloud.deploy(built.template(name), name)
        meanwhile(stack.outputs["ClusterName"])
        cloud.destroy(stack)
    assert cloud.inventory() == before


def _batches(cases: Sequence[Case], *, is_deployed: bool) -> Iterator[list[Case]]:
    batch: list[Case] = []
    for case in cases:
        if case.is_deployed is not is_deployed:
            continue
        if batch and sum(each.providers for each in batch) + case.providers > PROVIDERS_OF_A_CLUSTER:
            yield batch
            batch = []
        batch.append(case)
    if batch:
        yield batch


def _is_known(message: str) -> bool:
    return any(found["type"] in NOT_OFFERED.get(found["region"], {}) for found in _REFUSED_TYPE.finditer(message))


def _shortened(message: str) -> str:
    found = _REFUSED_TYPE.search(message)
    return f"{found['type']} is not offered in {found['region']}" if found else message[:300]
