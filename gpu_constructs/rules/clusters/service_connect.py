"""Service Connect: does ECS accept the namespace, the ports and the room for the proxy?"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.fleet import PoolKind, Unknown, Workload
from gpu_constructs.hardware.aws_limits import PROXY_CPU, PROXY_MEMORY_MIB
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word

_WITHOUT_PROXY = frozenset({"host", "none"})


@error(
    "GPU279",
    question="does a service in Service Connect have a namespace?",
    because="ECS refuses a service with Service Connect that names no namespace, where its cluster has no default one",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ServiceConnectConfiguration.html",
)
def has_namespace(workload: Workload) -> Problems:
    if workload.lacks_namespace:
        yield Problem(
            property_name="ServiceConnectConfiguration",
            message=f"{workload.name} is in Service Connect, and neither it nor its cluster names a namespace",
            fix="Namespace, or ServiceConnectDefaults of the cluster",
        )


@warning(
    "GPU207",
    question="does a task in Service Connect set its memory, with room for the proxy?",
    because="ECS adds a proxy to each task of a service in Service Connect, and on Amazon EC2 accepts only a task "
    "definition with a Memory of its own, above that of its containers",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect-concepts-deploy.html",
)
def room_for_the_proxy(workload: Workload) -> Problems:
    task = workload.task
    if workload.service_connect is True and task is not None and task.memory_limit_mib is None and not task.is_part:
        memory = task.memory_mib
        least = "" if isinstance(memory, Unknown) else f', such as "Memory": "{memory + PROXY_MEMORY_MIB}"'
        yield Problem(
            involves=(task,),
            property_name="ServiceConnectConfiguration",
            message=f"{workload.name} is in Service Connect, and {task.name} has no Memory of its own, from which the "
            "proxy gets its part",
            fix=f"Memory of the task definition{least}, and its Cpu: {PROXY_MEMORY_MIB} MiB and {PROXY_CPU} CPU units "
            "more than its containers; in a GpuTaskDefinition service_connect=True, and in the place of an "
            "ecs.Ec2TaskDefinition, which takes neither, "
            "ecs.TaskDefinition(compatibility=ecs.Compatibility.EC2, cpu=…, memory_mib=…)",
        )


@error(
    "GPU262",
    question="does the task have every port that its service names for Service Connect?",
    because="Service Connect knows a port by the name of a port mapping, and ECS refuses a service that names "
    "another one",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ServiceConnectService.html",
)
def ports_are_named(workload: Workload) -> Problems:
    task = workload.task
    if task is None or task.is_part or workload.service_connect is not True or not task.containers:
        return
    names: set[str] = set()
    for container in task.containers:
        if isinstance(container.port_names, Unknown):
            return
        names.update(container.port_names)
    for each in dict.fromkeys(workload.connect_ports):
        if each not in names:
            there = f"has {and_list(map(brief, sorted(names)))}" if names else "names none"
            yield Problem(
                involves=(task,),
                property_name="ServiceConnectConfiguration.Services",
                value=each,
                message=f"{workload.name} names port {brief(each)} for Service Connect, and {task.name} {there}",
                fix=f'"Name": "{brief(each)}" in a port mapping of {task.name}'
                + (f", or PortName {or_list(map(brief, sorted(names)))}" if names else ""),
            )


@error(
    "GPU230",
    question="do tasks that Service Connect makes known have network mode awsvpc or bridge?",
    because='the ECS agent starts no task that listens for Service Connect in another network mode: "service connect '
    'does not support for host newtork mode"',
    source="https://github.com/aws/amazon-ecs-agent/blob/master/agent/api/serviceconnect/service_connect_validator.go",
    unless=("GPU262",),
)
def ports_in_a_mode_with_a_proxy(workload: Workload) -> Problems:
    task = workload.task
    if task is None or workload.service_connect is not True or not workload.connect_ports:
        return
    if task.network_mode in _WITHOUT_PROXY:
        yield Problem(
            involves=(task,),
            property_name="NetworkMode",
            value=task.network_mode,
            allowed="awsvpc, bridge",
            message=f"{workload.name} names port {brief(workload.connect_ports[0])} for Service Connect, and "
            f"{task.name} has network mode {task.network_mode}, in which the ECS agent does not start it",
            fix="NetworkMode awsvpc or bridge",
        )


@error(
    "GPU284",
    question="does a service in Service Connect run elsewhere than on Managed Instances?",
    because='"Service Connect isn\'t available for services running on Amazon ECS Managed Instances"',
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect-concepts-deploy.html",
)
def not_on_managed_instances(workload: Workload) -> Problems:
    pools = [each.pool for each in workload.strategy if each.pool is not None]
    managed = [each.name for each in pools if each.kind is PoolKind.MANAGED_INSTANCES]
    if workload.service_connect is True and managed:
        yield Problem(
            property_name="ServiceConnectConfiguration",
            message=f"{workload.name} is in Service Connect, which ECS Managed Instances ({and_list(managed)}) do not "
            "have",
            fix=Text("an Auto Scaling group for its hosts, or ", Word("ServiceRegistries of Cloud Map")),
        )
