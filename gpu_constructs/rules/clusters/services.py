"""Settings of a service: does ECS accept them together, with those of its task definition and with Service Connect?"""

from __future__ import annotations

from gpu_constructs.facts.aws_limits import PROXY_CPU, PROXY_MEMORY_MIB
from gpu_constructs.fleet import PoolKind, Unknown, Workload
from gpu_constructs.placement.reach import pools_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word, and_list

_WITHOUT_INTERFACE = frozenset({"host", "none"})


@error(
    "GPU126",
    question="does the network configuration of a service suit the network mode and the hosts of its tasks?",
    because="ECS refuses a service without a network configuration for a task in network mode awsvpc, a service with "
    "one for a task in network mode bridge, host or none, and AssignPublicIp ENABLED for tasks on EC2 hosts, whose "
    "network interfaces get no public address",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
)
def network_configured(context: Context) -> Problems:
    for workload in context.once(accelerated_workloads):
        task, configured = workload.task, workload.network_configuration
        if task is None or isinstance(configured, Unknown):
            continue
        if task.network_mode == "awsvpc" and not configured:
            yield Problem(
                about=workload,
                property_name="NetworkConfiguration",
                message=f"{workload.name} has no network configuration, and {task.name} has network mode awsvpc, for "
                "which ECS must know the subnets",
                fix='"NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": […]}}, or another NetworkMode',
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
        if context.files is None or resource is None or not workload.strategy or not workload.is_service:
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
    "of its own, above that of its containers",
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
        memory = task.memory_mib
        more = f"{PROXY_MEMORY_MIB} MiB and {PROXY_CPU} CPU units more than its containers"
        least = "" if isinstance(memory, Unknown) else f', such as "Memory": "{memory + PROXY_MEMORY_MIB}"'
        yield Problem(
            involves=(task,),
            property_name="ServiceConnectConfiguration",
            message=f"{workload.name} is in Service Connect, and {task.name} has no Memory of its own, from which the "
            "proxy gets its part",
            allowed=f"{more}{least}",
            fix=f"Memory of the task definition{least}, and its Cpu: {more}; a GpuTaskDefinition gets them on its "
            "node.default_child, and in the place of an ecs.Ec2TaskDefinition, which takes neither, "
            "ecs.TaskDefinition(compatibility=ecs.Compatibility.EC2, cpu=…, memory_mib=…)",
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
