"""Settings of a service: does ECS accept them together, with its task definition and its strategy?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import (
    FARGATE_PROVIDERS,
    MAX_BASE,
    MAX_STRATEGY_PROVIDERS,
    MAX_WEIGHT,
    PROXY_CPU,
    PROXY_MEMORY_MIB,
)
from gpu_constructs.fleet import Blocked, Pool, PoolKind, StrategyItem, Task, Unknown, Workload, known
from gpu_constructs.placement.reach import pools_of
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES, accelerated_workloads
from gpu_constructs.rules.finding import Text, Word, and_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_WITHOUT_INTERFACE = frozenset({"host", "none"})


@error(
    "GPU126",
    question="does the network configuration of a service or a run suit the network mode and the hosts of its tasks?",
    because="ECS refuses a service or a run without a network configuration for a task in network mode awsvpc, one "
    "with it for a task in network mode bridge, host or none, and AssignPublicIp ENABLED for tasks on EC2 hosts, whose "
    "network interfaces get no public address: an internet gateway is no way out for them",
    softer="where subnets lead to an internet gateway alone: a task may need nothing outside of its VPC",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
)
def network_configured(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        task, configured = workload.task, workload.network_configuration
        is_without_address = workload.way_out.blocked_by is Blocked.NO_PUBLIC_ADDRESS
        if task is None or isinstance(configured, Unknown):
            continue
        if task.network_mode == "awsvpc" and not configured:
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration",
                message=f"{workload.name} has no network configuration, and {task.name} has network mode awsvpc, for "
                "which ECS must know the subnets",
                fix="subnets as NetworkConfiguration.AwsvpcConfiguration.Subnets, or another NetworkMode",
            )
        elif configured and (
            task.network_mode in _WITHOUT_INTERFACE or (task.network_mode == "bridge" and _is_on_ec2(context, workload))
        ):
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration",
                message=Text(
                    f"{workload.name} has ",
                    Word("a network configuration"),
                    f", and {task.name} has network mode {task.network_mode}, which ECS accepts only without",
                ),
                fix=Text("remove ", Word("NetworkConfiguration"), ", or use ", Word("NetworkMode awsvpc")),
            )
        elif workload.assigns_public_ip and _is_on_ec2(context, workload):
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp",
                value="ENABLED",
                allowed="DISABLED",
                message=Text(
                    f"{workload.name} has ",
                    Word("AssignPublicIp ENABLED"),
                    ", which ECS takes for Fargate only, and its tasks run on EC2 hosts",
                ),
                fix=Text(Word("AssignPublicIp DISABLED"), ", and subnets with a NAT gateway"),
            )
        elif is_without_address and task.network_mode == "awsvpc" and _is_on_ec2(context, workload):
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration.AwsvpcConfiguration.Subnets",
                message=f"tasks of {workload.name} get no public address on EC2 hosts, and their subnets lead to "
                "an internet gateway only: without endpoints they reach nothing outside of the VPC, no download either",
                fix="subnets with a NAT gateway, endpoints of the VPC, or NetworkMode bridge or host",
                is_certain=False,
            )


@warning(
    "GPU259",
    question="is a service created after its cluster has the capacity providers?",
    because="CloudFormation creates resources that do not refer to each other at the same time, and ECS refuses a "
    "service whose capacity providers its cluster does not have yet; one without a strategy gets launch type EC2, for "
    "which no host is started",
    source="https://github.com/aws/containers-roadmap/issues/631#issuecomment-816354807",
    unless=("GPU089", "GPU217"),
)
def comes_after_providers(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        resource = context.resource(workload)
        is_created = workload.is_service and not context.exists(workload)
        if context.files is None or resource is None or not workload.strategy or not is_created:
            continue
        if context.files.clusters.may_come_before_providers(resource, workload.cluster):
            has_own = bool(resource.properties.get("CapacityProviderStrategy"))
            yield Problem(
                about=workload,
                message=f"{workload.name} may be created before its cluster has the capacity providers, "
                + ("and ECS refuses it then" if has_own else "gets launch type EC2 then, for which ECS starts no host"),
                fix="DependsOn the AWS::ECS::ClusterCapacityProviderAssociations",
                property_name="DependsOn",
            )


@error(
    "GPU230",
    question="can the proxy of Service Connect run beside the tasks?",
    because="ECS adds a proxy to each task of a service in Service Connect: the agent starts none that listens in "
    "network mode host or none, Managed Instances run none, and on Amazon EC2 the task definition has to have a Memory "
    f"of its own, of which the proxy gets a part; AWS recommends {PROXY_CPU} CPU units and {PROXY_MEMORY_MIB} MiB",
    softer="where the task definition has no Memory",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect-concepts-deploy.html",
)
def room_for_the_proxy(workload: Workload) -> Problems:
    task = workload.task
    if workload.service_connect is not True:
        return
    pools = [each.pool for each in workload.strategy if each.pool is not None]
    managed = [each.name for each in pools if each.kind is PoolKind.MANAGED_INSTANCES]
    if managed:
        yield Problem(
            property_name="ServiceConnectConfiguration",
            message=f"{workload.name} is in Service Connect, which ECS Managed Instances ({and_list(managed)}) do not "
            "have",
            fix=Text("an Auto Scaling group for its hosts, or ", Word("ServiceRegistries of Cloud Map")),
        )
    if task is not None and task.memory_limit_mib is None and not task.is_part:
        more = f"{PROXY_MEMORY_MIB} MiB and {PROXY_CPU} CPU units more than its containers, as AWS recommends"
        yield Problem(
            involves=(task,),
            property_name="ServiceConnectConfiguration",
            message=f"{workload.name} is in Service Connect, whose proxy gets a part of the Memory, and "
            f"{task.name} has none of its own",
            allowed=more,
            fix=f"Memory and Cpu of the task definition, {more}; the containers must ask for less where they fill a "
            "host; a GpuTaskDefinition gets both on its node.default_child; ecs.Ec2TaskDefinition takes neither, and "
            "ecs.TaskDefinition(compatibility=ecs.Compatibility.EC2, cpu=…, memory_mib=…) does",
            is_certain=False,
        )


def _is_on_ec2(context: Context, workload: Workload) -> bool:
    """Whether its tasks certainly run on EC2 hosts of the account: elsewhere, a missing network mode means awsvpc."""
    if workload.task is None or set(workload.task.compatibilities) - {"EC2"}:
        return False
    if workload.strategy:
        return all(item.pool is not None and item.pool.runs_launch_type_ec2 for item in workload.strategy)
    pools = pools_of(context.fleet, workload)
    return workload.launch_type == "EC2" or (
        workload.launch_type is None and bool(pools) and all(each.kind is PoolKind.AUTO_SCALING_GROUP for each in pools)
    )


@error(
    "GPU089",
    question="does ECS accept the capacity provider strategy?",
    because=f"a strategy has at most {MAX_STRATEGY_PROVIDERS} providers, of either Fargate or Auto Scaling groups, "
    f"weights of 0 to {MAX_WEIGHT}, at least one of them above 0, and one base of 0 to {MAX_BASE}; ECS refuses any "
    "other, and a strategy beside a launch type",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
)
def accepted_by_ecs(workload: Workload) -> Problems:
    for problem, fix in _problems(workload.strategy):
        yield Problem(
            property_name="CapacityProviderStrategy",
            message=f"the strategy of {workload.name} {problem}",
            fix=fix,
        )
    if workload.strategy and isinstance(workload.launch_type, str):
        yield Problem(
            property_name="LaunchType",
            value=workload.launch_type,
            message=f"{workload.name} has the launch type {brief(workload.launch_type)} and a capacity provider "
            f"strategy ({and_list(brief(str(item.provider)) for item in workload.strategy)}); ECS accepts one of them",
            fix="remove LaunchType",
        )


@error(
    "GPU125",
    question="is the task definition compatible with the capacity that its service uses?",
    because="a task definition for Managed Instances must require MANAGED_INSTANCES",
    softer="for other capacity, because no AWS page says whether such a task runs there",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html",
)
def compatible_with_capacity(workload: Workload) -> Problems:
    task = workload.task
    if task is None or not task.compatibilities:
        return
    pools = {item.pool.name: item.pool for item in workload.strategy if item.pool is not None}
    for pool in pools.values():
        if not _is_for(task, pool):
            asks = MANAGED_INSTANCES if pool.kind is PoolKind.MANAGED_INSTANCES else "EC2"
            yield Problem(
                property_name="RequiresCompatibilities",
                value=list(task.compatibilities),
                message=f"{task.name} requires {and_list(map(brief, task.compatibilities))}, and {workload.name} runs "
                f"it on {pool.name} ({pool.kind.value})",
                fix=f"{asks} in RequiresCompatibilities",
                is_certain=pool.kind is PoolKind.MANAGED_INSTANCES,
            )


@warning(
    "GPU140",
    question="are all capacity providers of a strategy of one kind?",
    because="a guide to capacity providers by AWS says that a strategy cannot mix Managed Instances with Auto Scaling "
    "groups or Fargate; the API page does not say so",
    source="https://aws-samples.github.io/sample-apex-skills/docs/skills/ecs/ecs-build/references/"
    "capacity-provider-guide",
)
def one_kind(workload: Workload) -> Problems:
    pools = [item.pool for item in workload.strategy if item.pool is not None]
    managed = dict.fromkeys(each.name for each in pools if each.kind is PoolKind.MANAGED_INSTANCES)
    groups = dict.fromkeys(each.name for each in pools if each.kind is PoolKind.AUTO_SCALING_GROUP)
    if managed and groups:
        yield Problem(
            property_name="CapacityProviderStrategy",
            value=[*managed, *groups],
            message=f"the strategy of {workload.name} has ECS Managed Instances ({and_list(managed)}) and Auto Scaling "
            f"groups ({and_list(groups)})",
            fix=Text(
                "a service for each kind, this one with a ",
                Word("CapacityProviderStrategy"),
                f" of {and_list(groups)} only",
            ),
        )


def _problems(strategy: tuple[StrategyItem, ...]) -> Iterator[tuple[str, str]]:
    if len(strategy) > MAX_STRATEGY_PROVIDERS:
        yield (
            f"has {len(strategy)} capacity providers, and {MAX_STRATEGY_PROVIDERS} are allowed",
            f"name at most {MAX_STRATEGY_PROVIDERS}, or split the service",
        )
    for item in strategy:
        for name, value, most in (("weight", item.weight, MAX_WEIGHT), ("base", item.base, MAX_BASE)):
            if not isinstance(value, Unknown) and not 0 <= value <= most:
                yield (
                    f"gives {item.provider} a {name} of {value}, and 0 to {most} are allowed",
                    f"{name}={most}",
                )
    if len(strategy) == 1 and strategy[0].weight == 0 and strategy[0].base == 0:
        yield (
            f"gives its only provider, {strategy[0].provider}, a weight of 0 and no base",
            "a weight above 0",
        )
    if len(strategy) > 1 and all(item.weight == 0 for item in strategy):
        yield (
            f"gives all of its {len(strategy)} providers a weight of 0, and at least one of several must have more",
            "give each of them a weight above 0",
        )
    with_base = [item for item in strategy if known(item.base) > 0]
    if len(with_base) > 1:
        yield (
            f"gives {and_list(item.provider for item in with_base)} a base, and only one provider can have one",
            "keep one base",
        )
    fargate = [item for item in strategy if item.provider in FARGATE_PROVIDERS]
    of_groups = [item for item in strategy if item.pool is not None]
    if fargate and of_groups:
        names = and_list([item.provider for item in (*fargate, *of_groups)])
        yield (
            f"has {names}, and a strategy has providers of either Fargate or Auto Scaling groups",
            "write a separate service for Fargate",
        )


def _is_for(task: Task, pool: Pool) -> bool:
    """Whether the pool can run it; a task that is valid for Fargate is valid for EC2 as well."""
    named = {each.upper() for each in task.compatibilities}
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        return MANAGED_INSTANCES in named
    return pool.kind is not PoolKind.AUTO_SCALING_GROUP or bool(named & {"EC2", "FARGATE"})
