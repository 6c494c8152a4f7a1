"""Which types of the catalogue instance requirements select."""

from __future__ import annotations

from functools import lru_cache

from gpu_constructs.fleet.instance_requirements import InstanceRequirements, asks_for_accelerators, satisfies
from gpu_constructs.hardware import InstanceType, accelerated, general
from gpu_constructs.hardware.managed_instances import may_be_managed

__all__ = ["selected_types"]


@lru_cache(maxsize=256)
def selected_types(
    wanted: InstanceRequirements,
    bare_metal: str = "excluded",
    burstable: str = "excluded",
    *,
    managed: bool = False,
) -> tuple[InstanceType, ...]:
    """Every type of the catalogue that satisfies requirements, in the order of the catalogue.

    Args:
        wanted: What a type must be.
        bare_metal: ``included``, ``required``, or anything else for neither.
        burstable: Likewise, of the T families.
        managed: Whether ECS Managed Instances select, which launch fewer families than EC2 has.
    """
    return tuple(
        each
        for each in (accelerated() if asks_for_accelerators(wanted) else (*accelerated(), *general()))
        if _allowed(bare_metal, has=each.bare_metal)
        and _allowed(burstable, has=each.burstable)
        and satisfies(each, wanted)
        and (_is_named(each, wanted) or (_exists(each, wanted) and (not managed or may_be_managed(each))))
    )


def _exists(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    """Whether a type is certainly among those that EC2 selects from.

    EC2 selects from what it offers. Of a type with a part of a GPU (G6f, Gr6f) no page says which AcceleratorCount or
    which AcceleratorNames it matches, so these never rule it in.
    """
    devices = instance_type.accelerators
    counted = wanted.accelerator_count != (None, None) or wanted.accelerator_names
    is_part = devices is not None and devices.is_fractional
    return instance_type.is_offered_anywhere and not (is_part and counted)


def _is_named(instance_type: InstanceType, wanted: InstanceRequirements) -> bool:
    """Whether the requirements name its family, so that it is meant whether it exists or not."""
    return any(each.startswith(f"{instance_type.family}.") for each in wanted.allowed_instance_types)


def _allowed(rule: str, *, has: bool) -> bool:
    return rule != "required" if not has else rule in {"included", "required"}
