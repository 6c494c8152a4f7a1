"""Fleets and answers for tests of pre-flight checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.preflight.check import Answer, Ask, Result
from gpu_constructs.account.preflight.run import CHECKS, preflight
from gpu_constructs.facts import image, instance_type
from gpu_constructs.fleet import Bought, Fleet, HostImage, Pool, PurchaseOption, Subnet

REGION = "eu-west-1"
IN_A = Subnet(id="subnet-0a0a0a0a")
IN_B = Subnet(id="subnet-0b0b0b0b")

POOL = Pool(
    name="Gpu",
    instance_types=(instance_type("g6.12xlarge"),),
    min_instances=0,
    max_instances=4,
    region=REGION,
    subnets=(IN_A,),
    image=HostImage(image=image("al2023-gpu")),
)
SPOT = Bought(option=PurchaseOption.SPOT)


def fleet(*pools: Pool, **more: Any) -> Fleet:
    return Fleet(pools=pools or (POOL,), **more)


def pool(**more: Any) -> Pool:
    return replace(POOL, **more)


Answers = Mapping[str, Any]
"""The page, or the exception, that answers an operation."""


def answering(answers: Answers, asked: list[tuple[str, Mapping[str, object]]] | None = None) -> Callable[[str], Ask]:
    """What answers calls by the names of their operations, in every region."""

    def ask(call: str, arguments: Mapping[str, object]) -> Answer:
        if asked is not None:
            asked.append((call, arguments))
        found = answers.get(call.partition(":")[2])
        if isinstance(found, Exception):
            raise found
        if found is None:
            raise UnansweredError(f"nothing answers {call}")
        return Answer(call, (found,))

    return lambda region: ask


def only(check: str, answers: Answers, of: Fleet | None = None) -> Result:
    """The one result of one check."""
    (found,) = results(check, answers, of)
    return found


def results(check: str, answers: Answers, of: Fleet | None = None) -> tuple[Result, ...]:
    return preflight(fleet() if of is None else of, answering(answers), [each for each in CHECKS if each.id == check])


def offering(*pairs: tuple[str, str]) -> dict[str, object]:
    return {"InstanceTypeOfferings": [{"InstanceType": name, "Location": zone} for name, zone in pairs]}


def subnet(of: Subnet = IN_A, zone: str = "eu-west-1a") -> dict[str, object]:
    return {"SubnetId": of.id, "AvailabilityZone": zone}


def host(
    type_name: str = "g6.12xlarge", *, stack: str = "Demo", logical_id: str = "", **more: object
) -> dict[str, object]:
    """An instance that runs, with the tags of CloudFormation where a stack made it."""
    tags = {"aws:cloudformation:stack-name": stack, "aws:cloudformation:logical-id": logical_id} if logical_id else {}
    return {"InstanceType": type_name, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()], **more}


def instances(*hosts: dict[str, object]) -> dict[str, object]:
    return {"Reservations": [{"Instances": [each]} for each in hosts]}
