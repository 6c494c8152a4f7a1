from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts import Vendor, image
from gpu_constructs.fleet import UNKNOWN, HostImage, Unknown
from tests.template.resources.declared import fleet_of_data, joined, pool_of_data

OPTIMIZED = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu"
PINNED = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
BOTTLEROCKET = "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64"


@pytest.mark.parametrize(
    ("image_id", "expected"),
    [
        (f"{{{{resolve:ssm:{OPTIMIZED}/recommended/image_id}}}}", HostImage(image=image("al2023-gpu"))),
        (f"{{{{resolve:ssm:{OPTIMIZED}/recommended}}}}", UNKNOWN),
        (f"resolve:ssm:{OPTIMIZED}/latest/image_id", HostImage(image=image("al2023-gpu"), release="latest")),
        (f"{{{{resolve:ssm:{OPTIMIZED}/recommended/image_id:3}}}}", HostImage(image=image("al2023-gpu"))),
        (f"resolve:ssm:{OPTIMIZED}/{PINNED}/image_id", HostImage(image=image("al2023-gpu"), release=PINNED)),
        (
            f"resolve:ssm:{BOTTLEROCKET}/latest/image_id",
            HostImage(image=image("bottlerocket-ecs-2-nvidia-arm64")),
        ),
        ("resolve:ssm:/my/own/image", UNKNOWN),
        ("ami-0123456789abcdef0", UNKNOWN),
        (joined("resolve:ssm:", {"Ref": "P"}), UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_an_image_is_known_by_the_public_parameter_it_comes_from(image_id: Any, expected: Any) -> None:
    assert pool_of_data({"ImageId": image_id, "InstanceType": "g6.xlarge"}).image == expected


def _pool_declaring(image: Any, image_id: str = "ami-0123456789abcdef0") -> tuple[HostImage | Unknown, tuple[str, ...]]:
    data = {"ImageId": image_id, "InstanceType": "g6.xlarge"}
    found = fleet_of_data(data, metadata={"gpu-constructs": {"MachineImage": image}})
    return found.pools[0].image, tuple(each.text for each in found.remarks)


def test_an_image_of_the_users_own_is_what_the_metadata_of_its_launch_template_says() -> None:
    found, remarks = _pool_declaring({"DriverVersion": "580.95.05", "agent_version": "1.107.0", "HasMpsService": True})
    assert remarks == ()
    assert isinstance(found, HostImage)
    assert found.is_own
    declared = found.image
    assert (declared.driver_branch, declared.driver_version, declared.accelerator) == (580, "580.95.05", Vendor.NVIDIA)
    assert (declared.agent_version, declared.has_mps_service) == ("1.107.0", True)
    assert declared.architecture is None  # and no type is refused for it
    # What the files show counts before what is declared.
    assert _pool_declaring({"DriverBranch": 470}, f"resolve:ssm:{OPTIMIZED}/recommended/image_id") == (
        HostImage(image=image("al2023-gpu")),
        (),
    )


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["580"], "MachineImage: expects facts by name"),
        ({"Driver": 580}, "a machine image has no 'Driver'; fix: did you mean driver_branch"),
        ({"DriverBranch": "580"}, "MachineImage.DriverBranch: DriverBranch: got '580'; allowed: a whole number"),
        ({"DriverBranch": 580, "driver_branch": 570}, "are the same fact"),
        ({"HasMpsService": {"Ref": "Flag"}}, "got {'Ref': 'Flag'}; allowed: true or false"),
        ({"AgentVersion": None, "Accelerator": None}, "Accelerator: got None"),
        ({"DriverVersion": "580.95.05", "DriverBranch": 570}, "is of branch 580, not 570"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_declaration_of_an_image_is_remarked_at_its_place(written: Any, words: str) -> None:
    found, remarks = _pool_declaring(written)
    assert found is UNKNOWN
    assert any(words in each for each in remarks), remarks
