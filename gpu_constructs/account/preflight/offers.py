"""What AWS offers: the types of a pool in the zones of its subnets, and the AMIs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gpu_constructs.account.answers import Thing, UnansweredError, aws, text, texts
from gpu_constructs.account.preflight.check import Ask, Check, Question, Result, Scope, ok, short, unchecked
from gpu_constructs.facts.names import AMI_ID, name_problem, parameter_resolved
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Pool, Subnet, Unknown
from gpu_constructs.placement.reasons import listed

_SUBNETS = "ec2:DescribeSubnets"
_OFFERED = "ec2:DescribeInstanceTypeOfferings"
_ZONES = "ec2:DescribeAvailabilityZones"
_NAMED = 100
"""Types that one call names; EC2 takes 200 values of a filter."""


def type_names(pool: Pool) -> tuple[str, ...]:
    """The types of a pool that can be asked about."""
    names = [*(each.name for each in pool.instance_types), *pool.unknown_type_names]
    return tuple(dict.fromkeys(each for each in names if not name_problem(each)))


def _subnets_of(ids: frozenset[str], ask: Ask) -> Mapping[str, Thing]:
    if not ids:
        return {}
    # A filter, unlike SubnetIds, leaves out what does not exist.
    found = ask(_SUBNETS, {"Filters": [{"Name": "subnet-id", "Values": sorted(ids)}]}).rows("Subnets")
    return {text(each, "SubnetId"): each for each in found}


def _types_found(pool: Pool, region: str, ask: Ask) -> Result:
    names = type_names(pool)
    if not names:
        return unchecked("which types it launches is not known before the deploy")
    indexes = [each.zone_index for each in pool.subnets if each.zone_index is not None]
    given = _given(ask) if indexes else []
    if indexes and max(indexes) >= len(given):
        said = f"Fn::GetAZs gives {len(given)} zones in {region}, and subnets take {max(indexes) + 1}"
        return short(said, "fewer zones, such as max_azs of the Vpc")
    return _judged(pool, _offered(names, ask), given, region, ask)


def _judged(pool: Pool, offered: Mapping[str, frozenset[str]], given: Sequence[str], region: str, ask: Ask) -> Result:
    names, anywhere = tuple(offered), sorted(frozenset[str]().union(*offered.values()))
    wanted, all_known = _wanted(pool, given, ask)
    if not anywhere:
        if pool.has_unknown_types:
            return unchecked(f"{listed(names)} {_is(names)} not offered in {region}; its other types are not known")
        return short(
            f"{listed(names)} {_is(names)} not offered in {region}",
            f"choose another type or region: gpu-constructs instances --region {region}",
            "not offered",
        )
    zones = wanted if all_known else _zones(ask)
    there = [each for each in zones if each in anywhere]
    if there and (all_known or len(there) == len(zones)):
        return ok(_where(names, offered, there, [each for each in zones if each not in anywhere]))
    if all_known and not pool.has_unknown_types:
        return short(
            f"{listed(names)} {_is(names)} not offered in {listed(zones)}",
            f"name subnets in {listed(anywhere, 'or')}, where AWS offers {'it' if len(names) == 1 else 'one of them'}",
            "not offered",
        )
    why = "its other types are not known" if all_known else "which zones the subnets are in is not known"
    return unchecked(
        f"AWS offers {listed(names, 'or')} in {listed(anywhere)} alone; {why}",
        "" if all_known else "name the zones, or let cdk synth look them up with credentials",
    )


def _offered(names: tuple[str, ...], ask: Ask) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {each: set() for each in names}
    for first in range(0, len(names), _NAMED):
        values = list(names[first : first + _NAMED])
        arguments = {"LocationType": "availability-zone", "Filters": [{"Name": "instance-type", "Values": values}]}
        for each in ask(_OFFERED, arguments).rows("InstanceTypeOfferings"):
            name, zone = text(each, "InstanceType"), text(each, "Location")
            if name in found and zone:
                found[name].add(zone)
    return {name: frozenset(zones) for name, zones in found.items()}


def _wanted(pool: Pool, given: Sequence[str], ask: Ask) -> tuple[list[str], bool]:
    """The zones of its subnets, and whether these are all."""
    ids = frozenset(each.id for each in pool.subnets if each.id is not None)
    of_ids = {name: text(row, "AvailabilityZone") for name, row in _subnets_of(ids, ask).items()}
    zones = [_zone_of(each, given, of_ids) for each in pool.subnets]
    return sorted({each for each in zones if each}), bool(zones) and all(zones)


def _zone_of(subnet: Subnet, given: Sequence[str], of_ids: Mapping[str, str]) -> str | None:
    if subnet.id is not None:
        return of_ids.get(subnet.id)
    return subnet.zone if subnet.zone_index is None else given[subnet.zone_index]


def _given(ask: Ask) -> list[str]:
    """The zones that ``Fn::GetAZs`` gives: those with a default subnet, in the order of the alphabet, else all.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference-getavailabilityzones.html
    """
    rows = ask(_SUBNETS, {"Filters": [{"Name": "default-for-az", "Values": ["true"]}]}).rows("Subnets")
    return sorted({text(each, "AvailabilityZone") for each in rows} - {""}) or _zones(ask)


def _zones(ask: Ask) -> list[str]:
    """Every zone of the region in which subnets can be made without opting in.

    Raises:
        UnansweredError: AWS named none, and every region has some.
    """
    arguments = {"Filters": [{"Name": "zone-type", "Values": ["availability-zone"]}]}
    found = (text(each, "ZoneName") for each in ask(_ZONES, arguments).rows("AvailabilityZones"))
    zones = sorted({each for each in found if each})
    if not zones:
        raise UnansweredError(f"AWS answered {_ZONES} without any Availability Zone")
    return zones


def _where(names: tuple[str, ...], offered: Mapping[str, frozenset[str]], there: list[str], without: list[str]) -> str:
    here = [each for each in names if offered[each].intersection(there)]
    missing = [each for each in names if each not in here]
    said = f"AWS offers {listed(here)} in {listed(there)}"
    said += f", none in {listed(without)}" if without else ""
    return said + (f"; {listed(missing)} {_is(missing)} offered in none of these zones" if missing else "")


def _is(names: tuple[str, ...] | list[str]) -> str:
    return "is" if len(names) == 1 else "are"


TYPES = Check(
    id="types",
    question="are the instance types of a pool offered in the Availability Zones of its subnets?",
    calls=(_OFFERED, _SUBNETS, _ZONES),
    questions=lambda scope: ((each.name, partial(_types_found, each, scope.region)) for each in scope.pools),
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html"""


