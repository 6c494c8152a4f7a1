"""How many tasks a service has: the number that it is given, or one that follows its load; and how it is deployed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from gpu_constructs.cdk.arguments import known_number, whole_seconds
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cdk.validation import warn
from gpu_constructs.errors import IncompatibleError, InvalidValueError, unexpected
from gpu_constructs.fleet import UNKNOWN, PlacementConstraint, PoolKind, ServiceScaling, Unknown, Workload, total
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.reasons import listed
from gpu_constructs.placement.rollout import pool_needs, task_slots
from gpu_constructs.services.deployment import Filling, Percentages, Sharer
from gpu_constructs.services.endpoint import Targets
from gpu_constructs.services.scaling import ScaleBy, Scaling, add_policies
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import require_home, require_interfaces, shares_of

_OF_SERVICE: Mapping[str, str] = {
    "CapacityProviderStrategy": "capacity",
    "NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp": "assign_public_ip",
    "AssignPublicIp DISABLED": "leave it out",
    "AssignPublicIp ENABLED": "a public address",
    "NetworkMode awsvpc": "network_mode=ecs.NetworkMode.AWS_VPC",
}
_OF_SCALING: Mapping[str, str] = {"MinCapacity": "min_tasks", "MaxCapacity": "max_tasks", "Strategy": "by"}
_OF_TASK: Mapping[str, str] = {"Cpu": "cpu of a container", "Memory": "memory_mib of a container"}
# The ids of CDK's `auto_scale_task_count`, so that a service that was scaled with it keeps its resources.
_COUNT, _ROLE = "TaskCount", "ScalingRole"


class Counts:
    """How many tasks a service has, and which percentages of them a deployment keeps running and starts.

    Args:
        targets: What it runs on what, and where its requests are sent.
        given_count: The number of tasks that the user gave; None for one that scaling decides.
        count: The same as far as it is known.
        percentages: The percentages that the user gave, the minimum first; None for each that was not given.
        constraints: Where tasks may be placed, in addition to the constraints of the task definition.

    Attributes:
        workload: Its tasks on its capacity, as the value that every check reads, but for changes of the task.
    """

    def __init__(
        self,
        name: str,
        targets: Targets,
        *,
        given_count: int | None,
        count: int | Unknown,
        percentages: tuple[int | None, int | None],
        constraints: tuple[PlacementConstraint, ...],
        grace: cdk.Duration | None,
    ) -> None:
        self._targets = targets
        self._given_count = given_count
        self._grace = grace
        task, pools = targets.task.counted.with_ports(), [each.pool for each in targets.capacity]
        self.is_managed = pools[0].kind is PoolKind.MANAGED_INSTANCES
        slots = [task_slots(task, pool, constraints=constraints) for pool in pools]
        # Managed Instances have no maximum: a host comes for every task that waits.
        room = 2 * count if self.is_managed and isinstance(count, int) else total(slots)
        self._filling = Filling(alone=shares_of(targets.capacity, slots), most=count, write=self._fill)
        self.shares = self._filling.shares
        workload = Workload(
            name=name,
            task=task,
            strategy=tuple(each.item for each in self.shares),
            # What ECS starts with where no count is written.
            desired_count=1 if given_count is None else count,
            constraints=constraints,
        )
        self._sharer = Sharer(
            needs=pool_needs(workload), copies=count, room=room, given=percentages, write=self._deploy_with
        )
        self._sharer.count(targets.hosts.members(Sharer))
        self.percent = self._sharer.percentages
        self.workload = self.percent.on(workload)

    def require_allowed(self, cluster: ecs.ICluster, interfaces: Mapping[str, object]) -> None:
        """Refuses a service that cannot run."""
        require_home(self.workload, self._targets.capacity, cluster, _OF_SERVICE)
        require_allowed(self.workload, _OF_SERVICE)
        require_yes(self.workload, "GPU140", arguments=_OF_SERVICE)
        require_interfaces(self.workload, interfaces, _OF_SERVICE)
        if interfaces["assign_public_ip"]:
            addressed = replace(self.workload, network_configuration=True, assigns_public_ip=True)
            require_yes(addressed, "GPU126", arguments=_OF_SERVICE)

    def begin(self, service: ecs.Ec2Service, resource: ecs.CfnService) -> None:
        """Writes what CDK could not, and has the other services of its capacity count its tasks."""
        self._service, self._resource = service, resource
        percent, self.percent = self.percent, self.percent.for_cdk
        self._deploy_with(percent)
        self._targets.hosts.members(Sharer).append(self._sharer)
        self._sharer.tell_others()
        self._filling.join()

    def scale(
        self,
        by: Sequence[ScaleBy],
        *,
        min_tasks: int,
        max_tasks: int | None,
        scale_in_cooldown: cdk.Duration | None,
        scale_out_cooldown: cdk.Duration | None,
    ) -> ecs.ScalableTaskCount:
        """Lets the number of tasks follow the load, see `GpuService.scale`."""
        least = _known("min_tasks", min_tasks, smallest=0)
        room = self._room()
        most = self._most(least, room) if max_tasks is None else _known("max_tasks", max_tasks, smallest=least)
        self._require_free(by)
        _require_together(by, least, scale_out_cooldown)
        self._require_measured(by)
        for name, cooldown in (("scale_in_cooldown", scale_in_cooldown), ("scale_out_cooldown", scale_out_cooldown)):
            if cooldown is not None:
                whole_seconds(name, cooldown)
        room = 2 * most if self.is_managed else room
        percent = replace(self._sharer, copies=most, room=room, least=least).percentages
        policies = tuple(sorted(policy for each in by for policy in each.policies))
        counts = ServiceScaling(least=least, most=most, by=policies)
        scaled = percent.on(replace(self.workload, desired_count=UNKNOWN, scaling=counts))
        require_allowed(scaled, _OF_SCALING)
        if least > most:
            raise InvalidValueError(
                f"max_tasks is {most}, below min_tasks, which is {least}",
                argument="max_tasks",
                allowed=f"{least} or more",
                fix="a higher max_instances of its capacity",
            )
        loads = self._grace or cdk.Duration.seconds(self._targets.loading_seconds)
        count = self._scalable_count(least, most)
        if least == most:
            warn(
                count, "fixed-tasks", f"min_tasks and max_tasks are both {most}, so nothing changes the number of tasks"
            )
        scaling = Scaling(
            service=self._service,
            count=count,
            least=least,
            most=most,
            scale_in_cooldown=scale_in_cooldown or loads,
            scale_out_cooldown=scale_out_cooldown or loads,
            is_managed=self.is_managed,
        )
        seen: Counter[str] = Counter()
        for each in by:
            seen[each.name] += 1
            add_policies(each, each.name if seen[each.name] == 1 else f"{each.name}{seen[each.name]}", scaling)
        if self._given_count is not None:
            self._resource.desired_count = None
        self._deploy_with(percent)
        self.workload = scaled
        self._sharer.copies, self._sharer.room, self._sharer.least = most, room, least
        self._sharer.tell_others()
        self._filling.most = most
        self._filling.join()
        return count

    def _fill(self, first: Capacity, base: int) -> None:
        """Writes another base of its first capacity, if it is another one."""
        strategy = list(self.workload.strategy)
        place = self._targets.capacity.index(first)
        if strategy[place].base != base:
            self._resource.add_property_override(f"CapacityProviderStrategy.{place}.Base", base)
            strategy[place] = replace(strategy[place], base=base)
            self.workload = replace(self.workload, strategy=tuple(strategy))

    def _deploy_with(self, percent: Percentages) -> None:
        """Writes percentages that are not those of the template already."""
        before, self.percent = self.percent, percent
        self.workload = percent.on(self.workload)
        # One by one: an override of the whole would take the place of the one before it.
        if percent.least != before.least:
            self._resource.add_property_override("DeploymentConfiguration.MinimumHealthyPercent", percent.least)
        if percent.most != before.most:
            self._resource.add_property_override("DeploymentConfiguration.MaximumPercent", percent.most)

    def _room(self) -> int | Unknown:
        """Tasks that all hosts hold at their maximum; unknown of Managed Instances, which have none."""
        task, constraints = self._targets.task.counted.with_ports(), self.workload.constraints
        pools = [each.pool for each in self.workload.strategy if each.pool is not None]
        return total(task_slots(task, pool, constraints=constraints) for pool in pools)

    def _most(self, least: int, room: int | Unknown) -> int:
        """The default of `max_tasks`, as many as the capacity holds."""
        if isinstance(room, Unknown):
            raise InvalidValueError(
                f"{self._why_unknown}, so max_tasks is needed",
                argument="max_tasks",
                fix=f"max_tasks={least + 4}",
            )
        return room

    @property
    def _why_unknown(self) -> str:
        """Why it is not known how many tasks the hosts hold."""
        if self.is_managed:
            return "Managed Instances have no maximum"
        pools = [each.pool for each in self._targets.capacity]
        open_ = [
            *(_OF_TASK.get(each, each) for each in demand_of(self._targets.task.counted.with_ports()).unknown),
            *(f"max_instances of {each.name}" for each in pools if isinstance(each.max_instances, Unknown)),
            *(f"an instance type of {each.name}" for each in pools if not each.types_are_known),
        ]
        why = f" (only known at deploy time: {listed(open_)})" if open_ else ""
        return f"it is not known how many the hosts hold{why}"

    def _require_free(self, by: Sequence[ScaleBy]) -> None:
        """Refuses a list without policies, and a service whose number of tasks something else sets."""
        if not isinstance(by, Sequence) or not by or not all(isinstance(each, ScaleBy) for each in by):
            raise unexpected("by", by, "a list of ScaleBy", fix="a list around it: by=[ScaleBy.queue(…)]")
        desired = self._given_count
        if desired not in {None, 1}:
            raise IncompatibleError(
                "every deployment would set the number of tasks again, which scaling sets",
                argument="desired_count",
                value=desired,
                fix="leave desired_count out of the service; min_tasks keeps as many running",
                rule="GPU210",
            )

    def _require_measured(self, by: Sequence[ScaleBy]) -> None:
        """Refuses metrics that have no values for this service."""
        for each in by:
            if each.of_gpus is not None and not self.is_managed and not self._targets.hosts.are_measured:
                raise IncompatibleError(
                    "nothing measures the GPUs of tasks on hosts of an Auto Scaling group; ECS does on Managed "
                    "Instances alone",
                    argument="by",
                    value=each.of_gpus,
                    fix='cluster.add_monitoring("Monitoring") before this line, or ScaleBy.average(metric=…) with a '
                    "metric that the container sends",
                )
            if each.endpoint is not None:
                path = each.endpoint.target_group.node.path
                if not path.startswith(f"{self._service.node.path}/"):
                    raise IncompatibleError(
                        "the endpoint sends its requests to another service",
                        argument="endpoint",
                        value=path,
                        fix="what add_application_load_balancer of this service returned",
                    )

    def _scalable_count(self, least: int, most: int) -> ecs.ScalableTaskCount:
        """As CDK's `auto_scale_task_count`, which cannot be called again after an error."""
        if self._service.node.try_find_child(_ROLE) is not None:
            raise InvalidValueError(
                "the service is scaled already",
                argument="by",
                fix="all of them in one list, or the methods of what scale or auto_scale_task_count returned",
            )
        hosts = self._targets.hosts
        return ecs.ScalableTaskCount(
            self._service,
            _COUNT,
            service_namespace=appscaling.ServiceNamespace.ECS,
            resource_id=f"service/{hosts.cluster_name}/{self._service.service_name}",
            dimension="ecs:service:DesiredCount",
            role=iam.Role.from_role_arn(self._service, _ROLE, hosts.scaling_role_arn),
            min_capacity=least,
            max_capacity=most,
        )


