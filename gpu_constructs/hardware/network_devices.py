"""What EC2 does not report of network interfaces and of the devices that Linux has for them."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.hardware.model import InstanceType

# "The following instance types are not supported" of
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-eni.html, in a copy of 2023.
_WITHOUT_TRUNK = frozenset({"g3", "g3s", "g4dn", "inf1", "p3dn"})

NVLINK_CONTROLLERS: Mapping[str, int | None] = {"p6-b200": 2, "p6-b300": None}
"""Devices ``/dev/infiniband/uverbs<N>`` of NVLink controllers beside those of EFA, by family; None if unknown how many.

P6-B200 has 10 such devices, 8 of EFA, and no page says which numbers these have
(https://github.com/aws/sagemaker-hyperpod-cli/pull/282 and https://github.com/aws-samples/aws-do-eks/pull/63, read on
2026-11-22). P6-B300 has NVSwitches of the same generation, and no source lists its devices.
"""


def may_have_trunk(instance_type: InstanceType) -> bool:
    """Whether ``awsvpcTrunking`` may give a host more network interfaces: ECS does not support it on some types."""
    return instance_type.family not in _WITHOUT_TRUNK
