"""How the hosts of a capacity are bought, and when those of a Capacity Block come and go.

The latter are scheduled actions of their Auto Scaling group:
https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime, timedelta, timezone

from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct

from gpu_constructs.cdk.arguments import flag, known_number, known_or, whole_number
from gpu_constructs.cdk.kinds import names_checked, with_names_checked
from gpu_constructs.cdk.tokens import known_text
from gpu_constructs.cluster.capacity.part import Contribution, HostPart
from gpu_constructs.cluster.hosts.providers import require_group_arn, require_reservation_id
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts.aws_limits import CAPACITY_BLOCK_ENDS_EARLY_MINUTES
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    BOUGHT_IN_ADVANCE,
    RESERVATIONS_FIRST,
    RESERVATIONS_ONLY,
    RESERVED_INSTANCES,
    UNKNOWN,
    Block,
    Bought,
    Distribution,
    Pool,
    PurchaseOption,
    Reservation,
    Unknown,
)

DRAIN_MINUTES = 45
"""How long before its end a Capacity Block is drained by default: a quarter of an hour for tasks to end."""


def block_of(*, starts: datetime | None, ends: datetime, drain_minutes: int) -> Block:
    """When the hosts of a Capacity Block are there: they are asked to leave some minutes before it ends."""
    start = None if starts is None else _in_utc("starts", starts)
    end = _in_utc("ends", ends)
    minutes = known_number(
        "drain_minutes",
        drain_minutes,
        smallest=CAPACITY_BLOCK_ENDS_EARLY_MINUTES + 1,
        unit="minutes",
        fix=f"drain_minutes={DRAIN_MINUTES}; EC2 terminates what runs {CAPACITY_BLOCK_ENDS_EARLY_MINUTES} minutes "
        "before the end",
        why="cannot be taken from a time that is written at synth",
        known_by=f"drain_minutes={DRAIN_MINUTES}",
    )
    try:
        drains = end - timedelta(minutes=minutes)
    except OverflowError:
        drains = None
    if drains is None or (start is not None and drains <= start):
        raise InvalidValueError(
            f"a block that is drained {minutes} minutes before {_written(end)}"
            + ("" if start is None else f" and starts {_written(start)}")
            + " leaves no time for tasks",
            argument="ends",
            value=_written(end),
            allowed="" if start is None else f"more than {minutes} minutes after {_written(start)}",
            fix="EndDate of the block, as aws ec2 describe-capacity-reservations prints it",
        )
    return Block(starts=None if start is None else _written(start), ends=_written(drains))


def schedule_block(scope: Construct, group: autoscaling.AutoScalingGroup, block: Block, *, max_instances: int) -> None:
    """Defines the scheduled actions.

    The one at the start sets both sizes, so that a group that an earlier block left at zero grows again. Deploys in
    between change neither, because CDK gives every Auto Scaling group the update policy
    ``IgnoreUnmodifiedGroupSizeProperties``. From the start on all hosts run: they are paid for, whether they run or
    not.
    """
    for construct_id, time, size in (("BlockStart", block.starts, max_instances), ("BlockDrain", block.ends, 0)):
        if isinstance(time, str):
            autoscaling.CfnScheduledAction(
                scope,
                construct_id,
                auto_scaling_group_name=group.auto_scaling_group_name,
                start_time=time,
                min_size=size,
                max_size=size,
            )


def _in_utc(argument: str, value: datetime) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        problem = (
            "a time without a time zone could mean any of them" if isinstance(value, datetime) else "expects a time"
        )
        when = value if isinstance(value, datetime) else datetime(2026, 12, 1, 11, 30, tzinfo=timezone.utc)
        raise InvalidValueError(
            f"{problem}, got {shown(value)}",
            argument=argument,
            value=value,
            fix=f"datetime({when.year}, {when.month}, {when.day}, {when.hour}, {when.minute}, tzinfo=timezone.utc)",
        )
    try:
        return value.astimezone(timezone.utc)
    except OverflowError:
        raise InvalidValueError(
            f"{shown(value)} is not a time in UTC", argument=argument, value=value, fix="the times of the block"
        ) from None


def _written(moment: datetime) -> str:
    """As Auto Scaling takes it (StartTime of PutScheduledUpdateGroupAction)."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase(HostPart):
    """How the hosts of a capacity are bought. Made by one of the class methods alone, on demand by default.

    Attributes:
        option: How the hosts are bought, in one word; unknown where a number is only known at deploy time.
        distribution: What of it is on demand and what is spot; None where it is all one.
        reservation: The capacity reservations that the hosts run in; None without.
        block: When the hosts of a Capacity Block are there; None for any other purchase.
        instances: Hosts that were bought in advance, as given; None where their number was not given.
        split: Base and percentage on demand, as given; None where nothing is spot.
        target: The reservation or the resource group of reservations, as given; None for any that is open.
    """

    option: PurchaseOption | Unknown = field(default=PurchaseOption.ON_DEMAND, init=False)
    distribution: Distribution | None = field(default=None, init=False)
    reservation: Reservation | None = field(default=None, init=False)
    block: Block | None = field(default=None, init=False)
    instances: int | None = field(default=None, init=False)
    split: tuple[int, int] | None = field(default=None, init=False)
    target: str | None = field(default=None, init=False)

    @classmethod
    @names_checked
    def on_demand(cls) -> Purchase:
        """On demand, by the second, in whatever capacity there is, open capacity reservations that match included."""
        return cls()

    @classmethod
    @names_checked
    def spot(cls, *, on_demand_base: int = 0, on_demand_percentage: int = 0) -> Purchase:
        """Spot, allocated by price and capacity, above a base on demand.

        Hosts begin to drain when EC2 wants them back, two minutes before it takes them. Capacity Rebalancing, which
        replaces them earlier, is off without `capacity_rebalance`: EC2 gives ECS no notice of it
        (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/spot-instance-draining-linux-container.html).
        Several instance types of one shape are taken back less often than one.

        Args:
            on_demand_base: Hosts on demand before any Spot host starts. By default none.
            on_demand_percentage: Percent of the hosts above the base that are on demand, 0 to 99. By default none.
        """
        base = whole_number("on_demand_base", on_demand_base, smallest=0, unit="hosts", fix="on_demand_base=1")
        percentage = whole_number(
            "on_demand_percentage",
            on_demand_percentage,
            smallest=0,
            largest=99,
            unit="percent",
            fix="Purchase.on_demand() where no host is spot",
        )
        if isinstance(base, Unknown) or isinstance(percentage, Unknown):
            option: PurchaseOption | Unknown = UNKNOWN
        else:
            option = PurchaseOption.MIXED if base or percentage else PurchaseOption.SPOT
        return cls._bought(
            option,
            distribution=Distribution(
                on_demand_base=base, on_demand_percentage=percentage, spot_allocation="price-capacity-optimized"
            ),
            split=(known_or(on_demand_base, base), known_or(on_demand_percentage, percentage)),
        )

    @classmethod
    @names_checked
    def reservations(
        cls,
        *,
        reservation_id: str | None = None,
        resource_group_arn: str | None = None,
        only: bool = False,
        instances: int | None = None,
    ) -> Purchase:
        """On-Demand Capacity Reservations first, and on demand where they have no room left.

        https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-ec2-capacity-reservations.html

        Args:
            reservation_id: The one reservation to use, ``cr-…``. By default every open one that matches.
            resource_group_arn: The resource group of reservations to use instead.
            only: Whether hosts start in the reservations or not at all. By default they start on demand then.
            instances: Hosts that are reserved, so that more than these are refused with `only`. By default the
                number is not checked.
        """
        if reservation_id is not None:
            require_reservation_id(reservation_id)
        if resource_group_arn is not None:
            require_group_arn(resource_group_arn)
        if reservation_id is not None and resource_group_arn is not None:
            raise InvalidValueError(
                "one reservation and a group of them are given",
                argument="reservation_id",
                value=reservation_id,
                allowed="one of both",
                fix="leave reservation_id out, and put that reservation into the group",
            )
        flag("only", only)
        count = None if instances is None else _instances(instances)
        return cls._bought(
            PurchaseOption.RESERVED if only else PurchaseOption.ON_DEMAND,
            reservation=Reservation(
                preference=RESERVATIONS_ONLY if only else RESERVATIONS_FIRST,
                id=None if reservation_id is None else known_text(reservation_id),
                group=None if resource_group_arn is None else known_text(resource_group_arn),
                instances=count,
            ),
            instances=instances if count is None else known_or(instances, count),
            target=reservation_id if resource_group_arn is None else resource_group_arn,
        )

    @classmethod
    @names_checked
    def capacity_block(
        cls,
        reservation_id: str,
        *,
        instances: int,
        ends: datetime,
        starts: datetime | None = None,
        drain_minutes: int = DRAIN_MINUTES,
    ) -> Purchase:
        """A Capacity Block for ML: hosts of one type in one zone, paid for in advance, there for a time.

        At the start the group grows to ``max_instances``, since those hosts cost the same idle; before the end it
        shrinks to none, so that managed draining lets their tasks end before EC2 terminates them
        (https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html). Launches before
        the start fail, and tasks wait for it. After the end the group stays at none, whatever its purchase becomes,
        until a block with `starts` or another ``max_instances`` is deployed.

        Args:
            reservation_id: The reservation of the block, ``cr-…``.
            instances: Hosts of the block; ``max_instances`` may not be more.
            ends: When the block ends, with a time zone.
            starts: When the block starts, with a time zone. By default it already has: Auto Scaling refuses a schedule
                in the past, and hosts then come with the tasks. Leave it out once it is past, if `max_instances`
                changes.
            drain_minutes: How long before the end hosts are asked to leave, more than the 30 minutes at which EC2
                terminates them. By default 45.
        """
        require_reservation_id(reservation_id)
        count = _instances(instances)
        return cls._bought(
            PurchaseOption.CAPACITY_BLOCK,
            reservation=Reservation(id=known_text(reservation_id), instances=count),
            block=block_of(starts=starts, ends=ends, drain_minutes=drain_minutes),
            instances=known_or(instances, count),
            target=reservation_id,
        )

    @classmethod
    def _bought(cls, option: PurchaseOption | Unknown, **facts: object) -> Purchase:
        # No field is an argument: one without the others would be bought in another way than it says.
        made = cls()
        for name, value in {"option": option, **facts}.items():
            object.__setattr__(made, name, value)
        return made

    @property
    def needs_one_zone(self) -> bool:
        """Whether what was bought is in one Availability Zone, so that hosts start nowhere else."""
        return self.option is PurchaseOption.CAPACITY_BLOCK

    @property
    def rules(self) -> tuple[str, ...]:
        """Those about what was bought in advance."""
        if self.block is not None:
            return ("GPU097", "GPU104", "GPU162", "GPU164", "GPU165")
        return () if self.reservation is None else ("GPU164",)

    @property
    def is_of_one_type(self) -> bool:
        """Whether what was bought is of one instance type, so that no other starts."""
        is_alone = self.option in BOUGHT_IN_ADVANCE
        return is_alone and self.reservation is not None and self.reservation.id is not None

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this purchase, as the value that every check reads."""
        bought = Bought(
            option=self.option,
            distribution=self.distribution or pool.bought.distribution,
            reservation=self.reservation,
            block=self.block,
        )
        return replace(pool, bought=bought)

    def require_possible(self, pool: Pool) -> None:
        """Refuses what no rule can decide."""
        if self.is_of_one_type and pool.bought.distribution is not None:
            raise IncompatibleError(
                "a capacity reservation is of one instance type, and no other starts in it",
                argument="instance_types",
                value=[each.name for each in pool.instance_types],
                allowed="the type of the reservation",
                fix="one add_capacity for each reservation, or a resource group of reservations",
            )
        is_scheduled = self.block is not None and self.block.starts is not None
        if is_scheduled and not isinstance(pool.min_instances, Unknown) and pool.min_instances > 0:
            raise IncompatibleError(
                f"the smallest number of hosts is {pool.min_instances}, and none can start before the Capacity Block",
                argument="min_instances",
                value=pool.min_instances,
                allowed="0",
                fix="leave it out: at the start the group grows to max_instances",
            )

    def contribute(self, adds: Contribution, pool: Pool) -> None:  # noqa: ARG002 - the same for every pool
        """Adds what it adds to the resources of a capacity.

        A Capacity Block is named in the launch template, with its market type; reservations are named by the group,
        which knows what to do where they are full. How many hosts are reserved is in the metadata, since no property
        says it.
        """
        if self.instances is not None:
            adds.metadata[RESERVED_INSTANCES] = self.instances
        if self.option is PurchaseOption.CAPACITY_BLOCK:
            adds.launch_template |= {
                "InstanceMarketOptions": {"MarketType": "capacity-block"},
                "CapacityReservationSpecification": {
                    "CapacityReservationTarget": {"CapacityReservationId": self.target}
                },
            }
        elif self.reservation is not None and isinstance(self.reservation.preference, str):
            group, target = autoscaling.CfnAutoScalingGroup, None
            if self.target is not None:
                is_one = self.reservation.group is None
                target = group.CapacityReservationTargetProperty(
                    capacity_reservation_ids=[self.target] if is_one else None,
                    capacity_reservation_resource_group_arns=None if is_one else [self.target],
                )
            adds.group["capacity_reservation_specification"] = group.CapacityReservationSpecificationProperty(
                capacity_reservation_preference=self.reservation.preference, capacity_reservation_target=target
            )

    def instances_distribution(self) -> autoscaling.InstancesDistribution | None:
        """The distribution of a mixed instances policy; None where none is needed for one type."""
        if self.split is None:
            return None
        base, percentage = self.split
        return autoscaling.InstancesDistribution(
            on_demand_base_capacity=base,
            on_demand_percentage_above_base_capacity=percentage,
            on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
            spot_allocation_strategy=autoscaling.SpotAllocationStrategy.PRICE_CAPACITY_OPTIMIZED,
        )


def _instances(value: int) -> int | Unknown:
    return whole_number("instances", value, smallest=1, unit="hosts", fix="the InstanceCount of the reservation")
