"""What the tests read of moto's dumps, without the generator that the catalogue was made with."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def instance_types() -> dict[str, dict[str, Any]]:
    """DescribeInstanceTypes, by name."""
    file = resources.files("moto") / "ec2" / "resources" / "instance_types.json.gz"
    loaded: dict[str, dict[str, Any]] = json.loads(gzip.decompress(file.read_bytes()))
    return loaded


@cache
def offerings() -> dict[str, frozenset[str]]:
    """Types that a region offers, by region."""
    found: dict[str, frozenset[str]] = {}
    for file in (resources.files("moto") / "ec2" / "resources" / "instance_type_offerings" / "region").iterdir():
        loaded = json.loads(gzip.decompress(file.read_bytes()))
        found[file.name.partition(".")[0]] = frozenset(str(offer["InstanceType"]) for offer in loaded)
    return found


@cache
def published_images() -> dict[str, dict[str, Any]]:
    """The tree of public SSM parameters below /aws/service/ecs/optimized-ami, by region."""
    found: dict[str, dict[str, Any]] = {}
    for file in (resources.files("moto") / "ssm" / "resources" / "ecs" / "optimized_amis").iterdir():
        loaded = json.loads(gzip.decompress(file.read_bytes()))
        found[file.name.partition(".")[0]] = loaded["aws"]["service"]["ecs"]["optimized-ami"]
    return found


def below(tree: dict[str, Any], *path: str) -> dict[str, Any]:
    """What a tree has at a path; nothing where it has none."""
    for part in path:
        tree = tree.get(part, {})
    return tree
