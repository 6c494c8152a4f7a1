"""Hosts without a route out pull images of ECR alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Fleet
from gpu_constructs.rules.tasks.registries import pulls_its_images
from tests.rules.given import a_pool, container, fleet_of, gpu, said, service, task_of


def _fleet(image: str, *, isolated: bool = True) -> Fleet:
    task, pool = task_of(replace(container(gpu("1")), image=image)), replace(a_pool(), has_no_route_out=isolated)
    return replace(fleet_of(task, workloads=(service(task, pool),)), pools=(pool,))


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("ubuntu", "Docker Hub"),
        ("vllm/vllm-openai:v0.11.0", "Docker Hub"),
        ("docker.io/library/ubuntu:24.04", "Docker Hub"),
        ("nvcr.io/nvidia/tritonserver:25.09-py3", "nvcr.io"),
        ("public.ecr.aws/aws-cli/aws-cli:2.36.44", "public.ecr.aws"),
    ],
)
def test_an_image_of_the_internet_is_a_warning(image: str, registry: str) -> None:
    (finding,) = said(pulls_its_images, _fleet(image))
    assert f"an image of {registry} (" in finding.message


@pytest.mark.parametrize(
    "fleet",
    [
        _fleet("123456789012.dkr.ecr.us-east-1.amazonaws.com/vllm:1"),
        _fleet("registry.example.com:5000/vllm:1"),
        _fleet("localhost/vllm:1"),
        _fleet("vllm/vllm-openai:v0.11.0", isolated=False),
    ],
)
def test_other_registries_and_other_subnets_are_silent(fleet: Fleet) -> None:
    assert not said(pulls_its_images, fleet)
