"""What the tests read of moto's dumps, without the generator that the catalogue was made with."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from typing import TypeAlias

__all__ = ["Json", "instance_types", "offerings", "published_images", "whole"]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def _load(*path: str) -> Json:
    file = resources.files("moto")
    for part in path:
        file = file / part
    loaded: Json = json.loads(gzip.decompress(file.read_bytes()))
    return loaded


def whole(value: Json) -> int:
    """A number of the dump, which must be one."""
    assert isinstance(value, int)
    return value


@cache
def instance_types() -> dict[str, dict[str, Json]]:
    """DescribeInstanceTypes, by name."""
    loaded = _load("ec2", "resources", "instance_types.json.gz")
    assert isinstance(loaded, dict)
    return {name: info for name, info in loaded.items() if isinstance(info, dict)}


@cache
def offerings() -> dict[str, frozenset[str]]:
    """Types that a region offers, by region."""
    found: dict[str, frozenset[str]] = {}
    for file in (resources.files("moto") / "ec2" / "resources" / "instance_type_offerings" / "region").iterdir():
        loaded = json.loads(gzip.decompress(file.read_bytes()))
        found[file.name.partition(".")[0]] = frozenset(str(offer["InstanceType"]) for offer in loaded)
    return found


@cache
def published_images() -> dict[str, dict[str, Json]]:
    """The tree of public SSM parameters below /aws/service/ecs/optimized-ami, by region."""
    found: dict[str, dict[str, Json]] = {}
    for file in (resources.files("moto") / "ssm" / "resources" / "ecs" / "optimized_amis").iterdir():
        loaded = json.loads(gzip.decompress(file.read_bytes()))
        found[file.name.partition(".")[0]] = loaded["aws"]["service"]["ecs"]["optimized-ami"]
    return found
