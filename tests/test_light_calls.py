"""Lighter calls of CDK have the outcome of jsii's own: the same template, and the same refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuService
from tests.light_calls import OWN
from tests.synthesis import Properties, Site, app_in

WRONG: tuple[dict[str, Any], ...] = ({"cpu": "4"}, {"essential": 1}, {"hostname": ["a"]}, {"port_mappings": [80]})


def _outcomes(folder: Path) -> tuple[Properties, list[str]]:
    """The template of a service, and what is said of wrong arguments."""
    site = Site(app_in(folder))
    task = site.task()
    task.add_gpu_container("a", image=site.image, port_mappings=[ecs.PortMapping(container_port=80)])
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    cdk.Tags.of(site.stack).add("team", "vision")
    image, refusals = ecs.ContainerImage.from_registry("a"), []
    for wrong in WRONG:
        with pytest.raises((TypeError, RuntimeError)) as refused:
            ecs.Ec2TaskDefinition(cdk.Stack(), "Task").add_container("a", image=image, **wrong)
        refusals.append(str(refused.value))
    return site.template(), refusals


def test_lighter_calls_have_the_outcome_of_jsiis_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lighter = _outcomes(tmp_path / "lighter")
    for module, name, own in OWN:
        assert getattr(module, name) is not own
        monkeypatch.setattr(module, name, own)
    assert lighter == _outcomes(tmp_path / "own")
