"""moto's recorded answers of DescribeInstanceTypes and DescribeInstanceTypeOfferings, and of which day they are."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, TypedDict, cast

from gpu_constructs.facts.image_table import Image
from tools.answers import InstanceTypeInfo

__all__ = ["instance_types", "offerings", "recorded", "releases"]

_EC2 = resources.files("moto") / "ec2" / "resources"
_IMAGES = resources.files("moto") / "ssm" / "resources" / "ecs" / "optimized_amis"
_GPU_IMAGE = re.compile(rb"al2023-ami-ecs-gpu-hvm-2023\.0\.(\d{4})(\d\d)(\d\d)-")


class Offering(TypedDict):
    InstanceType: str
    Location: str


@cache
def instance_types() -> dict[str, InstanceTypeInfo]:
    """DescribeInstanceTypes of all regions together, by name."""
    file = _EC2 / "instance_types.json.gz"
    return cast("dict[str, InstanceTypeInfo]", json.loads(gzip.decompress(file.read_bytes())))


@cache
def offerings() -> dict[str, list[str]]:
    """Regions that offer a type, sorted, by name."""
    regions: dict[str, list[str]] = defaultdict(list)
    folder = _EC2 / "instance_type_offerings" / "region"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        for offering in cast("list[Offering]", json.loads(gzip.decompress(file.read_bytes()))):
            regions[offering["InstanceType"]].append(offering["Location"])
    return regions


@cache
def _parameters() -> tuple[Mapping[str, Any], ...]:
    files = sorted(_IMAGES.iterdir(), key=lambda entry: entry.name)
    return tuple(json.loads(gzip.decompress(each.read_bytes())) for each in files)


def releases(image: Image) -> frozenset[str]:
    """The releases of an image of Amazon Linux that the public parameters of any region have; none of another one."""
    folder = image.pinned_ssm_parameter.partition("/{release}")[0].strip("/").split("/")
    found: set[str] = set()
    for tree in _parameters():
        node: Mapping[str, Any] = tree
        for part in folder:
            node = node.get(part, {})
        found |= node.keys()
    return frozenset(found)


@cache
def recorded() -> str:
    """The day that the answers are taken to be of: moto does not date them, but its newest ECS image has a date."""
    texts = (gzip.decompress(file.read_bytes()) for file in _IMAGES.iterdir())
    year, month, day = max(found for text in texts for found in _GPU_IMAGE.findall(text))
    return f"{year.decode()}-{month.decode()}-{day.decode()}"
