"""Requirements of hosts in the words of the EC2 API: what they ask for, and what of them keeps a type out."""

from __future__ import annotations

from dataclasses import fields

from gpu_constructs.facts import InstanceType
from gpu_constructs.fleet import InstanceRequirements, satisfies
from gpu_constructs.fleet.purchase import RANGES, REQUIREMENTS
from gpu_constructs.rules.finding import or_list, with_verb

API_NAMES = {**REQUIREMENTS, "cpu_architectures": "the architecture of the image"}


def beside_names(instance_type: InstanceType, wanted: InstanceRequirements) -> str:
    """What keeps a type out that the list of allowed types alone would not, as the end of a sentence."""
    barring = [
        each
        for each in asked_of(wanted)
        if not satisfies(instance_type, InstanceRequirements(**{each: getattr(wanted, each)}))
    ]
    if not {*barring} - {"allowed_instance_types"}:
        return ""
    named = [asked_of(wanted)[each] if each in RANGES else API_NAMES[each] for each in barring]
    return f", which {with_verb(named, 'keeps', 'keep')} out"


def asked_of(wanted: InstanceRequirements) -> dict[str, str]:
    """Everything that they ask for, by field."""
    said: dict[str, str] = {}
    for each in fields(wanted):
        name, value = API_NAMES[each.name], getattr(wanted, each.name)
        if each.name not in RANGES:
            said |= {each.name: f"{name} {or_list(value)}"} if value else {}
        elif value != (None, None):
            low, high = ("any" if bound is None else bound for bound in value)
            said[each.name] = f"{name} {low} to {high}"
    return said