_PARAMETERS = "ssm:GetParameters"


def _image_questions(scope: Scope) -> Iterator[Question]:
    asked = grouped((name, pool.name) for pool in scope.pools if (name := _parameter(pool)) is not None)
    for name, pools in asked.items():
        yield pools[0] if len(pools) == 1 else f"{len(pools)} pools", partial(_image_found, name, scope.region)


def _parameter(pool: Pool) -> str | None:
    """The parameter that a pool takes its image from; None where it takes it from elsewhere."""
    if not isinstance(pool.image, Unknown):
        return None if pool.image.is_own else pool.image.ssm_parameter
    return parameter_resolved(pool.image_written)


def _image_found(name: str, region: str, ask: Ask) -> Result:
    answer = ask(_PARAMETERS, {"Names": [name]})
    values = [text(each, "Value") for each in answer.rows("Parameters") if text(each, "Name") == name]
    if values and AMI_ID.fullmatch(values[0]):
        return ok(f"{name} is {values[0]}")
    if values:
        return short(f"{name} holds no AMI id", "name a parameter that ends with image_id", "missing")
    if name not in texts(answer.first, "InvalidParameters"):
        return unchecked(f"AWS said nothing about the parameter {name}")
    folder = name.removesuffix("/image_id").rpartition("/")[0] or "/"
    fix = aws("ssm", "get-parameters-by-path", region, path=folder, query="Parameters[].Name")
    return short(f"{name} does not exist in {region}; the command lists those that do", fix, "missing")


IMAGES = Check(
    id="images",
    question="do the parameters that name machine images resolve?",
    calls=(_PARAMETERS,),
    questions=_image_questions,
    without="no pool takes its image from a parameter",
)
"""https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html"""
