"""Hosts that are kept prepared: the warm pool of an Auto Scaling group."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct

from gpu_constructs.capacity.part import HostGroup
from gpu_constructs.cdk.arguments import known_or, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import UNKNOWN, Unknown, WarmPool

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
        max_prepared: Hosts in service and prepared together up to which more than `hosts` are prepared. By default
            `hosts`, so that exactly these wait.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    hosts: int
    state: str = "Stopped"
    max_prepared: int | None = None

    def __post_init__(self) -> None:
        hosts = whole_number("hosts", self.hosts, smallest=1, unit="hosts", fix="WarmHosts(hosts=1), or no warm hosts")
        object.__setattr__(self, "hosts", known_or(self.hosts, hosts))
        if not isinstance(self.state, str) or self.state not in _STATES:
            raise InvalidValueError(
                _NO_HIBERNATION if self.state == "Hibernated" else f"no such state, {shown(self.state)}",
                argument="state",
                value=self.state,
                allowed=" or ".join(map(repr, _STATES)),
                fix="leave it out, and the hosts are stopped",
                rule="GPU170" if self.state == "Hibernated" else None,
            )
        if self.max_prepared is None:
            return
        most = whole_number("max_prepared", self.max_prepared, smallest=1, unit="hosts", fix="leave it out")
        if not isinstance(most, Unknown) and not isinstance(hosts, Unknown) and most < hosts:
            raise InvalidValueError(
                f"{hosts} hosts are always prepared, and {most} in service and prepared together at most",
                argument="max_prepared",
                value=most,
                allowed=f"{hosts} or more",
                fix="leave it out",
            )
        object.__setattr__(self, "max_prepared", known_or(self.max_prepared, most))

    @property
    def as_warm_pool(self) -> WarmPool:
        """The same as the value that every check reads."""
        most = self.hosts if self.max_prepared is None else self.max_prepared
        return WarmPool(
            state=self.state,
            min_size=UNKNOWN if is_token(self.hosts) else self.hosts,
            max_prepared=UNKNOWN if is_token(most) else most,
        )

    def add_to(self, scope: Construct, group: HostGroup) -> None:
        """Defines the warm pool; CDK's L2 takes a number that is only known at deploy time for a negative one.

        Args:
            scope: The capacity.
            group: Its Auto Scaling group.
        """
        autoscaling.CfnWarmPool(
            scope,
            "WarmPool",
            auto_scaling_group_name=group.name,
            min_size=self.hosts,
            max_group_prepared_capacity=self.hosts if self.max_prepared is None else self.max_prepared,
            pool_state=self.state,
        )
