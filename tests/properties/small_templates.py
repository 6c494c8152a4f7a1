"""Templates at random as somebody might have written them: a few pools, tasks, services, and parts that are missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.template.resources.declared import resource

__all__ = ["Written", "small_template"]

_SSM = "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-%s/image_id}}"
_NEW = _SSM % "2023/gpu/al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
_IMAGES = (
    *(_NEW,) * 6,
    _SSM % "2023/gpu/al2023-ami-ecs-gpu-hvm-2023.0.20250101-kernel-6.1-x86_64-ebs",
    _SSM % "2/gpu/recommended",
    _SSM % "2023/recommended",
    _SSM % "2023/arm64/recommended",
    "ami-0123456789abcdef0",
)
_TYPES = (
    *(["g6.xlarge"], ["g6.12xlarge"]) * 3,
    ["g6.xlarge", "g6.12xlarge"],
    ["g6.12xlarge", "g5.12xlarge"],
    ["g6f.2xlarge"],
    ["p3.2xlarge"],
    ["c7i.2xlarge"],
    ["inf2.xlarge"],
    [{"Ref": "Deployed"}],
)
_JOIN = "#!/bin/bash\necho ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config\n"
_USER_DATA = (
    *(_JOIN,) * 12,
    f"{_JOIN}echo ECS_ENABLE_GPU_SUPPORT=false >> /etc/ecs/ecs.config\n",
    f"{_JOIN}./install-driver\n",
    f"{_JOIN}echo ECS_ENABLE_TASK_ENI=false >> /etc/ecs/ecs.config\n",
    f"{_JOIN}echo 'ECS_RESERVED_PORTS=[22,8080]' >> /etc/ecs/ecs.config\n",
    _JOIN + """echo 'ECS_INSTANCE_ATTRIBUTES={"team":"ml"}' >> /etc/ecs/ecs.config\n""",
)
_ASKS = (
    *({"Value": "1"}, {"Value": "4"}) * 3,
    {"Value": "8"},
    {"Value": "ALL"},
    {"Value": "0.25"},
    {"Value": {"Ref": "Deployed"}},
    {"SharingStrategy": {"NvidiaMps": {"Memory": 4096}}},
    None,
    None,
)
_NEEDS = (*(None,) * 6, {"GpuMemoryMib": 20_000}, {"ComputeCapability": "8.0"}, {"GpuMemoryMib": 200_000})
_CONSTRAINTS = (
    *(None,) * 14,
    "attribute:ecs.instance-type == g6.xlarge",
    "attribute:ecs.instance-type in [g6.xlarge, g6.12xlarge]",
    "attribute:ecs.availability-zone == us-east-1a",
    "attribute:ecs.subnet-id != subnet-0a0a0a0a",
    "attribute:team == ml",
)
_SUBNETS = (
    ["subnet-0a0a0a0a"],
    ["subnet-0b0b0b0b"],
    [{"Ref": "InA"}],
    [{"Ref": "InB"}],
    [{"Ref": "InA"}, {"Ref": "InB"}],
)
_HOSTS = ("provider", "provider", "provider", "group", "managed", "batch", "elsewhere")


@dataclass(slots=True)
class Written:
    """A template, with what its author knows about it.

    Attributes:
        resources: By logical id.
        tasks: Task and job definitions.
        services: The services of each task.
        sent: The pools to which each service certainly sends copies: those of a strategy with a weight or a base.
    """

    resources: dict[str, Any] = field(
        default_factory=lambda: {
            "Cluster": {"Type": "AWS::ECS::Cluster"},
            **{f"In{each}": resource("EC2::Subnet", AvailabilityZone=f"us-east-1{each.lower()}") for each in "AB"},
        }
    )
    tasks: list[str] = field(default_factory=list)
    services: dict[str, list[str]] = field(default_factory=dict)
    sent: dict[str, list[str]] = field(default_factory=dict)

    @property
    def template(self) -> dict[str, Any]:
        """The whole template; its parameter has no default, so its value is only known at deploy time."""
        return {"Parameters": {"Deployed": {"Type": "String"}}, "Resources": self.resources}


def small_template(number: int) -> Written:
    """One template, the same for the same number.

    Args:
        number: Any number.
    """
    random = Random(number)  # noqa: S311 - no secret
    written = Written()
    pools = [_pool(written, random, f"Pool{index}") for index in range(random.choice((0, 1, 1, 2, 3)))]
    providers = [name for name, kind in pools if kind in {"provider", "managed"}]
    for index in range(random.choice((1, 1, 2))):
        _task(written, random, f"Task{index}", providers)
    if random.random() < 0.25:
        _job(written, random)
    listed = [{"Ref": each} for each in providers]
    written.resources["Association"] = resource(
        "ECS::ClusterCapacityProviderAssociations",
        Cluster={"Ref": "Cluster"},
        CapacityProviders=listed,
        DefaultCapacityProviderStrategy=[],
    )
    return written


def _pool(written: Written, random: Random, name: str) -> tuple[str, str]:
    kind, types = random.choice(_HOSTS), random.choice(_TYPES)
    least = random.choice((0, 0, 0, 1))
    if kind == "batch":
        named = [each for each in types if isinstance(each, str)] or ["optimal"]
        hosts = {"Type": "EC2", "InstanceTypes": named, "MinvCpus": 0, "MaxvCpus": 64, "Subnets": ["subnet-1"]}
        written.resources[name] = resource("Batch::ComputeEnvironment", Type="MANAGED", ComputeResources=hosts)
    elif kind == "managed":
        wanted = {"VCpuCount": {"Min": 2}, "MemoryMiB": {"Min": 1024}, "AllowedInstanceTypes": types}
        hosts = {"InstanceRequirements": wanted, "NetworkConfiguration": {"Subnets": ["subnet-1"]}}
        written.resources[name] = resource(
            "ECS::CapacityProvider",
            ClusterName={"Ref": "Cluster"},
            ManagedInstancesProvider={"InstanceLaunchTemplate": hosts},
        )
    else:
        _group(written, random, name, types, least)
        group: object = {"Ref": f"{name}Group"}
        if kind == "elsewhere":
            del written.resources[f"{name}Group"]
            group = {"Fn::ImportValue": "group"}
        if kind != "group":
            scaling = {"Status": random.choice(("ENABLED", "ENABLED", "ENABLED", "DISABLED"))}
            written.resources[name] = resource(
                "ECS::CapacityProvider",
                AutoScalingGroupProvider={"AutoScalingGroupArn": group, "ManagedScaling": scaling},
            )
    return name, "provider" if kind == "elsewhere" else kind


def _group(written: Written, random: Random, name: str, types: list[Any], least: int) -> None:
    launched = {
        "InstanceType": types[0],
        "ImageId": random.choice(_IMAGES),
        "UserData": {"Fn::Base64": {"Fn::Sub": random.choice(_USER_DATA)}},
    }
    written.resources[f"{name}Launch"] = resource("EC2::LaunchTemplate", LaunchTemplateData=launched)
    version = {"LaunchTemplateId": {"Ref": f"{name}Launch"}, "Version": "1"}
    overrides = [{"InstanceType": each} for each in types]
    mixed = {"LaunchTemplate": {"LaunchTemplateSpecification": version, "Overrides": overrides}}
    group = {"LaunchTemplate": version} if len(types) == 1 else {"MixedInstancesPolicy": mixed}
    written.resources[f"{name}Group"] = resource(
        "AutoScaling::AutoScalingGroup",
        MinSize=str(least),
        MaxSize="4",
        VPCZoneIdentifier=random.choice(_SUBNETS),
        **group,
    )


def _task(written: Written, random: Random, name: str, providers: list[str]) -> None:
    asks, needs, constraint = random.choice(_ASKS), random.choice(_NEEDS), random.choice(_CONSTRAINTS)
    container: dict[str, Any] = {
        "Name": "main",
        "Image": "busybox",
        "Memory": random.choice((512, 4096, 15_500, 60_000)),
    }
    container["Cpu"] = random.choice((0, 1024, 9000))
    if asks is not None:
        container["ResourceRequirements"] = [{"Type": "GPU", **asks}]
    task = resource("ECS::TaskDefinition", Family=name.lower(), ContainerDefinitions=[container])
    properties = task["Properties"]
    if asks is not None and needs is not None:
        task["Metadata"] = {"gpu-constructs": {"Containers": {"main": needs}}}
    if constraint is not None:
        properties["PlacementConstraints"] = [{"Type": "memberOf", "Expression": constraint}]
    if random.random() < 0.1:
        properties["RuntimePlatform"] = {"CpuArchitecture": "ARM64"}
    if random.random() < 0.2:
        properties["NetworkMode"] = "awsvpc"
    if random.random() < 0.1:
        container["PortMappings"] = [{"ContainerPort": 8080, "HostPort": 8080}]
    written.resources[name] = task
    written.tasks.append(name)
    written.services[name] = []
    for number in range(random.choice((0, 1, 1, 1, 2))):
        service = f"{name}Service{number}"
        written.services[name].append(service)
        _service(written, random, service, name, providers)


def _service(written: Written, random: Random, name: str, task: str, providers: list[str]) -> None:
    properties: dict[str, Any] = {"Cluster": {"Ref": "Cluster"}, "TaskDefinition": {"Ref": task}, "DesiredCount": 1}
    written.sent[name] = []
    way = random.choice(("strategy", "strategy", "strategy", "EC2", "none", "FARGATE", "EXTERNAL", "daemon"))
    if way == "strategy":
        named: list[Any] = [{"Ref": each} for each in providers] * 3
        named += ["prod-gpu", {"Fn::ImportValue": "provider"}, "FARGATE"] if random.random() < 0.3 or not named else []
        items: list[dict[str, Any]] = []
        for each in random.sample(named, k=min(len(named), random.choice((1, 1, 2)))):
            weight = random.choice((1, 1, 1, 2, 0, {"Ref": "Deployed"}))
            if each not in [item["CapacityProvider"] for item in items]:
                items.append({"CapacityProvider": each, "Weight": weight, "Base": random.choice((0, 0, 0, 1))})
        properties["CapacityProviderStrategy"] = items
        written.sent[name] = [
            each["CapacityProvider"]["Ref"]
            for each in items
            if each["CapacityProvider"] in [{"Ref": one} for one in providers]
            and (len(items) == 1 or each["Weight"] in (1, 2) or each["Base"] == 1)
        ]
    elif way == "daemon":
        properties["SchedulingStrategy"] = "DAEMON"
        del properties["DesiredCount"]
    elif way != "none":
        properties["LaunchType"] = way
    written.resources[name] = resource("ECS::Service", **properties)


def _job(written: Written, random: Random) -> None:
    needs = [{"Type": "VCPU", "Value": "4"}, {"Type": "MEMORY", "Value": "8192"}]
    gpus = random.choice((None, "1", "4"))
    needs += [] if gpus is None else [{"Type": "GPU", "Value": gpus}]
    container = {"Image": "busybox", "ResourceRequirements": needs}
    written.resources["Job"] = resource("Batch::JobDefinition", Type="container", ContainerProperties=container)
    written.tasks.append("Job")
    written.services["Job"] = []