def _known(argument: str, value: object, *, smallest: int) -> int:
    likely = max(smallest, 1)
    return known_number(
        argument,
        value,
        smallest=smallest,
        unit="tasks, no fewer than min_tasks" if smallest else "tasks",
        fix=f"{argument}={likely}",
        why="cannot be compared with what the hosts hold",
        known_by=f"{argument}={likely}, or service.auto_scale_task_count(…)",
    )


def _require_together(by: Sequence[ScaleBy], least: int, scale_out_cooldown: cdk.Duration | None) -> None:
    """Refuses policies that contradict each other or the smallest number of tasks."""
    alone = next((each for each in by if each.wakes), None)
    if alone is None:
        if least == 0:
            raise IncompatibleError(
                "without tasks there is nothing to measure and nothing starts the first one; a load balancer answers "
                "503",
                argument="min_tasks",
                value=0,
                allowed="1 or more",
                fix="min_tasks=1, or ScaleBy.queue(…) or ScaleBy.backlog(…), which are measured without tasks",
                rule="GPU211",
            )
        return
    if len(by) > 1:
        raise IncompatibleError(
            "a queue or a backlog says how many tasks there are, and anything else in the list says it as well",
            argument="by",
            value=[each.name for each in by],
            fix="one ScaleBy.backlog(metric=…) of metric math, such as MAX([tokens / 1000, images]) with per_task=1",
        )
    if scale_out_cooldown is not None:
        raise IncompatibleError(
            "a queue or a backlog says how many tasks it takes, and they are started at once",
            argument="scale_out_cooldown",
            fix="leave it out",
        )
