"""The calls to AWS that a catalogue is made of; all of them only read."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, cast

from botocore.client import BaseClient
from botocore.exceptions import BotoCoreError, ClientError

from gpu_constructs.account.answers import InstanceTypeInfo
from gpu_constructs.account.calls import Clients, clients_of
from gpu_constructs.account.refresh import Answers
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, brief, shown
from gpu_constructs.facts.aws_limits import is_region
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.image_table import IMAGES, Image
from gpu_constructs.facts.names import name_problem

__all__ = ["Clients", "ask", "clients_of"]

_PAGES = 500
"""Pages that are read of one answer; EC2 has about 1,200 types in a region, in 13 pages."""

_NAMED = 100
"""Instance types that one call describes by name, as EC2 limits it."""

_ON_DEMAND_LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
_PRICING_REGION = "us-east-1"  # the Price List answers in three regions, for all


def ask(clients: Clients, regions: Sequence[str], *, day: dt.date, with_prices: bool) -> Answers:
    """Asks AWS for everything that it says of instance types.

    Args:
        clients: Clients to ask with.
        regions: Regions to ask about; empty for those that the account has enabled.
        day: The day of the answers.
        with_prices: Whether to ask for list prices.

    Raises:
        InvalidValueError: A region cannot have such a name.
        GpuConstructsError: AWS did not answer.
    """
    for region in regions:
        if not is_region(region):
            raise InvalidValueError(f"{shown(region)} is not a region", argument="--region", value=region)
    asked = tuple(dict.fromkeys(regions)) or _enabled(clients)
    described: dict[str, InstanceTypeInfo] = {}
    offered: dict[str, frozenset[str]] = {}
    for region in asked:
        ec2 = clients("ec2", region)
        offered[region] = frozenset(_offered(ec2, region))
        missing = sorted(offered[region] - described.keys())
        for first in range(0, len(missing), _NAMED):
            described |= _described(ec2, region, missing[first : first + _NAMED])
    return Answers(
        day=day,
        described=described,
        offered=offered,
        prices={region: _prices(clients, region) for region in asked} if with_prices else {},
        releases={image.name: _releases(clients("ssm", asked[0]), image) for image in IMAGES if image.line},
    )


def _enabled(clients: Clients) -> tuple[str, ...]:
    with _answer("ec2:DescribeRegions"):
        found = clients("ec2", _PRICING_REGION).describe_regions()["Regions"]
    return tuple(sorted(each["RegionName"] for each in found if is_region(each["RegionName"])))


def _offered(ec2: BaseClient, region: str) -> Iterator[str]:
    with _answer(f"ec2:DescribeInstanceTypeOfferings in {region}"):
        for page in _pages(ec2, "describe_instance_type_offerings", LocationType="region"):
            yield from (each["InstanceType"] for each in page["InstanceTypeOfferings"] if _is_type(each))


def _described(ec2: BaseClient, region: str, names: Sequence[str]) -> dict[str, InstanceTypeInfo]:
    with _answer(f"ec2:DescribeInstanceTypes in {region}"):
        pages = _pages(ec2, "describe_instance_types", InstanceTypes=list(names))
        return {each["InstanceType"]: each for page in pages for each in page["InstanceTypes"] if _is_type(each)}


def _is_type(answer: Mapping[str, str]) -> bool:
    return not name_problem(answer["InstanceType"])


def _prices(clients: Clients, region: str) -> Mapping[str, float]:
    wanted = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in {**_ON_DEMAND_LINUX, "regionCode": region}.items()
    ]
    with _answer(f"pricing:GetProducts for {region}", fix="--without-prices keeps the prices of the library"):
        pages = _pages(clients("pricing", _PRICING_REGION), "get_products", ServiceCode="AmazonEC2", Filters=wanted)
        found = (price_in(entry) for page in pages for entry in page["PriceList"])
        return {price[0]: price[1] for price in found if price is not None and not name_problem(price[0])}


def _releases(ssm: BaseClient, image: Image) -> Mapping[str, str | None]:
    """The releases that the public parameters of an image have, each with its agent where they say it."""
    root = image.pinned_ssm_parameter.partition("/{release}")[0]
    found: dict[str, str | None] = {}
    with _answer(f"ssm:GetParametersByPath of {root}"):
        for page in _pages(ssm, "get_parameters_by_path", Path=root, Recursive=True):
            for parameter in page["Parameters"]:
                release = parameter["Name"].removeprefix(f"{root}/").partition("/")[0]
                found[release] = _agent(parameter["Value"]) or found.get(release)
    return found


def _agent(value: str) -> str | None:
    """The version of the agent that a parameter names; None where it is another one."""
    try:
        version = json.loads(value)["ecs_agent_version"]
    except (KeyError, RecursionError, TypeError, ValueError):
        return None
    return version if isinstance(version, str) and re.fullmatch(r"\d{1,3}(\.\d{1,4}){1,3}", version) else None


def _pages(client: BaseClient, call: str, **arguments: object) -> Iterator[Any]:
    yield from islice(client.get_paginator(call).paginate(**arguments), _PAGES)


@contextmanager
def _answer(what: str, fix: str | None = None) -> Iterator[None]:
    """Says what AWS did not answer, in the place of the errors of boto3 and of answers of another shape."""
    try:
        yield
    except (BotoCoreError, ClientError) as problem:
        raise GpuConstructsError(f"AWS did not answer {what}: {brief(str(problem), MESSAGE)}", fix=fix) from problem
    except (AttributeError, KeyError, TypeError) as problem:
        raise GpuConstructsError(
            f"AWS answered {what} in an unknown form: {brief(repr(problem), MESSAGE)}"
        ) from problem


_DEAREST = 10_000
"""US dollars an hour that no instance costs."""


def price_in(entry: str) -> tuple[str, float] | None:
    """The instance type of an entry and its on-demand price in US dollars an hour.

    Returns:
        None where it is not one price an hour, such as that of a reservation.
    """
    try:
        product = cast("Any", json.loads(entry))
        name = product["product"]["attributes"]["instanceType"]
        (term,) = product["terms"]["OnDemand"].values()
        (dimension,) = term["priceDimensions"].values()
        price = float(dimension["pricePerUnit"]["USD"])
        hourly = dimension["unit"] in {"Hrs", "Hours"}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return (name, price) if hourly and isinstance(name, str) and 0 < price < _DEAREST else None
