"""An image that cannot drive its hosts is an error with the right image; where it only may not, it is a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import Architecture, Vendor, image
from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    HostImage,
    InstanceRequirements,
    Pool,
    PoolKind,
    Scheduler,
    UserData,
    UserDataFormat,
)
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.hosts import images
from tests.rules.given import GPU_TASK, a_pool, asked, of_image, running_on

RULES = rules_of(images)

SETS_GPU_SUPPORT = UserData(format=UserDataFormat.SHELL, agent=(("ECS_ENABLE_GPU_SUPPORT", "true"),))


OWN = ", or an AMI of your own with a driver"
TOLD = "ECS_ENABLE_GPU_SUPPORT registers it only if the user data installs one"


def _custom(**changes: Any) -> HostImage:
    return HostImage(
        image=replace(image("al2023-gpu"), name="custom", line="", driver_version=None, **changes), release="custom"
    )


def test_an_image_that_floats_is_told_the_release_to_pin() -> None:
    found = asked(RULES, a_pool(image=of_image("al2023-gpu", release=None)))
    assert list(found) == ["GPU002"]
    assert found["GPU002"].severity is Severity.INFO
    assert "any deploy may change the AMI" in found["GPU002"].message
    assert found["GPU002"].fix.startswith("pin a release, such as al2023-ami-ecs-gpu-hvm-")


def test_an_image_past_its_end_of_life_is_told_the_day() -> None:
    found = asked(RULES, a_pool("g5.xlarge", image=of_image("al2-gpu")))
    assert list(found) == ["GPU003"]
    assert "past its end of life, 2026-06-30, and AWS promises no more security updates" in found["GPU003"].message
    assert "image al2023-gpu" in found["GPU003"].fix


def test_a_type_that_nobody_confirms_is_a_doubt_with_its_reason() -> None:
    found = asked(RULES, a_pool("g7.2xlarge"))
    assert list(found) == ["GPU004"]
    assert (
        "no source confirms that image al2023-gpu drives g7.2xlarge: NVIDIA lists the RTX PRO 4500"
        in found["GPU004"].message
    )


@pytest.mark.parametrize(
    ("types", "image_name", "words", "fix"),
    [
        ("g5g.xlarge", "al2023-gpu", "built for x86_64, g5g.xlarge is arm64", "image bottlerocket-ecs-2-nvidia-arm64"),
        ("c7g.large", "al2023", "built for x86_64, c7g.large is arm64", "image al2023-arm64"),
        ("g6.xlarge", "al2023-arm64", "built for arm64, g6.xlarge is x86_64", "image al2023-gpu"),
        ("inf2.xlarge", "al2023-gpu", "no driver for the Inferentia2", "image al2023-neuron"),
        ("g5.xlarge", "al2023-neuron", "no driver for the A10G", "image al2023-gpu"),
        ("p2.xlarge", "al2023-gpu", "driver 580.178.04, 470 is the last that drives Kepler", f"use g6e.2xlarge{OWN}"),
        (
            "p6-b200.48xlarge",
            "al2-kernel-5.10-gpu",
            "550.163.01, 570.86.15 is the first that drives Blackwell",
            "image al2023-gpu",
        ),
        ("g6f.large", "al2-gpu", "GRID kernel module", "image al2023-gpu"),
        ("g4ad.xlarge", "al2023-gpu", "ECS schedules NVIDIA GPUs only", f"use g6.xlarge{OWN}"),
    ],
)
def test_an_image_that_cannot_drive_a_type_is_an_error(types: str, image_name: str, words: str, fix: str) -> None:
    finding = asked(RULES, a_pool(types, image=of_image(image_name)))["GPU052"]
    assert finding.message.startswith(f"image {image_name} cannot drive {types}: ")
    assert words in finding.message
    assert finding.fix == fix


def test_types_of_one_kind_are_one_error_and_those_that_are_driven_are_none() -> None:
    pool = a_pool("g5g.xlarge", "g6.xlarge", "g5g.2xlarge")
    assert asked(RULES, pool)["GPU052"].message.startswith("image al2023-gpu cannot drive g5g.xlarge or g5g.2xlarge: ")


@pytest.mark.parametrize(
    ("types", "image_name", "changes", "wrong"),
    [
        (("g5.xlarge", "p2.xlarge"), "al2023-gpu", {}, "p2.xlarge: al2023-gpu has driver 580.178.04"),
        (("g5.xlarge", "inf2.xlarge"), "al2023-gpu", {}, "inf2.xlarge: "),
        (("p2.xlarge",), "al2023-gpu", {"has_unknown_types": True}, "p2.xlarge: "),
        (("g5.xlarge", "g5g.xlarge"), "al2023-gpu", {"requirements": InstanceRequirements()}, "g5g.xlarge: "),
    ],
    ids=["an old GPU", "another vendor", "types of the deploy", "types that nobody listed"],
)
def test_some_types_that_the_image_cannot_drive_are_a_warning(
    types: tuple[str, ...], image_name: str, changes: dict[str, Any], wrong: str
) -> None:
    found = asked(RULES, a_pool(*types, image=of_image(image_name), **changes))
    assert {each.rule: each.severity for each in found.values()} == {"GPU117": Severity.WARNING}
    assert f"of the types of Hosts, image {image_name} cannot drive {wrong}" in found["GPU117"].message
    assert found["GPU117"].fix.startswith(f"leave {wrong.partition(':')[0]} out")


@pytest.mark.parametrize(
    ("types", "image_name", "rule", "fix"),
    [
        (("c7i.large", "c7g.large"), "al2023", "GPU052", "leave c7g.large out"),
        (("g5.xlarge", "inf2.xlarge"), "al2023-gpu", "GPU117", "leave inf2.xlarge out"),
        (("g5.xlarge", "c5.large"), "al2023-gpu", "GPU288", "leave c5.large out"),
        (("g5.xlarge", "g6f.large"), "al2-gpu", "GPU117", "leave g6f.large out, or image al2023-gpu"),
    ],
)
def test_an_image_that_the_other_types_do_not_run_on_is_no_fix(
    types: tuple[str, ...], image_name: str, rule: str, fix: str
) -> None:
    assert asked(RULES, a_pool(*types, image=of_image(image_name)))[rule].fix == fix


def test_a_plain_image_under_a_gpu_task_is_an_error_because_the_agent_registers_no_gpu() -> None:
    found = asked(RULES, running_on(a_pool("g5.xlarge", image=of_image("al2023"))))
    assert list(found) == ["GPU052"]
    assert found["GPU052"].message == (
        "chat-service asks for GPUs, and image al2023 has no driver for g5.xlarge: without ECS_ENABLE_GPU_SUPPORT=true "
        "its hosts register no GPU"
    )
    assert found["GPU052"].fix == "image al2023-gpu"


def test_bottlerocket_runs_no_script_that_could_install_a_driver() -> None:
    pool = a_pool("g5.xlarge", image=of_image("bottlerocket-ecs-2-x86_64"), user_data=SETS_GPU_SUPPORT)
    assert list(asked(RULES, running_on(pool))) == ["GPU052"]


@pytest.mark.parametrize(
    ("user_data", "words"),
    [
        (SETS_GPU_SUPPORT, TOLD),
        (UserData(format=UserDataFormat.SHELL, agent=(("ECS_ENABLE_GPU_SUPPORT", UNKNOWN),)), TOLD),
        (UserData(format=UNKNOWN, complete=False), "no task gets it, unless the user data installs one"),
    ],
)
def test_user_data_that_may_install_a_driver_makes_it_a_warning(user_data: UserData, words: str) -> None:
    found = asked(RULES, running_on(a_pool("g5.xlarge", image=of_image("al2023"), user_data=user_data)))
    assert list(found) == ["GPU099"]
    assert "no driver for the A10G of g5.xlarge" in found["GPU099"].message
    assert words in found["GPU099"].message


JOB = replace(GPU_TASK, scheduler=Scheduler.BATCH)
PLAIN_BATCH = a_pool("g5.xlarge", image=of_image("al2023"), kind=PoolKind.BATCH)


def test_a_job_that_no_compute_environment_gives_a_gpu_is_an_error() -> None:
    found = asked(RULES, Fleet(pools=(PLAIN_BATCH,), tasks=(JOB,), is_whole=True))
    assert list(found) == ["GPU052"]
    assert "chat asks for GPUs, and image al2023 has no driver for g5.xlarge" in found["GPU052"].message


@pytest.mark.parametrize(
    ("pools", "is_whole"),
    [((PLAIN_BATCH,), False), ((PLAIN_BATCH, a_pool("g5.xlarge", name="Gpu", kind=PoolKind.BATCH)), True)],
    ids=["environments of other files", "another environment"],
)
def test_a_job_that_another_environment_may_take_is_none(pools: tuple[Pool, ...], is_whole: bool) -> None:
    found = asked(RULES, Fleet(pools=pools, tasks=(JOB,), is_whole=is_whole))
    assert list(found) == ["GPU099"]
    assert "its hosts register no GPU, and no task gets one" in found["GPU099"].message


def test_the_image_to_take_is_of_the_same_system_where_that_has_one() -> None:
    bottlerocket = running_on(a_pool("g5.xlarge", image=of_image("bottlerocket-ecs-2-x86_64")))
    finding = asked(RULES, bottlerocket)["GPU052"]
    assert finding.message.endswith("its hosts register no GPU, and no script can install one")
    assert finding.fix == "image bottlerocket-ecs-2-nvidia-x86_64"


def test_the_image_of_another_system_is_told_with_the_form_of_its_user_data() -> None:
    finding = asked(RULES, a_pool("g5g.xlarge", user_data=UserData(format=UserDataFormat.SHELL)))["GPU052"]
    assert finding.fix == "image bottlerocket-ecs-2-nvidia-arm64, with its user data in TOML"


@pytest.mark.parametrize(
    "changes",
    [{"task": replace(GPU_TASK, containers=())}, {"desired_count": 0}, {"daemon": True}, {"daemon": UNKNOWN}],
    ids=str,
)
def test_a_plain_image_that_no_gpu_task_needs_is_only_a_warning(changes: dict[str, Any]) -> None:
    assert list(asked(RULES, running_on(a_pool("g5.xlarge", image=of_image("al2023")), **changes))) == ["GPU099"]


def test_a_task_by_launch_type_is_sure_of_its_hosts_only_in_a_whole_fleet() -> None:
    pool = a_pool("g5.xlarge", image=of_image("al2023"), cluster="gpu")
    part = running_on(pool, strategy=(), launch_type="EC2", cluster="gpu")
    assert list(asked(RULES, part)) == ["GPU099"]
    assert list(asked(RULES, replace(part, is_whole=True))) == ["GPU052"]


def test_a_gpu_image_on_a_host_without_gpus_is_a_warning() -> None:
    found = asked(RULES, a_pool("c5.large"))
    assert list(found) == ["GPU288"]
    assert found["GPU288"].message == "image al2023-gpu is made for GPUs, and c5.large has none"
    assert found["GPU288"].fix == "image al2023"


def test_a_gpu_image_that_may_not_start_without_gpus_is_said() -> None:
    found = asked(RULES, a_pool("c5.large", image=of_image("bottlerocket-ecs-2-nvidia-x86_64")))
    assert list(found) == ["GPU099"]
    assert "c5.large has no GPU, and nothing says that the ECS agent of" in found["GPU099"].message
    old = of_image("al2-gpu", release="amzn2-ami-ecs-gpu-hvm-2.0.20240611-x86_64-ebs")
    assert (
        "the ECS agent of release 20240611 of al2-gpu" in asked(RULES, a_pool("c5.large", image=old))["GPU099"].message
    )


def test_an_image_that_nobody_knows_says_nothing() -> None:
    assert asked(RULES, running_on(a_pool("g5g.xlarge", "g4ad.xlarge", image=UNKNOWN))) == {}


def test_an_image_of_ones_own_is_taken_at_its_word() -> None:
    assert asked(RULES, a_pool("g4ad.xlarge", image=_custom(accelerator=Vendor.AMD))) == {}
    wrong = a_pool("g4ad.xlarge", image=_custom(accelerator=Vendor.AMD, architecture=Architecture.ARM64))
    assert list(asked(RULES, wrong)) == ["GPU052"]
    assert list(asked(RULES, a_pool("p2.xlarge", image=_custom(driver_branch=580)))) == ["GPU052"]
    assert asked(RULES, a_pool("p2.xlarge", image=_custom(driver_branch=470))) == {}


def test_a_gpu_image_past_its_end_is_not_replaced_by_one_without_a_driver() -> None:
    on_hosts_without_gpus = asked(RULES, a_pool("m7i.large", image=of_image("al2-gpu")))["GPU003"]
    assert on_hosts_without_gpus.fix == "an image that AWS still supports"
