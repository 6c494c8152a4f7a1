"""What only an Auto Scaling group says about its hosts, those that it keeps prepared and how it replaces them."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPool:
    """Hosts that have booted once and wait, so that the next ones come sooner.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html

    Attributes:
        state: How they wait: ``Stopped``, ``Running``, ``Hibernated``, or whatever else was written.
        min_size: Hosts that are always prepared.
        max_prepared: Hosts in service and prepared together up to which more are prepared; None is the group's own
            maximum.
        reuse_on_scale_in: Whether a host goes back to the pool when the group shrinks.
    """

    state: str | Unknown = "Stopped"
    min_size: int | Unknown = 0
    max_prepared: int | Unknown | None = None
    reuse_on_scale_in: bool | Unknown = False


class UpdateMethod(Enum):
    """How CloudFormation brings a change of an Auto Scaling group to the hosts that run."""

    INSTANCE_REFRESH = "AutoScalingInstanceRefresh"
    ROLLING = "AutoScalingRollingUpdate"
    REPLACING = "AutoScalingReplacingUpdate"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUpdate:
    """What a deploy does with the hosts that run when it changes what the next ones are.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html

    Attributes:
        method: How it replaces them.
        min_healthy_percent: Of an instance refresh: hosts that stay in service, in percent of those that run.
        max_healthy_percent: Of an instance refresh: hosts in service and on their way at most, likewise.
        replaces_protected: Of an instance refresh: whether it replaces hosts that are protected from scale-in.
        min_in_service: Of a rolling update: hosts that stay in service.
        suspended: Of a rolling update: processes of Auto Scaling that stand still meanwhile.
    """

    method: UpdateMethod
    min_healthy_percent: int | Unknown = 100
    max_healthy_percent: int | Unknown = 110
    replaces_protected: bool | Unknown = False
    min_in_service: int | Unknown = 0
    suspended: tuple[str | Unknown, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """What only an Auto Scaling group says about its hosts.

    Attributes:
        warm_pool: The hosts that it keeps prepared; None without.
        update: How a deploy replaces hosts that run; None where they stay as they are.
        name: Its unique name, by which two providers of one group are found: the logical id, after the name of its
            stack where two stacks have the same one. None where the files that were read do not define a group.
        desired_instances: Hosts that it is set to; None if nothing was written.
        subnets: Subnets that it lists, as far as they are known; only templates say so.
        capacity_of_a_host: What one host counts in its sizes as they are written: 1; unknown where hosts have weights,
            or the sizes are vCPUs or MiB, as only templates have them.
        scale_in_protection: Whether it protects new hosts from scale-in, which managed termination protection needs;
            only templates say so.
        may_be_started_by_others: Whether something else than ECS may start hosts in it, as far as the files say: a
            scheduled action, a scaling policy, or whoever may call Auto Scaling.
    """

    warm_pool: WarmPool | None = None
    update: HostUpdate | None = None
    name: str | None = field(default=None, compare=False)
    desired_instances: int | Unknown | None = None
    subnets: int = field(default=0, compare=False)
    capacity_of_a_host: int | Unknown = 1
    scale_in_protection: bool | Unknown = field(default=UNKNOWN, compare=False)
    may_be_started_by_others: bool = False
