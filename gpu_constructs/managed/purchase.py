"""How the hosts of ECS Managed Instances are bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_constructs.cdk.arguments import flag
from gpu_constructs.cdk.kinds import names_checked, with_names_checked
from gpu_constructs.cdk.tokens import known_text
from gpu_constructs.fleet import PurchaseOption, Reservation
from gpu_constructs.hosts.reservations import require_group_arn

_OPTIONS = {
    PurchaseOption.ON_DEMAND: "ON_DEMAND",
    PurchaseOption.SPOT: "SPOT",
    PurchaseOption.RESERVED: "RESERVED",
}


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPurchase:
    """How the hosts of ECS Managed Instances are bought. Made by one of the class methods alone, on demand by default.

    The API has these three: no base on demand below spot, no Capacity Blocks, no single reservation
    (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).

    Attributes:
        option: How the hosts are bought, in one word.
        reservation: The capacity reservations that they run in; None without.
        target: The resource group of reservations, as given; None without.
    """

    option: PurchaseOption = field(default=PurchaseOption.ON_DEMAND, init=False)
    reservation: Reservation | None = field(default=None, init=False)
    target: str | None = field(default=None, init=False)

    @classmethod
    def on_demand(cls) -> ManagedPurchase:
        """On demand, by the second, in whatever capacity there is."""
        return cls()

    @classmethod
    def spot(cls) -> ManagedPurchase:
        """Spot: cheaper, and ended two minutes after a notice."""
        return cls._bought(PurchaseOption.SPOT)

    @classmethod
    @names_checked
    def reservations(cls, *, resource_group_arn: str, only: bool = False) -> ManagedPurchase:
        """On-Demand Capacity Reservations first, and on demand where they have no room left.

        Args:
            resource_group_arn: The resource group of the reservations; Managed Instances take no single one
                (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html).
            only: Whether hosts start in the reservations or not at all. By default they start on demand then.

        Raises:
            InvalidValueError: It is not the ARN of a resource group.
        """
        require_group_arn(resource_group_arn)
        flag("only", only)
        return cls._bought(
            PurchaseOption.RESERVED,
            reservation=Reservation(
                preference="RESERVATIONS_ONLY" if only else "RESERVATIONS_FIRST", group=known_text(resource_group_arn)
            ),
            target=resource_group_arn,
        )

    @classmethod
    def _bought(cls, option: PurchaseOption, **facts: object) -> ManagedPurchase:
        # No field is an argument: one without the others would be bought in another way than it says.
        made = cls()
        for name, value in {"option": option, **facts}.items():
            object.__setattr__(made, name, value)
        return made

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        reserved = (
            {}
            if self.reservation is None
            else {
                "CapacityReservations": {
                    "ReservationGroupArn": self.target,
                    "ReservationPreference": self.reservation.preference,
                }
            }
        )
        return {"CapacityOptionType": _OPTIONS[self.option], **reserved}
