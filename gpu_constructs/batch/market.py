"""How the hosts of a compute environment are bought: less than an Auto Scaling group can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpu_constructs.capacity.purchase import Purchase
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import RESERVATIONS_ONLY, PurchaseOption, Reservation, Unknown

_FALL_BACK = "an environment with Purchase.on_demand() after it in the queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """How hosts are bought, in the words of a launch template.

    Attributes:
        reservation: The capacity reservations that they run in; None without.
        launch_template: What it adds to ``LaunchTemplateData``.
    """

    reservation: Reservation | None = None
    launch_template: Mapping[str, object] = field(default_factory=dict)


def market_of(purchase: Purchase) -> Market:
    """A purchase as the launch template of a compute environment says it.

    Spot is a type of compute environment, and needs no word there.

    Raises:
        IncompatibleError: A compute environment cannot buy hosts like that.
    """
    if isinstance(purchase.option, Unknown) or purchase.option is PurchaseOption.MIXED:
        raise IncompatibleError(
            "a compute environment of AWS Batch is either spot or on demand",
            argument="purchase",
            value=purchase.split,
            fix=f"Purchase.spot() here, and {_FALL_BACK}",
        )
    if purchase.max_price is not None:
        raise IncompatibleError(
            "AWS Batch takes the highest Spot price as a part of the price on demand, not in dollars",
            argument="purchase",
            value=purchase.max_price,
            fix="leave max_price_usd_per_hour out, as AWS recommends",
        )
    given = purchase.reservation
    if given is None:
        return Market()
    is_only = purchase.option is not PurchaseOption.ON_DEMAND
    if given.id is not None and not is_only:
        raise IncompatibleError(
            "hosts of AWS Batch start in the reservation that is named or not at all",
            argument="purchase",
            value=purchase.target,
            fix=f"only=True here, and {_FALL_BACK}",
        )
    if not is_only and given.group is None:
        return Market()  # open reservations that match are used in any case
    # Beyond those of a group, hosts start on demand unless the preference forbids it:
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-groups-launch.html
    preference = RESERVATIONS_ONLY if is_only and given.id is None else None
    specification: dict[str, object] = {} if preference is None else {"CapacityReservationPreference": preference}
    if purchase.target is not None:
        key = "CapacityReservationId" if given.group is None else "CapacityReservationResourceGroupArn"
        specification["CapacityReservationTarget"] = {key: purchase.target}
    data: dict[str, object] = {"CapacityReservationSpecification": specification}
    if purchase.option is PurchaseOption.CAPACITY_BLOCK:
        data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    return Market(reservation=replace(given, preference=preference, instances=None), launch_template=data)
