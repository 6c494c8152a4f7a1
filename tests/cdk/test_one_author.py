"""What an error rule can decide about one pool, task or workload, a constructor refuses with the id of that rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    GpuCluster,
    GpuConstructsError,
    GpuMachineImage,
    GpuService,
    GpuShare,
    GpuTaskDefinition,
    HostNetwork,
    HostScaling,
    Purchase,
    WarmHosts,
)
from gpu_constructs.facts import image
from gpu_constructs.fleet import HostImage, Pool, Task, Workload
from gpu_constructs.rules import Severity, all_rules
from gpu_constructs.tasks.task_target import Capacity
from tests.jobs.batch.queues import job, queue
from tests.synthesis import Ground, Site

_IMAGE = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
_SHARE = GpuShare(memory_mib=512)
_EFA = HostNetwork.efa()


def _two(site: Site, first: Any, second: Any, *types: str) -> None:
    task = site.task(site.capacity(*types)) if types else site.task()
    task.add_gpu_container("a", image=_IMAGE, gpus=first, cpu=512, memory_mib=512)
    task.add_gpu_container("b", image=_IMAGE, gpus=second, cpu=512, memory_mib=512)


def _asked(site: Site, *types: str, **arguments: Any) -> None:
    task = site.task(site.capacity(*types)) if types else site.task()
    task.add_gpu_container("train", image=_IMAGE, **arguments)


def _managed(site: Site, *types: str) -> GpuTaskDefinition:
    managed = site.managed(instance_types=list(types))
    return GpuTaskDefinition(site.stack, "Task", capacity=[managed])


def _in_block(site: Site, *types: str, **arguments: Any) -> None:
    ends = datetime(2026, 12, 3, tzinfo=timezone.utc)
    block = Purchase.capacity_block("cr-0123456789abcdef0", instances=2, ends=ends)
    defaults = {"purchase": block, "max_instances": 2, "vpc_subnets": site.one_zone}
    site.capacity(*(types or ("p5.48xlarge",)), **{**defaults, **arguments})


def _warm(site: Site, *types: str, hosts: int = 1, **arguments: Any) -> None:
    site.capacity(*types, scaling=HostScaling(warm_hosts=WarmHosts(hosts=hosts)), **arguments)


def _in_one_zone(site: Site, *types: str) -> object:
    return site.capacity(*types, network=_EFA, vpc_subnets=site.one_zone)


def _served(
    site: Site, *capacity: Capacity, of: GpuCluster | None = None, mode: ecs.NetworkMode | None = None, **arguments: Any
) -> GpuService:
    task = site.task(*capacity, network_mode=mode)
    task.add_gpu_container("chat", image=_IMAGE)
    return GpuService(site.stack, "Service", cluster=of or site.cluster, task_definition=task, **arguments)


def _on_one_port(site: Site) -> None:
    port = [ecs.PortMapping(container_port=8000, host_port=8000)]
    task = site.task()
    task.add_container("side", image=_IMAGE, port_mappings=port)
    task.add_gpu_container("train", image=_IMAGE, port_mappings=port)


Call = Callable[[Site], object]

REFUSED: list[tuple[str, str | None, Call]] = [
    ("GPU023", "gpus", lambda site: _two(site, 1, _SHARE)),
    ("GPU023", "gpus", lambda site: _two(site, "ALL", 1)),
    ("GPU023", "gpus", lambda site: _two(site, 0.25, 0.25, "g6f.2xlarge")),
    (
        "GPU027",
        "devices",
        lambda site: _managed(site, "inf2.xlarge").add_neuron_container("infer", image=_IMAGE, devices=1),
    ),
    ("GPU028", "network_mode", lambda site: site.task(network_mode=ecs.NetworkMode.NAT)),
    ("GPU020", "memory_mib", lambda _: GpuShare(memory_mib=0)),
    ("GPU020", "max_compute_percent", lambda _: GpuShare(memory_mib=1, max_compute_percent=101)),
    ("GPU037", "environment", lambda site: _asked(site, environment={"NVIDIA_VISIBLE_DEVICES": "all"})),
    ("GPU046", "capacity_provider_name", lambda site: site.capacity("g6.xlarge", capacity_provider_name="my gpu")),
    ("GPU046", "capacity_provider_name", lambda site: site.capacity("g6.xlarge", capacity_provider_name="FARGATE")),
    (
        "GPU047",
        "shared_memory_mib",
        lambda site: _managed(site, "g6.xlarge").add_gpu_container("train", image=_IMAGE, shared_memory_mib=64),
    ),
    ("GPU054", "capacity", lambda site: _asked(site, "inf2.xlarge")),
    ("GPU060", "capacity", lambda site: _asked(site, "c7i.large")),
    ("GPU060", "gpus", lambda site: _asked(site, gpus=2)),
    ("GPU060", "memory_limit_mib", lambda site: site.task().add_container("s", image=_IMAGE, memory_limit_mib=16384)),
    ("GPU063", "gpus", lambda site: _asked(site, gpus=99)),
    ("GPU064", "gpu_memory_gib", lambda site: _asked(site, gpu_memory_gib=24)),
    ("GPU064", "precision", lambda site: _asked(site, "g5.xlarge", precision="fp8")),
    ("GPU067", "capacity", lambda site: site.task(site.l4, site.capacity("g5g.xlarge"))),
    ("GPU060", "gpus", lambda site: _asked(site, gpus=GpuShare(memory_mib=24000))),
    ("GPU060", "capacity", lambda site: site.task().add_neuron_container("infer", image=_IMAGE)),
    ("GPU084", "port_mappings", _on_one_port),
    ("GPU089", "capacity", lambda site: _served(site, *(site.capacity("g6.xlarge", name=f"C{n}") for n in range(21)))),
    ("GPU089", "weight", lambda site: site.l4.strategy(weight=1001)),
    ("GPU126", "security_groups", lambda site: _served(site, security_groups=[])),
    (
        "GPU126",
        "vpc_subnets",
        lambda site: _served(site, mode=ecs.NetworkMode.HOST, vpc_subnets=ec2.SubnetSelection()),
    ),
    ("GPU140", "capacity", lambda site: _served(site, site.l4, site.managed(instance_types=["g6.xlarge"]))),
    ("GPU217", "capacity", lambda site: _served(site, of=GpuCluster(site.stack, "Other", vpc=site.vpc))),
    ("GPU097", "purchase", lambda site: _in_block(site, "g6.xlarge")),
    ("GPU104", "instance_types", lambda site: _in_block(site, "p5.48xlarge", "p5e.48xlarge")),
    ("GPU104", "vpc_subnets", lambda site: _in_block(site, vpc_subnets=None)),
    ("GPU162", "placement_group", lambda site: _in_block(site, network=HostNetwork(placement_group=True))),
    ("GPU164", "max_instances", lambda site: _in_block(site, max_instances=3)),
    (
        "GPU165",
        "managed_termination_protection",
        lambda site: _in_block(site, scaling=HostScaling(managed_termination_protection=True)),
    ),
    ("GPU170", "warm_hosts", lambda site: _warm(site, "g6.xlarge", purchase=Purchase.spot())),
    ("GPU171", "warm_hosts", lambda site: _warm(site, "g5g.xlarge")),
    ("GPU170", "state", lambda _: WarmHosts(hosts=1, state="Hibernated")),
    ("GPU052", "image", lambda site: site.capacity("g6.xlarge", image=GpuMachineImage.newest("al2023-arm64"))),
    ("GPU053", "instance_types", lambda site: site.capacity("g5.xlarge", "g5.12xlarge")),
    ("GPU092", "network", lambda site: _in_one_zone(site, "g6.xlarge")),
    ("GPU095", "vpc_subnets", lambda site: site.capacity("p5.48xlarge", network=_EFA)),
    ("GPU099", "image", lambda site: site.capacity("g6.xlarge", image=GpuMachineImage.newest("al2023"))),
    ("GPU092", "network", lambda site: _in_one_zone(site, "g6.xlarge", "g6.8xlarge")),
    ("GPU020", "gpus", lambda site: job(site, queue(site), gpus="ALL")),
    (
        "GPU200",
        "image",
        lambda site: site.capacity(
            "g6.xlarge", image=GpuMachineImage(HostImage(image=image("al2023-gpu"), release="1.66.0"))
        ),
    ),
]
"""A rule, the argument that the error names, and a call that it refuses."""

NOT_REFUSED: Mapping[str, str] = {
    "GPU230": "CDK's enable_service_connect says which services are in Service Connect, after they are made",
    "GPU236": "the server's own arguments say how many GPUs it uses, and the check at synth reads them",
    "GPU394": "a command may begin with any word, and the check at synth reads it",
    "GPU127": "CDK's add_container_dependencies says who waits, after both containers are made",
    "GPU032": "the launch types are those of the capacity, and a share of a part of a GPU does not fit",
    "GPU231": "CDK encodes user data, and begins it with #!",
    "GPU257": "CDK makes the task execution role, and grants it what secrets it reads",
    "GPU275": "CDK makes the roles of a task for ecs-tasks.amazonaws.com",
    "GPU277": "CDK lets hosts reach everything, unless the user gives a security group",
    "GPU264": "every capacity has an instance profile of a role that registers hosts",
    "GPU267": "the throughput is checked before a volume is written",
    "GPU393": "ModelCache and trainings write the rules that let them mount, and other volumes are added through CDK",
    "GPU237": "ModelCache and trainings mount with IAM, and other volumes are added through CDK",
    "GPU098": "the user data names the cluster of the capacity",
    "GPU306": "a capacity waits for no signals",
    "GPU122": "the user data is written for the cluster of the capacity",
    "GPU160": "Purchase says what is Spot in one place",
    "GPU163": "a Capacity Block needs its reservation_id",
    "GPU310": "Purchase takes the id of a reservation, of which the library knows no type",
    "GPU190": "CDK or the library names the role",
    "GPU396": "encryption_key gets a policy that lets Auto Scaling use it",
    "GPU050": "the catalogue answers for every name, with the names that are near",
    "GPU055": "every capacity has a launch template",
    "GPU057": "the user data is written for the operating system of the image",
    "GPU093": "the interfaces are written for the user",
    "GPU100": "a need that no type satisfies is refused in the words of the need",
    "GPU130": "an image has the parameter of the catalogue, or is CDK's",
    "GPU125": "the launch types are those of the capacity",
    "GPU359": "no construct overrides containers",
    "GPU107": "the user data of a compute environment is MIME multi-part",
    "GPU273": "the user data of a capacity is written for the user, and starts and stops no agent",
    "GPU221": "HostReplacement is an instance refresh",
}
"""Rules that no call of a constructor breaks, and why."""

_ALONE = {Pool, Task, Workload}
_DECIDABLE = {each.id for each in all_rules() if each.severity is Severity.ERROR and each.about in _ALONE}


@pytest.mark.parametrize(("rule", "argument", "call"), [pytest.param(*row, id=f"{row[0]} {row[1]}") for row in REFUSED])
def test_the_constructor_refuses_it_with_the_id_of_the_rule(
    ground: Ground, rule: str, argument: str | None, call: Call
) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        call(ground)
    assert (refused.value.rule, refused.value.argument) == (rule, argument)
    assert refused.value.fix
    assert str(refused.value).endswith(f"(gpu-constructs rules {rule})")


def test_every_error_rule_about_one_thing_is_refused_or_says_why_not() -> None:
    refused = {rule for rule, _, _ in REFUSED}
    assert refused | NOT_REFUSED.keys() >= _DECIDABLE
    assert not refused & NOT_REFUSED.keys()
    assert refused | NOT_REFUSED.keys() <= {each.id for each in all_rules()}
