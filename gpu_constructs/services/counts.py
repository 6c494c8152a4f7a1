"""How many tasks a service has: the number that it is given, or one that follows its load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from gpu_constructs.cdk.arguments import whole_number, whole_seconds
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import UNKNOWN, PoolKind, ServiceScaling, Unknown, Workload, total
from gpu_constructs.placement import task_slots
from gpu_constructs.services.deployment import Filling, Percentages, Sharer
from gpu_constructs.services.metrics import require_here
from gpu_constructs.services.scaling import Average, Backlog, GpuUse, Requests, ScaleBy, Scaling
from gpu_constructs.services.target import Targets
from gpu_constructs.tasks.task_target import Capacity

_ARGUMENTS = {"MinCapacity": "min_tasks", "MaxCapacity": "max_tasks", "Strategy": "by"}
# The ids of CDK's `auto_scale_task_count`, so that a service that was scaled with it keeps its resources.
_COUNT, _ROLE = "TaskCount", "ScalingRole"


@dataclass(slots=True, kw_only=True, eq=False)
class Counts:
    """How many tasks a service has, and which percentages of them a deployment keeps running and starts.

    Attributes:
        service: The service.
        resource: Its resource.
        targets: Where load balancers send its requests, and what it runs on.
        workload: Its tasks on its capacity, as the value that every check reads, but for changes of the task.
        percent: The percentages in its template.
        sharer: The service as those see it that share capacity with it.
        filling: What it fills of a capacity that is filled first.
        given_count: The number of tasks that the user gave; None for one that scaling decides.
        given_grace: The health check grace period that the user gave.
    """

    service: ecs.Ec2Service
    resource: ecs.CfnService
    targets: Targets
    workload: Workload
    percent: Percentages
    sharer: Sharer
    filling: Filling
    given_count: int | None
    given_grace: cdk.Duration | None

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
        most = self._most(least, room) if max_tasks is None else _known("max_tasks", max_tasks, smallest=1)
        self._require_free(by)
        _require_together(by, least, scale_out_cooldown)
        self._require_measured(by)
        for name, cooldown in (("scale_in_cooldown", scale_in_cooldown), ("scale_out_cooldown", scale_out_cooldown)):
            if cooldown is not None:
                whole_seconds(name, cooldown)
        room = 2 * most if self._is_managed else room
        sharer = replace(self.sharer, copies=most, room=room, least=least)
        percent = sharer.percentages
        policies = tuple(sorted(policy for each in by for policy in each.policies))
        counts = ServiceScaling(least=least, most=most, by=policies)
        scaled = percent.on(replace(self.workload, desired_count=UNKNOWN, scaling=counts))
        require_allowed(scaled, _ARGUMENTS)
        require_yes(scaled, "GPU213", arguments=_ARGUMENTS)
        if least >= most:
            raise InvalidValueError(
                f"min_tasks is {least} and max_tasks is {most}, so nothing changes the number",
                argument="max_tasks",
                value=max_tasks,
                allowed=f"{least + 1} or more",
                fix="a higher max_instances of its capacity" if max_tasks is None else f"max_tasks={least + 1}",
            )
        grace = self.given_grace
        role = self._scaling_role()
        count = self._scalable_count(role, least, most)
        scaling = Scaling(
            service=self.service,
            count=count,
            least=least,
            most=most,
            scale_in_cooldown=scale_in_cooldown or grace,
            scale_out_cooldown=scale_out_cooldown or grace,
            loading_seconds=self.targets.loading_seconds,
            is_managed=self._is_managed,
        )
        seen: Counter[str] = Counter()
        for each in by:
            seen[each.name] += 1
            each.add_to(each.name if seen[each.name] == 1 else f"{each.name}{seen[each.name]}", scaling)
        if self.given_count is not None:
            self.resource.desired_count = None
        self.deploy_with(percent)
        self.workload = scaled
        self.sharer.copies, self.sharer.room, self.sharer.least = most, room, least
        self.sharer.tell_others()
        self.filling.most = most
        self.filling.join()
        return count

    def share(self) -> None:
        """Has the other services of its capacity count its tasks, once it is made."""
        self.targets.hosts.members(Sharer).append(self.sharer)
        self.sharer.tell_others()
        self.filling.join()

    def fill(self, first: Capacity, base: int) -> None:
        """Writes another base of its first capacity, if it is another one."""
        strategy = list(self.workload.strategy)
        place = self.targets.capacity.index(first)
        if strategy[place].base != base:
            self.resource.add_property_override(f"CapacityProviderStrategy.{place}.Base", base)
            strategy[place] = replace(strategy[place], base=base)
            self.workload = replace(self.workload, strategy=tuple(strategy))

    def deploy_with(self, percent: Percentages) -> None:
        """Writes percentages that are not those of the template already."""
        before, self.percent = self.percent, percent
        self.workload = percent.on(self.workload)
        # One by one: an override of the whole would take the place of the one before it.
        if percent.least != before.least:
            self.resource.add_property_override("DeploymentConfiguration.MinimumHealthyPercent", percent.least)
        if percent.most != before.most:
            self.resource.add_property_override("DeploymentConfiguration.MaximumPercent", percent.most)

    @property
    def _is_managed(self) -> bool:
        pools = [each.pool for each in self.workload.strategy]
        return any(each is not None and each.kind is PoolKind.MANAGED_INSTANCES for each in pools)

    def _room(self) -> int | Unknown:
        """Tasks that all hosts hold at their maximum; unknown of Managed Instances, which have none."""
        task, constraints = self.targets.task.counted.with_ports(), self.workload.constraints
        pools = [each.pool for each in self.workload.strategy if each.pool is not None]
        return total(task_slots(task, pool, constraints=constraints) for pool in pools)

    def _most(self, least: int, room: int | Unknown) -> int:
        """The default of `max_tasks`, as many as the capacity holds."""
        if isinstance(room, Unknown):
            why = "Managed Instances have no maximum" if self._is_managed else "it is not known how many the hosts hold"
            raise InvalidValueError(
                f"{why}, so max_tasks is needed",
                argument="max_tasks",
                fix=f"max_tasks={least + 4}",
            )
        return room // 2 if self.targets.shifts_requests else room

    def _require_free(self, by: Sequence[ScaleBy]) -> None:
        """Refuses a list without policies, and a service whose number of tasks something else sets."""
        if not isinstance(by, Sequence) or not by or not all(isinstance(each, ScaleBy) for each in by):
            raise InvalidValueError(
                f"expects a list of ScaleBy, got {shown(by)}",
                argument="by",
                value=by,
                fix="by=[ScaleBy.requests(endpoint=https, per_task_per_minute=60)]",
            )
        desired = self.given_count
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
            if isinstance(each, GpuUse) and not self._is_managed and not self.targets.hosts.are_measured:
                raise IncompatibleError(
                    "nothing measures the GPUs of tasks on hosts of an Auto Scaling group; ECS does on Managed "
                    "Instances alone",
                    argument="by",
                    value=each.metric_name,
                    fix='cluster.add_monitoring("Monitoring") before this line, or ScaleBy.average(metric=…) with a '
                    "metric that the container sends",
                )
            # The metrics of a queue say no region, and to ask them takes four requests to Node.
            if isinstance(each, Average) or (isinstance(each, Backlog) and not each.is_of_queue):
                require_here(each.metric, cdk.Stack.of(self.service))
            if isinstance(each, Requests) and not each.endpoint.target_group.node.path.startswith(
                f"{self.service.node.path}/"
            ):
                raise IncompatibleError(
                    "the endpoint sends its requests to another service",
                    argument="endpoint",
                    value=each.endpoint.target_group.node.path,
                    fix="what add_application_load_balancer of this service returned",
                )

    def _scaling_role(self) -> iam.IRole:
        """The first construct that scaling makes, which only a service has that is not scaled yet."""
        if self.service.node.try_find_child(_ROLE) is not None:
            raise InvalidValueError(
                "the service is scaled already",
                argument="by",
                fix="all of them in one list, or the methods of what scale or auto_scale_task_count returned",
            )
        return iam.Role.from_role_arn(self.service, _ROLE, self.targets.hosts.scaling_role_arn)

    def _scalable_count(self, role: iam.IRole, least: int, most: int) -> ecs.ScalableTaskCount:
        """As CDK's `auto_scale_task_count`, which cannot be called again after an error."""
        return ecs.ScalableTaskCount(
            self.service,
            _COUNT,
            service_namespace=appscaling.ServiceNamespace.ECS,
            resource_id=f"service/{self.targets.hosts.cluster_name}/{self.service.service_name}",
            dimension="ecs:service:DesiredCount",
            role=role,
            min_capacity=least,
            max_capacity=most,
        )


def _known(argument: str, value: object, *, smallest: int) -> int:
    number = whole_number(argument, value, smallest=smallest, unit="tasks", fix=f"{argument}={smallest}")
    if isinstance(number, Unknown):
        raise InvalidValueError(
            "a number that is only known at deploy time cannot be compared with what the hosts hold",
            argument=argument,
            fix=f"{argument}={max(smallest, 1)}, or service.auto_scale_task_count(…)",
        )
    return number


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
