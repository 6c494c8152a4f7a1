"""Keys of templates: this library's own, and those that people write for GPUs and that ECS does not have."""

from __future__ import annotations

from gpu_constructs.facts.budget import LABEL

METADATA_KEY = "gpu-constructs"
"""Key in the ``Metadata`` of a resource, for the needs of containers and for what is accepted; the constructs write it,
the reader reads it, and it is the first half of the ids by which findings are acknowledged in a CDK app."""

DECLARED_TYPES = "InstanceTypes"
"""Under that key of what launches hosts: the types of its hosts that the catalogue does not have, by name."""

DECLARED_IMAGE = "MachineImage"
"""Under that key of whatever names the AMI of hosts: what an AMI of the user's own can do."""

KEEPS_PROVIDERS = "KeepsCapacityProviders"
"""Under that key of a list of capacity providers: whether it names every other provider that its cluster has."""

KEEPS_STRATEGY = "KeepsDefaultStrategy"
"""Under that key of a list of capacity providers: whether it has the default strategy that its cluster should have."""

RESERVED_INSTANCES = "ReservedInstances"
"""Under that key of an Auto Scaling group: how many hosts are reserved, which no property says."""

EXISTS = "Exists"
"""Under that key of any resource: whether it is there already, as a plan or a state of Terraform says."""

STAYS = "Stays"
"""The same: whether it stays as it is."""

GPU_WORDS = frozenset(
    {
        "accelerator",
        "accelerators",
        "devicerequests",
        "gpu",
        "gpucount",
        "gpulimit",
        "gpunumber",
        "gpurequirements",
        "gpus",
        "ngpus",
        "numgpus",
        "numberofgpus",
        "nvidiagpu",
        "nvidiagpus",
    }
)
"""What people write into a container or a task to get GPUs, which ECS reads from ``ResourceRequirements`` alone."""


def plain(key: str) -> str:
    """A key, with dots between levels, without what people most often get wrong: case, hyphens, underscores."""
    return "".join(each for each in key.lower()[:LABEL] if each.isalnum() or each == ".")
