"""How the hosts of ECS Managed Instances are bought."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import PurchaseOption, Reservation
from gpu_constructs.tokens import is_token, known_text

__all__ = ["ManagedPurchase"]

# https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsresourcegroups.html
_GROUP_ARN = re.compile(r"arn:[a-z-]+:resource-groups:[a-z0-9-]+:[0-9]{12}:group/\S+")

_OPTIONS = {
    PurchaseOption.ON_DEMAND: "ON_DEMAND",
    PurchaseOption.SPOT: "SPOT",
    PurchaseOption.RESERVED: "RESERVED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPurchase:
    """How the hosts of ECS Managed Instances are bought. Made by one of the class methods; on demand by default.

    The API has these three: no base on demand below spot, no Capacity Blocks, no single reservation
    (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).

    Attributes:
        option: How the hosts are bought, in one word.
        reservation: The capacity reservations that they run in; None without.
        group: The ARN of their resource group as given; None without.
    """

    option: PurchaseOption = PurchaseOption.ON_DEMAND
    reservation: Reservation | None = None
    group: str | None = None

    @classmethod
    def on_demand(cls) -> ManagedPurchase:
        """On demand, by the second, in whatever capacity there is."""
        return cls()

    @classmethod
    def spot(cls) -> ManagedPurchase:
        """Spot: cheaper, and ended two minutes after a notice."""
        return cls(option=PurchaseOption.SPOT)

    @classmethod
    def reserved(cls, group: str, *, then_on_demand: bool = False) -> ManagedPurchase:
        """In the capacity reservations of a resource group.

        Args:
            group: ARN of the resource group (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html).
            then_on_demand: Whether hosts start on demand where no reservation is free. By default they do not start.

        Raises:
            InvalidValueError: It is no ARN of a resource group.
        """
        if not is_token(group) and (not isinstance(group, str) or not _GROUP_ARN.fullmatch(group)):
            raise InvalidValueError(
                f"expects the ARN of a resource group, got {shown(group)}",
                argument="group",
                value=group,
                allowed="arn:aws:resource-groups:…:group/…",
                fix="the group that the capacity reservations were added to; Managed Instances take no single one",
            )
        if type(then_on_demand) is not bool:
            raise InvalidValueError(
                f"expects True or False, got {shown(then_on_demand)}",
                argument="then_on_demand",
                value=then_on_demand,
                fix="leave it out",
            )
        preference = "RESERVATIONS_FIRST" if then_on_demand else "RESERVATIONS_ONLY"
        return cls(
            option=PurchaseOption.RESERVED,
            reservation=Reservation(preference=preference, group=known_text(group)),
            group=group,
        )

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        reserved = (
            {}
            if self.reservation is None
            else {
                "CapacityReservations": {
                    "ReservationGroupArn": self.group,
                    "ReservationPreference": self.reservation.preference,
                }
            }
        )
        return {"CapacityOptionType": _OPTIONS[self.option], **reserved}
