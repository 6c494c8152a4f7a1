"""An image that cannot drive its hosts is an error with the right image; where it only may not, it is a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import Architecture, Vendor, image
from gpu_constructs.fleet import (
    EXISTS,
    METADATA_KEY,
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
from gpu_constructs.template.resources.user_data import agent_settings
from tests.rules.changed import changed
from tests.rules.given import GPU_TASK, a_pool, asked, of_image, running_on, unpriced

RULES = rules_of(images)

SETS_GPU_SUPPORT = UserData(format=UserDataFormat.SHELL, agent=(("ECS_ENABLE_GPU_SUPPORT", "true"),))


OWN = ", or an AMI of your own with a driver"
TOLD = "ECS_ENABLE_GPU_SUPPORT registers it only if the user data installs one"


def _custom(**changes: Any) -> HostImage:
    return HostImage(
        image=replace(image("al2023-gpu"), name="custom", line="", driver_version=None, **changes), release="custom"
    )


@pytest.mark.parametrize(
    ("types", "image_name", "words", "fix"),
    [
        ("g5g.xlarge", "al2023-gpu", "built for x86_64, g5g.xlarge is arm64", "image bottlerocket-ecs-2-nvidia-arm64"),
        ("g6f.large", "al2-gpu", "GRID kernel module", "image al2023-gpu"),
        ("g4ad.xlarge", "al2023-gpu", "ECS schedules NVIDIA GPUs only", f"use g6.xlarge{OWN}"),
    ],
)
def test_an_image_that_cannot_drive_a_type_is_an_error(types: str, image_name: str, words: str, fix: str) -> None:
    finding = asked(RULES, a_pool(types, image=of_image(image_name)))["GPU052"]
    assert finding.message.startswith(f"image {image_name} cannot drive {types}: ")
    assert words in finding.message
    assert unpriced(finding.fix) == fix


@pytest.mark.parametrize(
    ("types", "image_name", "changes", "wrong"),
    [
        (("g5.xlarge", "p2.xlarge"), "al2023-gpu", {}, "p2.xlarge: al2023-gpu has driver 580.178.04"),
        (("p2.xlarge",), "al2023-gpu", {"has_unknown_types": True}, "p2.xlarge: "),
        (("g5.xlarge", "g5g.xlarge"), "al2023-gpu", {"requirements": InstanceRequirements()}, "g5g.xlarge: "),
    ],
    ids=["an old GPU", "types of the deploy", "types that nobody listed"],
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
        (("g5.xlarge", "g6f.large"), "al2-gpu", "GPU117", "leave g6f.large out, or image al2023-gpu"),
    ],
)
def test_an_image_that_the_other_types_do_not_run_on_is_no_fix(
    types: tuple[str, ...], image_name: str, rule: str, fix: str
) -> None:
    assert asked(RULES, a_pool(*types, image=of_image(image_name)))[rule].fix == fix


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ("echo ready", ["GPU004"]),
        ("sysctl -w vm.overcommit_memory=0\n# vm.overcommit_memory=1", ["GPU004"]),
        ("sysctl -w vm/overcommit_memory=1", []),
        ("echo 1 > /proc/sys/vm/overcommit_memory", []),
        ("bash /opt/setup.sh", []),
    ],
)
def test_the_smallest_host_with_a_part_of_a_gpu_overcommits_memory(lines: str, rules: list[str]) -> None:
    data = agent_settings(f"#!/bin/bash\n{lines}\n", lambda _: None).data
    assert list(asked(RULES, a_pool("g6f.large", user_data=data))) == rules


def test_bottlerocket_runs_no_script_that_could_install_a_driver() -> None:
    pool = a_pool("g5.xlarge", image=of_image("bottlerocket-ecs-2-x86_64"), user_data=SETS_GPU_SUPPORT)
    found = asked(RULES, running_on(pool))
    assert {each.rule: each.fix for each in found.values()} == {"GPU052": "image bottlerocket-ecs-2-nvidia-x86_64"}


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


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("echo ready", "GPU052"),
        ("dnf install -y nvidia-driver", "GPU099"),
        ("sh /mnt/NVIDIA-Linux-x86_64.run --silent", "GPU099"),
    ],
)
def test_user_data_that_certainly_installs_no_driver_makes_it_an_error(line: str, rule: str) -> None:
    script = f"#!/bin/bash\n{line}\necho ECS_ENABLE_GPU_SUPPORT=true >> /etc/ecs/ecs.config\n"
    data = agent_settings(script, lambda _: None).data
    found = asked(RULES, running_on(a_pool("g5.xlarge", image=of_image("al2023"), user_data=data)))
    assert list(found) == [rule]
    assert rule == "GPU099" or "the user data installs none" in found[rule].message


NEURON_TASK = replace(
    GPU_TASK, containers=(replace(GPU_TASK.containers[0], requirements=(), devices=("/dev/neuron0",)),)
)


@pytest.mark.parametrize(
    ("line", "image_name", "changes", "rule"),
    [
        ("echo ready", "al2023", {}, "GPU052"),
        ("echo ready", "al2023", {"daemon": True}, "GPU099"),
        ("dnf install -y aws-neuronx-dkms", "al2023", {}, "GPU099"),
        ("echo ready", "bottlerocket-ecs-2-x86_64", {}, "GPU004"),
    ],
)
def test_neuron_devices_need_a_driver_that_is_in_the_image_or_installed(
    line: str, image_name: str, changes: dict[str, Any], rule: str
) -> None:
    data = agent_settings(f"#!/bin/bash\n{line}\n", lambda _: None).data
    pool = a_pool("inf2.xlarge", image=of_image(image_name), user_data=data)
    assert list(asked(RULES, running_on(pool, task=NEURON_TASK, **changes))) == [rule]


JOB = replace(GPU_TASK, scheduler=Scheduler.BATCH)
PLAIN_BATCH = a_pool("g5.xlarge", image=of_image("al2023"), kind=PoolKind.BATCH)


@pytest.mark.parametrize(
    ("pools", "is_whole"),
    [((PLAIN_BATCH,), False), ((PLAIN_BATCH, a_pool("g5.xlarge", name="Gpu", kind=PoolKind.BATCH)), True)],
    ids=["environments of other files", "another environment"],
)
def test_a_job_that_another_environment_may_take_is_none(pools: tuple[Pool, ...], is_whole: bool) -> None:
    found = asked(RULES, Fleet(pools=pools, tasks=(JOB,), is_whole=is_whole))
    assert list(found) == ["GPU099"]
    assert "its hosts register no GPU, and no task gets one" in found["GPU099"].message


@pytest.mark.parametrize(
    "changes",
    [{"task": replace(GPU_TASK, containers=())}, {"daemon": UNKNOWN}],
)
def test_a_plain_image_that_no_gpu_task_needs_is_only_a_warning(changes: dict[str, Any]) -> None:
    assert list(asked(RULES, running_on(a_pool("g5.xlarge", image=of_image("al2023")), **changes))) == ["GPU099"]


def test_a_gpu_image_that_may_not_start_without_gpus_is_said() -> None:
    found = asked(RULES, a_pool("c5.large", image=of_image("bottlerocket-ecs-2-nvidia-x86_64")))
    assert list(found) == ["GPU099"]
    assert "c5.large has no GPU, and nothing says that the ECS agent of" in found["GPU099"].message
    assert found["GPU099"].fix == "image bottlerocket-ecs-2-x86_64"
    waiting = running_on(a_pool("c5.large", image=of_image("bottlerocket-ecs-2-nvidia-x86_64")))
    assert "image bottlerocket" not in asked(RULES, waiting)["GPU099"].fix
    old = of_image("al2-gpu", release="amzn2-ami-ecs-gpu-hvm-2.0.20240611-x86_64-ebs")
    assert (
        "the ECS agent of release 20240611 of al2-gpu" in asked(RULES, a_pool("c5.large", image=old))["GPU099"].message
    )


def test_an_image_of_ones_own_is_taken_at_its_word() -> None:
    assert asked(RULES, a_pool("g4ad.xlarge", image=_custom(accelerator=Vendor.AMD))) == {}
    wrong = a_pool("g4ad.xlarge", image=_custom(accelerator=Vendor.AMD, architecture=Architecture.ARM64))
    assert list(asked(RULES, wrong)) == ["GPU052"]
    assert list(asked(RULES, a_pool("p2.xlarge", image=_custom(driver_branch=580)))) == ["GPU052"]


@pytest.mark.parametrize("exists", [True, False])
def test_an_environment_of_batch_that_exists_keeps_its_image(*, exists: bool) -> None:
    resources = {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "Ec2Configuration": [{"ImageType": "ECS_AL2_NVIDIA"}]}
    environment = {
        "Type": "AWS::Batch::ComputeEnvironment",
        "Metadata": {METADATA_KEY: {EXISTS: exists}},
        "Properties": {"Type": "MANAGED", "ComputeResources": resources},
    }
    found = [each for each in changed("GPU003", Jobs=environment) if each.subject == "Jobs"]
    assert [each.severity for each in found] == [Severity.WARNING if exists else Severity.ERROR]


def test_the_age_of_an_image_is_not_said_where_it_has_to_go_anyway() -> None:
    assert set(asked(RULES, a_pool("g6.xlarge", image=of_image("al2-gpu", release=None)))) == {"GPU003"}
    assert set(asked(RULES, a_pool("g7e.2xlarge", image=of_image("al2-gpu", release=None)))) == {"GPU052"}
    assert asked(RULES, a_pool("p2.xlarge", image=_custom(driver_branch=470))) == {}
