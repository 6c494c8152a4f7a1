"""SSM parameters that stand for a machine image."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.errors import shown
from gpu_constructs.fleet import NO_USER_DATA, UNKNOWN, Fleet, HostAction, Pool
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.hosts import image_parameters
from gpu_constructs.rules.hosts.image_parameters import has_the_agent, made_for_ecs
from tests.rules.given import a_pool, a_task, only, running_on, said

RULES = rules_of(image_parameters)

ECS = "/aws/service/ecs/optimized-ami"


def written(parameter: str) -> Pool:
    return a_pool("g6.xlarge", image=UNKNOWN, image_written=f"{{{{resolve:ssm:{parameter}}}}}")


@pytest.mark.parametrize(
    "parameter",
    [
        f"{ECS}/amazon-linux-2023/gpu/recommended",
        f"{ECS}/amazon-linux-2/gpu/amzn2-ami-ecs-gpu-hvm-2.0.20260924-x86_64-ebs",
    ],
)
def test_a_parameter_with_a_json_document_is_an_error(parameter: str) -> None:
    finding = only(RULES, running_on(written(parameter)))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU130", Severity.ERROR, "Hosts")
    assert "holds a JSON document" in finding.message
    assert finding.fix == f"{parameter}/image_id"


@pytest.mark.parametrize(
    ("parameter", "fix"),
    [
        (f"{ECS}/amazon-linux-2023/gpu/x86_64/recommended/image_id", f"{ECS}/amazon-linux-2023/gpu/recommended/"),
        (f"{ECS}/amazon-linux-2023/gpus/recommended/image_id", f"{ECS}/amazon-linux-2023/gpu/recommended/"),
        (
            "/aws/service/bottlerocket/aws-ecs-2-nvdia/x86_64/latest/image_id",
            "/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/",
        ),
        # Nearer to no name, and still of the system that reads the same user data.
        (
            "/aws/service/bottlerocket/aws-ecs-gpu/latest/image_id",
            "/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/",
        ),
    ],
)
def test_a_parameter_that_nobody_knows_is_a_warning(parameter: str, fix: str) -> None:
    finding = only(RULES, running_on(written(parameter)))
    assert (finding.rule, finding.severity) == ("GPU141", Severity.WARNING)
    assert parameter in finding.message
    assert finding.fix == f"{fix}image_id"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("al2023-gpu", f"resolve:ssm:{ECS}/amazon-linux-2023/gpu/recommended/image_id"),
        (
            f"{ECS}/amazon-linux-2/gpu/recommended/image_id",
            f"resolve:ssm:{ECS}/amazon-linux-2/gpu/recommended/image_id",
        ),
        (
            f"{{{{ resolve:ssm:{ECS}/amazon-linux-2023/gpu/recommended/image_id }}}}",
            f"resolve:ssm:{ECS}/amazon-linux-2023/gpu/recommended/image_id",
        ),
    ],
)
def test_a_text_that_ec2_does_not_take_is_an_error(text: str, fix: str) -> None:
    finding = only(RULES, running_on(a_pool("g6.xlarge", image=UNKNOWN, image_written=text)))
    assert (finding.rule, finding.severity, finding.fix) == ("GPU360", Severity.ERROR, fix)
    assert shown(text) in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "ami-0123456789abcdef0",
        "resolve:ssm:golden:prod",
        "resolve:ssm:arn:aws:ssm:us-east-1:123456789012:parameter/golden",
        "{{resolve:ssm:golden}}",
        "dummy-value-for-/golden",
        "${Ami}",
        "",
    ],
)
def test_what_may_become_an_ami_is_fine(text: str) -> None:
    assert said(RULES, running_on(a_pool("g6.xlarge", image=UNKNOWN, image_written=text))) == []


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id", "for EKS"),
        ("/aws/service/bottlerocket/aws-k8s-1.34-nvidia/x86_64/latest/image_id", "for EKS"),
        ("/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-ECS_Optimized/image_id", "Windows"),
        (f"{ECS}/windows_server/2019/english/full/recommended/image_id", "Windows"),
        ("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64", "plain Amazon Linux"),
    ],
)
def test_an_image_that_is_not_of_ecs_is_a_warning_where_gpu_tasks_wait(parameter: str, words: str) -> None:
    finding = only(RULES, running_on(written(parameter)))
    assert (finding.rule, finding.severity) == ("GPU142", Severity.WARNING)
    assert finding.message.startswith("chat-service asks for GPUs, and ")
    assert words in finding.message
    assert f"{ECS}/amazon-linux-2023/gpu/recommended/image_id" in finding.fix
    assert said(made_for_ecs, running_on(written(parameter), task=a_task(name="web"))) == []


DEEP_LEARNING = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id"
INSTALLS_NOTHING = replace(NO_USER_DATA, actions_never_taken=frozenset({HostAction.INSTALLS}))


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (DEEP_LEARNING, "a Deep Learning AMI"),
        ("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id", "plain Ubuntu"),
        ("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64", "plain Amazon Linux"),
        ("/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id", "for EKS"),
    ],
)
def test_an_image_without_the_agent_is_an_error_where_user_data_installs_nothing(parameter: str, words: str) -> None:
    pool = replace(written(parameter), user_data=INSTALLS_NOTHING)
    finding = only(RULES, running_on(pool))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU309", Severity.ERROR, "Hosts")
    assert words in finding.message
    assert finding.fix == f"the image of {ECS}/amazon-linux-2023/gpu/recommended/image_id"


@pytest.mark.parametrize(
    "fleet",
    [
        pytest.param(running_on(written(DEEP_LEARNING)), id="user data that may install it"),
        pytest.param(
            running_on(replace(written("/my/own/ami"), user_data=INSTALLS_NOTHING)), id="an image of one's own"
        ),
        pytest.param(
            running_on(replace(written(f"{ECS}/amazon-linux-2023/recommended/image_id"), user_data=INSTALLS_NOTHING)),
            id="an image of ECS",
        ),
        pytest.param(
            running_on(replace(written(DEEP_LEARNING), user_data=INSTALLS_NOTHING), task=a_task(name="web")),
            id="hosts that no GPU task waits for",
        ),
    ],
)
def test_hosts_that_may_have_the_agent_are_silent(fleet: Fleet) -> None:
    assert said(has_the_agent, fleet) == []


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(written(f"{ECS}/amazon-linux-2023/gpu/recommended/image_id")),
        running_on(written("/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/1.66.0/image_id")),
        running_on(written("/my/own/ami")),
        running_on(a_pool(image=UNKNOWN, image_written="ami-0123456789abcdef0")),
        running_on(a_pool(image=UNKNOWN)),
        running_on(a_pool()),
    ],
)
def test_an_image_of_ecs_or_of_ones_own_is_silent(fleet: Fleet) -> None:
    assert said(RULES, fleet) == []
