"""What the data sources of a plan found: which image is behind an AMI id, and to which region something goes.

A plan has read the data source that an AMI id came from, and holds the id alone. Provider 6 has the region on each
resource, older ones in their own configuration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, cached_property

from gpu_constructs.facts import IMAGES
from gpu_constructs.facts.aws_limits import is_region
from gpu_constructs.facts.image_table import RELEASE_DAY
from gpu_constructs.template.documents.node import Node, items, under
from gpu_constructs.template.terraform.links import Links, Module
from gpu_constructs.template.terraform.plan import Instance, Plan, steps_of

_PARAMETER, _IMAGE = "aws_ssm_parameter", "aws_ami"
_LEAF = "/image_id"
_MAKES = re.compile("ami|artifact|external|image|null_|parameter|terraform_data")


class Images:
    """The images that data sources of a plan found.

    Args:
        instances: Resources and data sources.

    Attributes:
        may_be_made: Whether an image may get its id by the apply. Where none does, an override that only the apply
            knows is one that nobody wrote: the provider fills it in.
    """

    def __init__(self, instances: Collection[Instance]) -> None:
        self._parameters: list[tuple[str, str]] = []
        self._named: dict[str, str] = {}
        self.may_be_made = any(each.unknown and _MAKES.search(each.type) for each in instances)
        for each in instances:
            if not each.is_data:
                continue
            name, value, image = (each.values.get(key) for key in ("name", "value", "id"))
            if each.type == _PARAMETER and isinstance(name, str) and isinstance(value, str):
                self._parameters.append((name, value))
            elif each.type == _IMAGE and isinstance(name, str) and isinstance(image, str):
                self._named[image] = name

    def of(self, ami: str) -> str | None:
        """What stands for an image in a template; None where no data source says which it is."""
        for name, value in self._parameters:
            if value == ami:
                return f"{{{{resolve:ssm:{name}}}}}"
            if f'"{ami}"' in value:
                return stored(name)
        parameter = _by_name().get(RELEASE_DAY.sub("", self._named.get(ami, "")))
        return None if parameter is None else f"{{{{resolve:ssm:{parameter.replace('{release}', self._named[ami])}}}}}"


def stored(name: str) -> str:
    """The reference to a parameter that holds an image id, or a document with one."""
    whole = name if name.endswith(_LEAF) or not name.endswith("/recommended") else f"{name}{_LEAF}"
    return f"{{{{resolve:ssm:{whole}}}}}"


@cache
def _by_name() -> dict[str, str]:
    """The parameter of each image of ECS, by the name of its AMI without the day of its release."""
    return {RELEASE_DAY.sub("", each.known_release): each.pinned_ssm_parameter for each in IMAGES if each.known_release}


_ARN = re.compile(r"arn:[a-z-]{1,30}:[a-z0-9-]{1,60}:([a-z0-9-]{5,30}):")
_ZONE = re.compile(r"([a-z]{2,4}(?:-[a-z]{1,10}){1,3}-[0-9])[a-z]")
_VARIABLE_STEPS = 2


class Regions:
    """The regions of a plan."""

    def __init__(self, plan: Plan, links: Links) -> None:
        self._plan = plan
        self._links = links

    def of(self, instance: Instance) -> str | None:
        """The region of a resource; None where nothing in the plan says it."""
        own = instance.values.get("region")
        if isinstance(own, str) and is_region(own):
            return own
        key = self._key(instance)
        return self._written.get(key) or self._seen.get(key) or _of_arn(instance)

    def _key(self, instance: Instance) -> str:
        key = self._links.resource(instance).get("provider_config_key")
        return key if isinstance(key, str) else ""

    @cached_property
    def _written(self) -> Mapping[str, str]:
        """By the key of the provider, where a configuration says it."""
        found: dict[str, str] = {}
        for key, provider in self._plan.providers.items():
            around = steps_of(str(under(provider, "module_address") or ""))[1::2]
            written = under(provider, "expressions", "region")
            region = self._value(written, tuple((str(name), None) for _, name in around))
            if isinstance(region, str) and is_region(region):
                found[key] = region
        return found

    def _value(self, expression: Node, module: Module) -> Node:
        """A constant, or the value of the one variable that it is, through the modules that are given it."""
        if not isinstance(expression, dict):
            return None
        first, *_ = items(expression.get("references")) or [None]
        steps = steps_of(first) if isinstance(first, str) else ()
        if len(steps) != _VARIABLE_STEPS or steps[0] != (False, "var"):
            return expression.get("constant_value")
        name = str(steps[1][1])
        if not module:
            return under(self._plan.variables, name, "value")
        call = self._links.call(module)
        given = under(call, "expressions", name)
        if given is not None:
            return self._value(given, module[:-1])
        return under(call, "module", "variables", name, "default")

    @cached_property
    def _seen(self) -> Mapping[str, str]:
        """By the key of the provider, where a data source found it, or something that exists is there."""
        found: dict[str, str] = {}
        for each in self._plan.instances.values():
            values = each.values
            names = (values.get("region"), values.get("name"), values.get("id")) if each.type == "aws_region" else ()
            zones = items(values.get("names")) if each.type == "aws_availability_zones" else []
            zone = _ZONE.fullmatch(str(zones[0])) if zones else None
            candidates = (*names, zone[1] if zone else None, _of_arn(each))
            region = next((one for one in candidates if isinstance(one, str) and is_region(one)), None)
            if region is not None:
                found.setdefault(self._key(each), region)
        return found


def _of_arn(instance: Instance) -> str | None:
    arn = instance.values.get("arn")
    match = _ARN.match(arn) if isinstance(arn, str) else None
    return match[1] if match and is_region(match[1]) else None
