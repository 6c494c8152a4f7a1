"""How the APIs of EC2 and ECS call accelerators where a host is asked for by what it must have.

Enumerations of both APIs as of botocore 1.44.5: ``AcceleratorManufacturer``, ``AcceleratorType``, ``AcceleratorName``.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.hardware.model import Vendor

MANUFACTURERS: Mapping[Vendor, str] = {
    Vendor.NVIDIA: "nvidia",
    Vendor.AMD: "amd",
    Vendor.NEURON: "amazon-web-services",
    Vendor.GAUDI: "habana",
    Vendor.XILINX: "xilinx",
}
"""``AcceleratorManufacturers`` of each vendor that has one."""

TYPES: Mapping[Vendor, str] = {
    Vendor.NVIDIA: "gpu",
    Vendor.AMD: "gpu",
    Vendor.NEURON: "inference",
    Vendor.GAUDI: "inference",
    Vendor.XILINX: "fpga",
}
"""``AcceleratorTypes`` of each vendor.

Qualcomm AI 100 and the U30 media card are left out: no page says what they count as, so a requirement by type never
rules them in.
"""

_ECS_NAMES = frozenset(
    {
        "a100",
        "a10g",
        "h100",
        "inferentia",
        "k520",
        "k80",
        "l4",
        "l40s",
        "m60",
        "radeon-pro-v520",
        "t4",
        "t4g",
        "v100",
        "vu9p",
    }
)

EC2_VALUES: Mapping[str, frozenset[str]] = {
    "accelerator_names": _ECS_NAMES | {"gaudi-hl-205", "inferentia2", "trainium", "trainium2", "u30"},
    "accelerator_manufacturers": frozenset({"amazon-web-services", "amd", "habana", "nvidia", "xilinx"}),
    "accelerator_types": frozenset({"fpga", "gpu", "inference", "media"}),
}
"""Values that the EC2 API has for the fields of `gpu_constructs.fleet.InstanceRequirements`."""

ECS_VALUES: Mapping[str, frozenset[str]] = {
    "accelerator_names": _ECS_NAMES,
    "accelerator_types": frozenset({"fpga", "gpu", "inference"}),
}
"""Those of which the ECS API has fewer. Newer models have no name there and are asked for by their instance types."""


def accelerator_name(model: str) -> str:
    """The API's name of a model: lower case with hyphens, ``radeon-pro-v520``."""
    return model.lower().replace(" ", "-")
