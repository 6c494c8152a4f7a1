"""The facts of a family that AWS has never had, g9 with its R200."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

import gpu_constructs.facts
from tools import build_catalogue, ec2_dump
from tools.answers import InstanceTypeInfo

DATA = Path(gpu_constructs.facts.__file__).with_name("data")
SOURCE = {"source": "invented", "date": "2026-11-21"}
TRAITS = {"released_after_2022": True, "managed_instances": True, "device_rdma": True}


def described(like: str, name: str) -> InstanceTypeInfo:
    """A type as DescribeInstanceTypes would describe it: like one that exists, with a GPU that does not."""
    info = cast("dict[str, Any]", deepcopy(ec2_dump.instance_types()[like]))
    info["InstanceType"] = name
    for gpu in info["GpuInfo"]["Gpus"]:
        gpu.update(Name="R200", MemoryInfo={"SizeInMiB": 288 * 1024})
    return cast("InstanceTypeInfo", info)


class Facts:
    """A copy of the facts that the generator reads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        shutil.copytree(build_catalogue.CURATED, folder)
        self.dump = dump = dict(ec2_dump.instance_types())
        offered = dict(ec2_dump.offerings())
        for like, name in (("g6e.xlarge", "g9.xlarge"), ("p5en.48xlarge", "g9.48xlarge")):
            dump[name] = described(like, name)
            offered[name] = ["us-east-1", "us-west-2"]
        monkeypatch.setattr(build_catalogue, "CURATED", folder)
        monkeypatch.setattr(ec2_dump, "instance_types", lambda: dump)
        monkeypatch.setattr(ec2_dump, "offerings", lambda: offered)

    def edit(self, file: str, change: Callable[[dict[str, Any]], object]) -> None:
        path = self.folder / f"{file}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    def add_quota(self) -> None:
        self.edit("quotas", lambda content: content["quotas"]["G/VT"]["families"].append("g9"))

    def add_model(self) -> None:
        row = {"generation": "Rubin", "compute_capability": [13, 0], **SOURCE}
        self.edit("models", lambda content: content["models"].update(R200=row))

    def add_family(self) -> None:
        self.edit("families", lambda content: content["families"].update(g9=TRAITS))
