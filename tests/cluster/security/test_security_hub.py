"""The controls of Security Hub for ECS, asked of what an app comes to; the page says of each what comes out here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs

from gpu_constructs import GpuService, HostScaling, ModelCache, ModelServer
from tests.synthesis import ROOT, Properties, Site

_PAGE = (ROOT / "docs" / "security.md").read_text()
_STATES = dict(re.findall(r"^\| (ECS\.\d+) \|[^|]*\| ([^|]+) \|", _PAGE, re.MULTILINE))
_CREDENTIALS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "ECS_ENGINE_AUTH_DATA"}

Ask = Callable[[Properties], bool]


def containers(holds: Ask) -> Ask:
    return lambda task: all(map(holds, task["ContainerDefinitions"]))


def is_tagged(properties: Properties) -> bool:
    return bool(properties.get("Tags"))


# https://docs.aws.amazon.com/securityhub/latest/userguide/ecs-controls.html
CONTROLS: Mapping[str, tuple[str, Ask]] = {
    "ECS.2": ("Service", lambda service: "ENABLED" not in str(service.get("NetworkConfiguration"))),
    "ECS.3": ("TaskDefinition", lambda task: task.get("PidMode") != "host"),
    "ECS.4": ("TaskDefinition", containers(lambda each: each.get("Privileged") is not True)),
    "ECS.5": ("TaskDefinition", containers(lambda each: each.get("ReadonlyRootFilesystem") is True)),
    "ECS.8": (
        "TaskDefinition",
        containers(lambda each: _CREDENTIALS.isdisjoint(one["Name"] for one in each.get("Environment", ()))),
    ),
    "ECS.9": ("TaskDefinition", containers(lambda each: bool(each.get("LogConfiguration", {}).get("LogDriver")))),
    "ECS.12": (
        "Cluster",
        lambda cluster: {"Name": "containerInsights", "Value": "enhanced"} in cluster["ClusterSettings"],
    ),
    "ECS.13": ("Service", is_tagged),
    "ECS.14": ("Cluster", is_tagged),
    "ECS.15": ("TaskDefinition", is_tagged),
    "ECS.17": ("TaskDefinition", lambda task: task.get("NetworkMode") != "host"),
    "ECS.18": (
        "TaskDefinition",
        lambda task: all(
            each["EFSVolumeConfiguration"]["TransitEncryption"] == "ENABLED"
            for each in task["Volumes"]
            if "EFSVolumeConfiguration" in each
        ),
    ),
    "ECS.19": (
        "CapacityProvider",
        lambda provider: provider["AutoScalingGroupProvider"].get("ManagedTerminationProtection") == "ENABLED",
    ),
    "ECS.20": ("TaskDefinition", containers(lambda each: each.get("User") not in {None, "0", "root"})),
}


def serve(site: Site, *, scaling: HostScaling | None = None, **options: Any) -> None:
    l4 = site.capacity("g6.xlarge", scaling=scaling)
    files = efs.FileSystem.from_file_system_attributes(
        site.stack,
        "Files",
        file_system_id="fs-1",
        security_group=ec2.SecurityGroup.from_security_group_id(site.stack, "OfFiles", "sg-1"),
    )
    task = site.task(l4)
    task.add_container("sidecar", image=site.image, memory_limit_mib=64, **options)
    task.add_model_server("vllm", server=ModelServer.vllm(model="m"), cache=ModelCache.efs(files), **options)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)


def states(site: Site) -> dict[str, str]:
    kinds = {kind: site.properties(f"AWS::ECS::{kind}") for kind, _ in CONTROLS.values()}
    return {
        name: "passes" if kinds[kind] and all(map(holds, kinds[kind])) else "fails"
        for name, (kind, holds) in CONTROLS.items()
    }


def test_the_page_says_what_comes_out_by_default(site: Site) -> None:
    serve(site)
    assert states(site) == {name: state for name, state in _STATES.items() if state != "does not apply"}


def test_what_the_page_names_makes_every_control_pass(site: Site) -> None:
    cdk.Tags.of(site.app).add("team", "chat")
    serve(site, scaling=HostScaling(managed_termination_protection=True), readonly_root_filesystem=True, user="1000")
    assert set(states(site).values()) == {"passes"}


def test_the_page_has_every_control() -> None:
    # The page has no ECS.6, 7 and 11, and ECS.1 is retired.
    assert sorted(_STATES) == sorted(f"ECS.{number}" for number in (2, 3, 4, 5, 8, 9, 10, *range(12, 22)))
