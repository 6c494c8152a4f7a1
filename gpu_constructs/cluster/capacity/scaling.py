"""How hosts come and leave: managed scaling, warm pools, and the replacement of hosts that run by a deploy."""

from __future__ import annotations

from dataclasses import replace

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.cdk.arguments import flag, known_number, number_of, require_kind
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cluster.capacity.part import Contribution, HostPart
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.aws_limits import MANAGED_SCALING, MAX_PERCENT
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, HostUpdate, Pool, Unknown, UpdateMethod, WarmPool


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class HostReplacement:
    """Replaces running hosts, some at a time, when a deploy changes what the next ones are made from.

    CloudFormation starts an instance refresh when the launch template or how hosts are bought changes: a new image,
    volume, user data, EFA, spot instead of on demand. With ECS managed draining, the tasks of a host move first; the
    deploy ends when the last host is replaced. It needs:

    - a place for the tasks of the hosts that leave. With `launch_first` it is a new host, which takes stock and quota
      for one more. Without, it is free room on the other hosts, or a service that may run one copy less; a `GpuService`
      does so by default where its hosts are full;
    - the same instance types. Running tasks can only be placed on the types that their task definition names: for other
      types, add a second capacity, and remove the first in the next deploy;
    - tasks that end. A host waits up to 48 hours for tasks that were started by hand, and is terminated with them.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instance-draining.html

    Args:
        launch_first: Whether a new host comes before an old one goes. By default it does. With False
            there are never more hosts than `max_instances`: for reserved hosts, and where EC2 has no more of them.
        percent_at_once: Hosts that are replaced together, in percent of those that run, 1 to 100; always at least one.
            By default 10.
    """

    launch_first: bool = True
    percent_at_once: int = 10

    def __post_init__(self) -> None:
        flag("launch_first", self.launch_first)
        percent = known_number(
            "percent_at_once",
            self.percent_at_once,
            smallest=1,
            largest=MAX_PERCENT,
            unit="percent",
            fix="percent_at_once=10",
            problem="the percentages of the instance refresh are computed at synth, so this number must be known then",
            known_by="percent_at_once=10",
        )
        object.__setattr__(self, "percent_at_once", percent)

    def update_of(self, pool: Pool) -> HostUpdate:
        """The same as the value that every check reads."""
        stay = MAX_PERCENT if self.launch_first else MAX_PERCENT - self.percent_at_once
        if not self.launch_first and isinstance(pool.max_instances, int) and pool.max_instances:
            # All hosts but one at most: Auto Scaling rounds up, and launches first where no host could go.
            stay = min(stay, MAX_PERCENT * (pool.max_instances - 1) // pool.max_instances)
        return HostUpdate(
            method=UpdateMethod.INSTANCE_REFRESH,
            min_healthy_percent=stay,
            max_healthy_percent=MAX_PERCENT + (self.percent_at_once if self.launch_first else 0),
            replaces_protected=pool.managed_termination_protection is True,
        )

    def update_policy_data(self, pool: Pool, warmup_seconds: int) -> dict[str, object]:
        """The update policy of the group; aws-cdk-lib 2.275 has an argument for it, and 2.262 has none."""
        update = self.update_of(pool)
        preferences: dict[str, object] = {
            "InstanceWarmup": warmup_seconds,
            "MinHealthyPercentage": update.min_healthy_percent,
            "MaxHealthyPercentage": update.max_healthy_percent,
        }
        if update.replaces_protected:
            # An instance refresh waits an hour for hosts that are protected from scale-in, and fails.
            preferences["ScaleInProtectedInstances"] = "Refresh"
        return {str(update.method): {"Strategy": "Rolling", "Preferences": preferences}}


_STATES = ("Stopped", "Running")
# No type with accelerators has HibernationSupported in DescribeInstanceTypes (the dump of moto 5.2.5, 2026-09-29).
_NO_HIBERNATION = "EC2 hibernates no type with accelerators, and only hosts whose launch template allows it"


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class WarmHosts:
    """Hosts that have booted once and wait, so that the next ones come sooner.

    They have their driver, and no container image before their first task. ``Stopped`` hosts cost their volumes only,
    and hold no capacity: a stopped host starts again only if EC2 has room for it. ``Running`` hosts cost what hosts
    cost. The agent waits until its host is put into service (``ECS_WARM_POOLS_CHECK``), and no host returns to the
    pool, which ECS does not allow. No page says that Spot hosts can be kept warm, Bottlerocket has no setting that
    makes its agent wait, and EC2 hibernates no type with accelerators, so there is no ``Hibernated``.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-warm-pool.html

    Args:
        hosts: How many are always prepared, 1 or more.
        state: How they wait: ``Stopped`` or ``Running``. By default ``Stopped``.
    """

    hosts: int
    state: str = "Stopped"

    def __post_init__(self) -> None:
        number_of(self, "hosts", smallest=1, unit="hosts", fix="WarmHosts(hosts=1), or no warm hosts")
        if not isinstance(self.state, str) or self.state not in _STATES:
            raise InvalidValueError(
                _NO_HIBERNATION if self.state == "Hibernated" else f"no such state, {shown(self.state)}",
                argument="state",
                value=self.state,
                allowed=" or ".join(map(repr, _STATES)),
                fix="leave it out, and the hosts are stopped",
                rule="GPU170" if self.state == "Hibernated" else None,
            )

    @property
    def as_warm_pool(self) -> WarmPool:
        """The same as the value that every check reads."""
        size = UNKNOWN if is_token(self.hosts) else self.hosts
        return WarmPool(state=self.state, min_size=size, max_prepared=size)

    def add_to(self, scope: Construct, group: autoscaling.AutoScalingGroup) -> None:
        """Defines the warm pool; CDK's L2 takes a number that is only known at deploy time for a negative one."""
        autoscaling.CfnWarmPool(
            scope,
            "WarmPool",
            auto_scaling_group_name=group.auto_scaling_group_name,
            min_size=self.hosts,
            max_group_prepared_capacity=self.hosts,
            pool_state=self.state,
        )


# CUDA images of several GB on a host that first loads its driver: the default of 300 s would let managed scaling take
# a second step before the first hosts have registered.
_GPU_WARMUP_SECONDS = 600
_CPU_WARMUP_SECONDS = 300

# Argument, the setting that it is, its unit, an example.
_NUMBERS = (
    ("instance_warmup_seconds", "InstanceWarmupPeriod", "seconds", _GPU_WARMUP_SECONDS),
    ("minimum_scaling_step_size", "MinimumScalingStepSize", "hosts", 1),
    ("maximum_scaling_step_size", "MaximumScalingStepSize", "hosts", 10),
    ("target_capacity_percent", "TargetCapacity", "percent", 100),
)


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class HostScaling(HostPart):
    """How ECS managed scaling moves the hosts of a capacity.

    From no host at all ECS always launches two, one of which goes again if nothing needs it; a `max_instances` of 1 is
    what keeps the second away. Whether a `maximum_scaling_step_size` of 1 does too is UNCONFIRMED: the page about the
    two names no exception. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html

    Args:
        instance_warmup_seconds: How long a new host counts as on its way, in which no second step is taken. By default
            600 with accelerators, whose images and drivers take minutes, and 300 without.
        minimum_scaling_step_size: Hosts that one step adds at least, needed or not. By default 1.
        maximum_scaling_step_size: Hosts that one step adds at most. By default as many as are needed: where a host
            takes minutes, and the next step waits for it, small steps make a fleet late.
        target_capacity_percent: Percent of the hosts that are in use; 90 keeps one host in ten free. By default 100.
        managed_termination_protection: Whether hosts with tasks are protected from scale-in. By default not: managed
            draining already lets their tasks end, and protected hosts keep a stack from being deleted.
        warm_hosts: Hosts that are kept prepared. By default none.
        replacement: How a deploy replaces running hosts when the image or something else that they are made from
            changes. By default not: running hosts stay as they are, and only later ones are new.
    """

    instance_warmup_seconds: int | None = None
    minimum_scaling_step_size: int | None = None
    maximum_scaling_step_size: int | None = None
    target_capacity_percent: int | None = None
    managed_termination_protection: bool = False
    warm_hosts: WarmHosts | None = None
    replacement: HostReplacement | None = None

    def __post_init__(self) -> None:
        numbers: dict[str, int | Unknown] = {}
        for argument, setting, unit, example in _NUMBERS:
            if getattr(self, argument) is not None:
                smallest, largest = MANAGED_SCALING[setting]
                numbers[argument] = number_of(
                    self, argument, smallest=smallest, largest=largest, unit=unit, fix=f"{argument}={example}"
                )
        least, most = numbers.get("minimum_scaling_step_size"), numbers.get("maximum_scaling_step_size")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            raise InvalidValueError(
                f"steps of {least} hosts at least and {most} at most contradict each other",
                argument="minimum_scaling_step_size",
                value=least,
                allowed=f"1 to {most}",
                fix=f"maximum_scaling_step_size={least}, or a smaller minimum_scaling_step_size",
            )
        flag("managed_termination_protection", self.managed_termination_protection)
        for argument, kind, arguments in (("warm_hosts", WarmHosts, "hosts=1"), ("replacement", HostReplacement, "")):
            given = getattr(self, argument)
            if given is not None:
                require_kind(argument, given, kind, example=f"{kind.__name__}({arguments})")

    @property
    def rules(self) -> tuple[str, ...]:
        """Those about hosts that wait and hosts that are replaced."""
        of_warm = () if self.warm_hosts is None else ("GPU170", "GPU171")
        return of_warm if self.replacement is None else (*of_warm, "GPU222")

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this scaling, as the value that every check reads."""
        pool = replace(pool, managed_termination_protection=self.managed_termination_protection)
        settings = replace(
            pool.group,
            warm_pool=None if self.warm_hosts is None else self.warm_hosts.as_warm_pool,
            update=None if self.replacement is None else self.replacement.update_of(pool),
        )
        return replace(pool, group=settings)

    def contribute(self, adds: Contribution, pool: Pool) -> None:
        """Makes the agent of a host in a warm pool wait, and lets running hosts go."""
        if self.warm_hosts is not None:
            adds.agent["ECS_WARM_POOLS_CHECK"] = "true"
        if self.replacement is not None:
            adds.update_policy |= self.replacement.update_policy_data(pool, self._warmup_seconds(pool))

    def provider(
        self, scope: Construct, group: autoscaling.AutoScalingGroup, pool: Pool, *, name: str | None
    ) -> ecs.AsgCapacityProvider:
        """Defines the capacity provider that moves the group with the tasks."""
        return ecs.AsgCapacityProvider(
            scope,
            "Provider",
            auto_scaling_group=group,
            capacity_provider_name=name,
            enable_managed_scaling=True,
            enable_managed_draining=True,
            enable_managed_termination_protection=self.managed_termination_protection,
            instance_warmup_period=self._warmup_seconds(pool),
            minimum_scaling_step_size=self.minimum_scaling_step_size,
            maximum_scaling_step_size=self.maximum_scaling_step_size,
            target_capacity_percent=self.target_capacity_percent,
            machine_image_type=ecs.MachineImageType.BOTTLEROCKET
            if pool.operating_system is OperatingSystem.BOTTLEROCKET
            else ecs.MachineImageType.AMAZON_LINUX_2,
        )

    def _warmup_seconds(self, pool: Pool) -> int:
        """How long a new host takes until it runs tasks."""
        if self.instance_warmup_seconds is not None:
            return self.instance_warmup_seconds
        return _GPU_WARMUP_SECONDS if pool.shape is None or pool.shape.vendor else _CPU_WARMUP_SECONDS
