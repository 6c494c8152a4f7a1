"""Machine images: what an AMI lets a host register, and the Bottlerocket parameters that moto 5.2.5 lacks.

A host of a GPU type registers its GPUs only where its AMI carries the NVIDIA driver and tells the agent so, and an
AMI boots only on its own architecture. Both follow from the public SSM parameter that names the AMI; moto records the
ECS-optimized ones. An AMI that no parameter names is somebody's own and trusted.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass

from moto import settings
from moto.core.utils import utcnow
from moto.ssm import models as ssm
from moto.ssm.utils import convert_to_params
from moto.utilities.utils import load_resource

__all__ = ["Image", "image", "install"]

ECS_OPTIMIZED = "/aws/service/ecs/optimized-ami"
BOTTLEROCKET = re.compile(
    r"/aws/service/bottlerocket/(?P<variant>aws-ecs-[2-4](?:-nvidia)?(?:-fips)?)"
    r"/(?P<architecture>x86_64|arm64)/(?P<version>latest|\d+\.\d+\.\d+(?:-[0-9a-f]+)?)/image_id"
)
"""Variants that still get releases (https://bottlerocket.dev/en/os/latest/#/api/); ``aws-ecs-1`` no longer does."""


@dataclass(frozen=True)
class Image:
    """What is known of an AMI.

    Args:
        gpu_driver: Whether a host started from it registers its GPUs.
        mps: Whether its agent shares them with MPS (1.107.0 and later; no Bottlerocket variant is known to).
        neuron: Whether it carries the Neuron driver.
        architecture: The architecture it boots on, None where it is not known.
    """

    gpu_driver: bool = True
    mps: bool = True
    neuron: bool = True
    architecture: str | None = None


def image(image_id: str, parameters: ssm.ParameterDict) -> Image:
    """Say what an AMI is, from the public parameters of its region."""
    if known := _ecs_optimized(parameters.region_name).get(image_id):
        return known
    for name, versions in list(parameters.items()):
        match = BOTTLEROCKET.fullmatch(name)
        if match and versions and versions[-1].value == image_id:
            return Image(
                gpu_driver="-nvidia" in match["variant"], mps=False, neuron=False, architecture=match["architecture"]
            )
    return Image()


@functools.cache
def _ecs_optimized(region: str) -> dict[str, Image]:
    """The ECS-optimized AMIs of a region, by id."""
    return {
        value: Image(
            gpu_driver="/gpu/" in name,
            mps="/amazon-linux-2023/gpu/" in name,
            neuron="/neuron/" in name or "/inf/" in name,
            architecture="arm64" if "/arm64/" in name else "x86_64",
        )
        for name, value in _published(region).items()
        if name.endswith("/image_id")
    }


@functools.cache
def _published(region: str) -> dict[str, str]:
    """The public parameters of ECS-optimized AMIs in a region; moto makes thousands of them anew for each account."""
    try:
        tree = load_resource(f"ssm/resources/ecs/optimized_amis/{region}.json")
    except FileNotFoundError:
        return {}
    return {each["Name"]: each["Value"] for each in convert_to_params(tree)}


class Parameter(ssm.Parameter):
    """moto's own leaves two abstract methods open, which only its CloudFormation minds."""

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return False

    def is_created(self) -> bool:
        return True


class Parameters(ssm.ParameterDict):
    """moto's parameters and every Bottlerocket image id, which is made up but always the same.

    What AWS publishes of images is there as soon as somebody asks for it.
    """

    def _check_loading_status(self, key: str) -> None:
        name = str(key or "")
        if BOTTLEROCKET.fullmatch(name):
            self._publish(name, f"ami-{hashlib.sha256(name.encode()).hexdigest()[:17]}")
        elif name.startswith(ECS_OPTIMIZED):
            published = _published(self.region_name)
            for each in [name] if name in published else [each for each in published if each.startswith(name)]:
                self._publish(each, published[each])
        else:
            super()._check_loading_status(key)

    def _publish(self, name: str, value: str) -> None:
        if not dict.__contains__(self, name):
            dict.__setitem__(self, name, [self._parameter(name, value)])

    def _parameter(self, name: str, value: str) -> ssm.Parameter:
        return Parameter(
            account_id=self.account_id,
            name=name,
            value=value,
            parameter_type="String",
            description=None,
            allowed_pattern=None,
            keyid=None,
            last_modified_date=utcnow(),
            version=1,
            data_type="text",
        )


def install() -> None:
    """Give every region that moto sets up from now on these parameters, and no AMI of its own: nobody asks for any."""
    settings.ec2_load_default_amis = lambda: False
    ssm.ParameterDict = Parameters  # type: ignore[misc]
