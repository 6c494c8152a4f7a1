from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, HostImage
from gpu_constructs.hardware import image
from tests.template.resources.declared import joined, pool_of_data

OPTIMIZED = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu"
PINNED = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
BOTTLEROCKET = "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64"


@pytest.mark.parametrize(
    ("image_id", "expected"),
    [
        (f"{{{{resolve:ssm:{OPTIMIZED}/recommended/image_id}}}}", HostImage(image=image("al2023-gpu"))),
        (f"{{{{resolve:ssm:{OPTIMIZED}/recommended}}}}", UNKNOWN),
        (f"resolve:ssm:{OPTIMIZED}/latest/image_id", HostImage(image=image("al2023-gpu"), release="latest")),
        (f"resolve:ssm:{OPTIMIZED}/recommended/image_id", HostImage(image=image("al2023-gpu"))),
        (f"{{{{resolve:ssm:{OPTIMIZED}/recommended/image_id:3}}}}", HostImage(image=image("al2023-gpu"))),
        (f"resolve:ssm:{OPTIMIZED}/{PINNED}/image_id", HostImage(image=image("al2023-gpu"), release=PINNED)),
        (
            f"resolve:ssm:{BOTTLEROCKET}/latest/image_id",
            HostImage(image=image("bottlerocket-ecs-2-nvidia-arm64")),
        ),
        (
            f"resolve:ssm:{BOTTLEROCKET}/1.66.0/image_id",
            HostImage(image=image("bottlerocket-ecs-2-nvidia-arm64"), release="1.66.0"),
        ),
        (
            "resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id",
            HostImage(image=image("al2023")),
        ),
        ("resolve:ssm:/my/own/image", UNKNOWN),
        ("ami-0123456789abcdef0", UNKNOWN),
        (joined("resolve:ssm:", {"Ref": "P"}), UNKNOWN),
        (None, UNKNOWN),
        (["ami-1"], UNKNOWN),
    ],
)
def test_an_image_is_known_by_the_public_parameter_it_comes_from(image_id: Any, expected: Any) -> None:
    assert pool_of_data({"ImageId": image_id, "InstanceType": "g6.xlarge"}).image == expected


@pytest.mark.parametrize(
    "image_id",
    [
        f"{{{{resolve:ssm:{OPTIMIZED}/recommended}}}}",
        "resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpus/recommended/image_id",
        "resolve:ssm:/aws/service/bottlerocket/aws-ecs-2-nvdia/x86_64/latest/image_id",
        "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
        "resolve:ssm:/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-Base",
        "ami-0123456789abcdef0",
    ],
)
def test_an_image_that_is_not_known_is_kept_as_it_was_written(image_id: str) -> None:
    pool = pool_of_data({"ImageId": image_id, "InstanceType": "g6.xlarge"})
    assert (pool.image, pool.image_written) == (UNKNOWN, image_id)


@pytest.mark.parametrize(
    "image_id", [f"resolve:ssm:{OPTIMIZED}/recommended/image_id", {"Ref": "P"}, joined("ami-", {"Unknown": 0}), None]
)
def test_an_image_that_is_known_or_a_value_of_the_deploy_has_no_text(image_id: Any) -> None:
    assert pool_of_data({"ImageId": image_id, "InstanceType": "g6.xlarge"}).image_written is None
