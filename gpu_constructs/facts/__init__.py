"""What exists? Instance types with accelerators, their drivers and images, their quotas and prices, limits of AWS.

Data with a source and typed look-ups over it; no cloud library, no I/O but the package's own files::

    from gpu_constructs.facts import default_image, instance_type

    host = instance_type("g6.xlarge")            # an unknown name raises and says which it is near to
    host.gpus, host.gpu_memory_mib               # 1, 22888
    default_image(host).ssm_parameter            # the image whose driver fits
    choose(InstanceNeeds(gpus=Range(1, 4), models=("L4", "L40S")))   # by any fact and price, cheapest first

Where things are: `model` has the frozen values, `catalogue` the look-ups, with the types that users declare laid over
them, `declared` and `own_image` what they declare, `filters` what types can be chosen by, `names` the
form of names, `drivers` which NVIDIA driver drives which GPU and what it shows of the memory, `cuda` which CUDA a
container image has and what that needs, `image_table` the ECS images, `releases` which driver each release of them has,
`images` what they run on, `prices` list prices with their date, `gpu_features` what GPUs can do and which of their
errors are fatal, `aws_limits` what the services accept, launch and send, `servers` the model servers that people run,
`records` the data files' format, `values` how frozen values are declared, and `budget` how much is read at most. The
data is made by ``tools/build_catalogue.py`` and ``tools/build_prices.py``; ``data/image_releases.json`` and
``data/pinned_images.json`` are kept by hand.
"""

from __future__ import annotations

from gpu_constructs.facts.catalogue import (
    RECORDED,
    accelerated,
    by_size,
    families,
    family,
    general,
    instance_type,
    known_type,
    may_be_accelerated,
    may_exist,
    models,
    regions,
)
from gpu_constructs.facts.declared import DeclaredInstanceType, declare_instance_types
from gpu_constructs.facts.drivers import DRIVER_SUPPORT, Drivers, DriverSupport, driver_support, drives
from gpu_constructs.facts.filters import Choice, InstanceNeeds, Offer, Range, choose
from gpu_constructs.facts.image_table import EXCEPTIONS, IMAGES, Image, ImageException, OperatingSystem, Verdict
from gpu_constructs.facts.images import (
    Compatibility,
    compatibility,
    default_image,
    drivers_of,
    first_release,
    image,
    images_by_folder,
    is_published,
    is_supported,
    may_run,
    newest_release,
    system_of_parameter,
)
from gpu_constructs.facts.model import (
    Accelerators,
    Architecture,
    FamilyTraits,
    InstanceType,
    LocalDisk,
    Network,
    PurchaseClass,
    Quota,
    Vendor,
)
from gpu_constructs.facts.prices import Price, on_demand_price
from gpu_constructs.facts.releases import release_line, release_number, release_problem

__all__ = [
    "DRIVER_SUPPORT",
    "EXCEPTIONS",
    "IMAGES",
    "RECORDED",
    "Accelerators",
    "Architecture",
    "Choice",
    "Compatibility",
    "DeclaredInstanceType",
    "DriverSupport",
    "Drivers",
    "FamilyTraits",
    "Image",
    "ImageException",
    "InstanceNeeds",
    "InstanceType",
    "LocalDisk",
    "Network",
    "Offer",
    "OperatingSystem",
    "Price",
    "PurchaseClass",
    "Quota",
    "Range",
    "Vendor",
    "Verdict",
    "accelerated",
    "by_size",
    "choose",
    "compatibility",
    "declare_instance_types",
    "default_image",
    "driver_support",
    "drivers_of",
    "drives",
    "families",
    "family",
    "first_release",
    "general",
    "image",
    "images_by_folder",
    "instance_type",
    "is_published",
    "is_supported",
    "known_type",
    "may_be_accelerated",
    "may_exist",
    "may_run",
    "models",
    "newest_release",
    "on_demand_price",
    "regions",
    "release_line",
    "release_number",
    "release_problem",
    "system_of_parameter",
]
