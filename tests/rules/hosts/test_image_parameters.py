"""SSM parameters that stand for a machine image."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.facts import image
from gpu_constructs.fleet import NO_USER_DATA, UNKNOWN, Fleet, HostAction, HostImage, Pool
from gpu_constructs.rules import Severity
from gpu_constructs.rules.hosts.image_parameters import holds_an_id, made_for_ecs, release_in_region
from tests.rules.given import a_pool, a_task, only, running_on, said

RULES = (holds_an_id, made_for_ecs)

ECS = "/aws/service/ecs/optimized-ami"


def written(parameter: str) -> Pool:
    return a_pool("g6.xlarge", image=UNKNOWN, image_written=f"{{{{resolve:ssm:{parameter}}}}}")


@pytest.mark.parametrize(
    ("parameter", "fix"),
    [
        (f"{ECS}/amazon-linux-2023/gpu/x86_64/recommended/image_id", f"{ECS}/amazon-linux-2023/gpu/recommended/"),
        (
            "/aws/service/bottlerocket/aws-ecs-2-nvdia/x86_64/latest/image_id",
            "/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/",
        ),
    ],
)
def test_a_parameter_that_nobody_knows_is_a_warning(parameter: str, fix: str) -> None:
    finding = only(RULES, running_on(written(parameter)))
    assert (finding.rule, finding.severity) == ("GPU130", Severity.WARNING)
    assert parameter in finding.message
    assert finding.fix == f"{fix}image_id"


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id", "for EKS"),
        ("/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-ECS_Optimized/image_id", "Windows"),
        ("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64", "plain Amazon Linux"),
    ],
)
def test_an_image_that_is_not_of_ecs_is_a_warning_where_gpu_tasks_wait(parameter: str, words: str) -> None:
    finding = only(RULES, running_on(written(parameter)))
    assert (finding.rule, finding.severity) == ("GPU309", Severity.WARNING)
    assert finding.message.startswith("chat-service asks for GPUs, and ")
    assert words in finding.message
    assert f"{ECS}/amazon-linux-2023/gpu/recommended/image_id" in finding.fix
    assert said(made_for_ecs, running_on(written(parameter), task=a_task(name="web"))) == []


@pytest.mark.parametrize(
    ("variant", "rules"),
    [("aws-ecs-1", ["GPU309"]), ("aws-ecs-9-fips", ["GPU309"]), ("aws-ecs-1-nvidia", ["GPU130"])],
)
def test_bottlerocket_has_an_nvidia_driver_in_variants_of_that_name_only(variant: str, rules: list[str]) -> None:
    pool = written(f"/aws/service/bottlerocket/{variant}/x86_64/latest/image_id")
    found = said(RULES, running_on(pool))
    assert [(each.rule, each.severity is Severity.ERROR) for each in found] == [
        (each, each == "GPU309") for each in rules
    ]
    assert "-nvidia/x86_64/latest/image_id" in found[0].fix
    assert [each.rule for each in said(RULES, running_on(pool, task=a_task(name="web")))] == ["GPU130"]


DEEP_LEARNING = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id"
INSTALLS_NOTHING = replace(NO_USER_DATA, actions_never_taken=frozenset({HostAction.INSTALLS}))


@pytest.mark.parametrize(
    "fleet",
    [
        pytest.param(running_on(written(DEEP_LEARNING)), id="user data that may install it"),
        pytest.param(
            running_on(replace(written("/my/own/ami"), user_data=INSTALLS_NOTHING)), id="an image of one's own"
        ),
    ],
)
def test_hosts_that_may_have_the_agent_are_silent(fleet: Fleet) -> None:
    assert [each for each in said(made_for_ecs, fleet) if each.severity is Severity.ERROR] == []


def released(name: str, release: str) -> HostImage:
    return HostImage(image=image(name), release=release)


def al2023(day: str) -> HostImage:
    return released("al2023-gpu", f"al2023-ami-ecs-gpu-hvm-2023.0.{day}-kernel-6.1-x86_64-ebs")


@pytest.mark.parametrize(
    ("region", "day"), [("me-central-1", "20261113"), ("mx-central-1", "20260922"), ("us-gov-west-1", "20250224")]
)
def test_what_is_not_recorded_is_a_warning(region: str, day: str) -> None:
    finding = only(release_in_region, running_on(a_pool("g6.xlarge", image=al2023(day), region=region)))
    assert (finding.rule, finding.severity) == ("GPU200", Severity.WARNING)
    assert "is not recorded" in finding.message


@pytest.mark.parametrize(
    ("name", "release", "reason"),
    [
        ("bottlerocket-ecs-4-nvidia-x86_64", "1.16.0", "is from before the first release of"),
        ("al2023-gpu", "1.66.0", "is not a release of al2023-gpu, whose releases are like al2023-ami-ecs-gpu-hvm-"),
        ("al2023", "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs", "is not a release of al2023"),
    ],
)
def test_a_release_that_cannot_have_been_is_an_error(name: str, release: str, reason: str) -> None:
    pool = a_pool("g6.xlarge", image=released(name, release), region="us-east-1")
    finding = next(each for each in said(release_in_region, running_on(pool)) if each.rule == "GPU200")
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(f"'{release}' {reason}")
    assert f"pin {image(name).known_release}, or follow the newest with" in finding.fix


AROUND, BEFORE = "releases around it, it has ", "releases before it, it has "


@pytest.mark.parametrize(
    ("host_image", "ends"),
    [
        (al2023("20260101"), f"{AROUND}a driver from 580.95.05 to 580.126.09"),
        # recorded after those with a known driver
        (released("al2-gpu", "amzn2-ami-ecs-gpu-hvm-2.0.20260929-x86_64-ebs"), f"{BEFORE}driver 550.163.01 or later"),
        (released("bottlerocket-ecs-3-nvidia-x86_64", "1.70.0"), f"{BEFORE}driver 580.178.04 or later"),
    ],
)
def test_a_release_without_a_known_driver_is_a_warning_that_says_which_it_may_have(
    host_image: HostImage, ends: str
) -> None:
    pool = a_pool("g6.xlarge", image=host_image, region="us-east-1")
    finding = next(each for each in said(release_in_region, running_on(pool)) if each.rule == "GPU200")
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("the driver of release ") is ends.startswith(BEFORE)
    assert finding.message.endswith(f"is not recorded; judged by the {ends}")


@pytest.mark.parametrize(
    "host_image",
    [al2023("20250224"), released("al2023-gpu", "custom")],
)
def test_a_release_of_the_records_or_without_a_driver_is_silent(host_image: HostImage) -> None:
    assert said(release_in_region, running_on(a_pool("g6.xlarge", image=host_image, region="us-east-1"))) == []
