"""An account that has all that is asked for: ``python -m bench.answered PATH`` is ``preflight`` without a network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from gpu_constructs.account.preflight.check import Answer, Ask

__all__ = ["ACCOUNT", "Page", "answered"]

Page = Callable[[str, Mapping[str, Any]], Any]
"""The page that answers an operation, in a region, for its arguments."""

_ZONES = "abc"


def _values(arguments: Mapping[str, Any]) -> list[str]:
    """The values of the only filter, or of the last."""
    return list(arguments["Filters"][-1]["Values"])


def _subnets(region: str, arguments: Mapping[str, Any]) -> object:
    names = _values(arguments)
    names = [f"subnet-0000000{each}" for each in _ZONES] if names == ["true"] else names
    return {
        "Subnets": [
            {
                "SubnetId": name,
                "AvailabilityZone": f"{region}{_ZONES[number % len(_ZONES)]}",
            }
            for number, name in enumerate(names)
        ]
    }


ACCOUNT: Mapping[str, Page] = {
    "GetCallerIdentity": lambda *_: {"Account": "123456789012"},
    "GetServiceQuota": lambda *_: {"Quota": {"Value": 4096.0}},
    "DescribeInstances": lambda *_: {"Reservations": []},
    "DescribeCapacityReservations": lambda *_: {"CapacityReservations": []},
    "DescribeInstanceTypeOfferings": lambda region, asked: {
        "InstanceTypeOfferings": [
            {"InstanceType": name, "Location": f"{region}{zone}"} for name in _values(asked) for zone in _ZONES
        ]
    },
    "DescribeAvailabilityZones": lambda region, _: {
        "AvailabilityZones": [{"ZoneName": f"{region}{zone}"} for zone in _ZONES]
    },
    "DescribeSubnets": _subnets,
    "GetParameters": lambda _, asked: {
        "Parameters": [{"Name": name, "Value": "ami-0a1b2c3d4e5f60718"} for name in asked["Names"]]
    },
}
"""By operation."""


def answered(pages: Mapping[str, Page] = ACCOUNT) -> Callable[[str], Ask]:
    """What asks the account, by region.

    Args:
        pages: Its answers; what an operation lacks is an empty page, and an exception is raised.
    """

    def of(region: str) -> Ask:
        def ask(call: str, arguments: Mapping[str, object]) -> Answer:
            answer = pages.get(call.partition(":")[2])
            page = {} if answer is None else answer(region, arguments)
            if isinstance(page, Exception):
                raise page
            return Answer(call, (page,))

        return ask

    return of


if __name__ == "__main__":
    from gpu_constructs.account.preflight import asking
    from gpu_constructs.cli import main

    asking.asker = lambda profile, deadline=None: answered()  # noqa: ARG005 - the names are part of the function
    sys.exit(main(["preflight", *sys.argv[1:]]))
