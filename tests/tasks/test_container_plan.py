"""What a GPU container gets by default, and what of it is refused before anything is made."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from gpu_constructs import (
    DoesNotFitError,
    GpuMachineImage,
    GpuShare,
    GpuTaskDefinition,
    IncompatibleError,
    InvalidValueError,
)
from gpu_constructs.check.report import check_files
from tests.synthesis import Site, Tenant, unwritten


def test_cpu_and_memory_default_to_the_share_of_the_smallest_host(tenant: Tenant) -> None:
    pool = tenant.capacity("g6.24xlarge", "g6.12xlarge")
    tenant.task(pool).add_gpu_container("train", image=tenant.image, gpus=2)
    container = tenant.container()
    # g6.12xlarge: 48 vCPUs and 192 GiB for 4 GPUs, less 7.5 % and 256 MiB.
    assert container["Cpu"] == 48 * 1024 // 2
    assert container["Memory"] == (int(192 * 1024 * 0.925) - 256) // 2


def test_shared_memory_has_a_default_and_a_size_that_is_given_stays(tenant: Tenant) -> None:
    tenant.task(name="Small").add_gpu_container("train", image=tenant.image, memory_mib=8000)
    tenant.task(tenant.capacity("p5.48xlarge"), name="Large").add_gpu_container("train", image=tenant.image, gpus=8)
    given = tenant.task(name="Given")
    given.add_gpu_container("train", image=tenant.image, memory_mib=8000, shared_memory_mib=9000)
    small, large, above = (
        each["ContainerDefinitions"][0]["LinuxParameters"]["SharedMemorySize"]
        for each in tenant.properties("AWS::ECS::TaskDefinition")
    )
    assert (small, large, above) == (4000, 65536, 9000)  # Linux counts what is used of it as memory, not its size


def test_containers_of_one_task_share_what_goes_with_their_gpus(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("g6.12xlarge"))
    task.add_gpu_container("first", image=tenant.image, gpus=1, cpu=1000, memory_mib=2000)
    task.add_gpu_container("second", image=tenant.image, gpus=1)
    first, second = tenant.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert first["Cpu"] + second["Cpu"] == 48 * 1024 // 2
    assert first["Memory"] + second["Memory"] == (int(192 * 1024 * 0.925) - 256) // 2


REFUSED: list[Any] = [
    pytest.param({"gpus": 0}, InvalidValueError, "got 0; allowed: 1 or more", id="no GPU"),
    pytest.param({"gpus": 0.25}, IncompatibleError, "whole GPUs, and 0.25 of one", id="a part"),
    pytest.param({"efa": True}, IncompatibleError, "no Elastic Fabric Adapter", id="EFA"),
    pytest.param({"gpus": 2}, DoesNotFitError, "g6.xlarge has 1; allowed: up to 1; fix: .*g6.12xlarge", id="too many"),
    pytest.param({"gpus": 99}, DoesNotFitError, "no instance type can run .*99 GPUs.*GPU063", id="more than any host"),
    pytest.param(
        {"gpu_memory_gib": 24},
        DoesNotFitError,
        "gpu_memory_gib: .*needs 24 GiB.*no higher than 22.3 GiB .*GPU064",
        id="nominal instead of reported",
    ),
    pytest.param({"gpu_memory_gib": 0}, InvalidValueError, "got 0", id="no memory"),
    pytest.param({"cpu": 4097}, DoesNotFitError, "4097 asked, g6.xlarge has 4096", id="too much CPU"),
    pytest.param(
        {"memory_mib": 16384},
        DoesNotFitError,
        "16384 MiB asked, g6.xlarge has 16128.*allowed: up to 15144 MiB; fix: ",
        id="all of the memory",
    ),
    pytest.param({"shared_memory_mib": 0}, InvalidValueError, "1 or more", id="no shared memory"),
    pytest.param({"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, InvalidValueError, "agent", id="visible devices"),
    pytest.param({"environment": {"A": 1}}, InvalidValueError, "A expects text, got 1; fix: 'A': '1'", id="a number"),
    pytest.param({"environment": {"A=B": "x"}}, InvalidValueError, "not the name of a variable", id="two names"),
    pytest.param({"command": "nvidia-smi -L"}, InvalidValueError, r"\['nvidia-smi', '-L'\]", id="command as text"),
]


@pytest.fixture(scope="module")
def task(untouched: Site) -> GpuTaskDefinition:
    return untouched.task()


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_it_refuses_and_leaves_nothing_behind(
    untouched: Site, task: GpuTaskDefinition, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with untouched.refuses(error, match=message) as refused:
        task.add_gpu_container("train", image=untouched.image, **arguments)
    assert getattr(refused.value, "argument") in arguments  # noqa: B009 - every error of ours has one
    assert task.task.containers == ()


def test_a_variable_may_be_secret(tenant: Tenant) -> None:
    secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(tenant.stack, "Secret"))
    task = tenant.task()
    with unwritten(), pytest.raises(InvalidValueError, match="secrets: .*NVIDIA_VISIBLE_DEVICES.*GPU037"):
        task.add_gpu_container("a", image=tenant.image, secrets={"NVIDIA_VISIBLE_DEVICES": secret})
    task.add_gpu_container("a", image=tenant.image, secrets={"TOKEN": secret})
    assert [each["Name"] for each in tenant.container()["Secrets"]] == ["TOKEN"]


def test_a_sidecar_is_taken_off_the_share(site: Site) -> None:
    task = site.task()
    task.add_container("logs", image=site.image, cpu=96, memory_reservation_mib=399, memory_limit_mib=800)
    task.add_gpu_container("train", image=site.image)
    assert site.warnings() == []
    _, train = site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert (train["Cpu"], train["Memory"]) == (4000, 14500)


def test_a_sidecar_that_comes_later_is_counted(site: Site) -> None:
    task = site.task()
    task.add_gpu_container("train", image=site.image)
    task.add_container("logs", image=site.image, memory_limit_mib=400)
    (warning,) = site.warnings()
    assert "GPU006" in warning
    assert "ask for no more than 15144" in warning
    with site.refuses(DoesNotFitError, match="memory: 23299 MiB asked, g6.xlarge has 16128 MiB"):
        task.add_container("more", image=site.image, memory_limit_mib=8000)


@pytest.mark.parametrize(("cpu", "said"), [(4, ["cpu=4096 for 4 vCPUs"]), (0, []), (5, [])])
def test_cpu_in_vcpus_is_a_warning(site: Site, cpu: int, said: list[str]) -> None:
    site.task().add_gpu_container("train", image=site.image, cpu=cpu)
    found = [each for each in site.warnings() if "CPU units, of which" in each]
    assert [words in each for words, each in zip(said, found, strict=True)] == [True] * len(said)


def test_check_repeats_no_warning_that_is_acknowledged_which_cdk_drops(site: Site) -> None:
    site.task().add_gpu_container("train", image=site.image, cpu=4)
    repeated = "gpu-constructs::cpu-units"
    assert repeated in {each.rule for each in check_files([site.app.synth().directory]).findings}
    cdk.Validations.of(site.stack).acknowledge(cdk.Acknowledgment(id=repeated, reason="it waits for the GPU"))
    assert repeated not in {each.rule for each in check_files([site.app.synth(force=True).directory]).findings}


@pytest.mark.parametrize(("accepted", "warned"), [("cpu-units", 0), ("own-objects", 1)])
def test_a_construct_gives_no_warning_that_its_app_accepts_already(accepted: str, warned: int) -> None:
    site = Site(cdk.App())
    acknowledgment = cdk.Acknowledgment(id=f"gpu-constructs::{accepted}", reason="before there is a task")
    cdk.Validations.of(site.app).acknowledge(acknowledgment)
    site.task().add_gpu_container("train", image=site.image, cpu=4)
    assert sum("CPU units, of which" in each for each in site.warnings()) == warned


def test_cpu_that_is_little_by_a_share_or_on_purpose_is_not_taken_for_vcpus(site: Site) -> None:
    task = site.task(site.capacity("p5.48xlarge"))
    task.add_gpu_container("small", image=site.image, gpus=GpuShare(memory_mib=512))
    task.add_gpu_container("large", image=site.image, gpus=GpuShare(memory_mib=512), cpu=64)
    assert [each for each in site.warnings() if "CPU units, of which" in each] == []


def test_a_pool_with_a_type_that_is_not_known_gives_no_share(site: Site) -> None:
    token = cdk.CfnParameter(site.stack, "Type").value_as_string
    pool = site.capacity("g6.48xlarge", token, image=GpuMachineImage.pinned("al2023-gpu"))
    task = site.task(pool)
    for gpus, words in ((1, "cpu and memory_mib: "), (site.number("Gpus"), "gpus: .*give both cpu and memory_mib")):
        with unwritten(), pytest.raises(InvalidValueError, match=words):
            task.add_gpu_container("train", image=site.image, gpus=gpus)
    task.add_gpu_container("train", image=site.image, cpu=1024, memory_mib=1024)
    assert [each for each in site.warnings() if "GPU005" in each]


@pytest.mark.parametrize(
    ("instance_type", "asked", "message"),
    [
        ("c7i.2xlarge", {"gpus": "ALL"}, "Capacity is CPU capacity, c7i.2xlarge has no GPU"),
        ("inf2.xlarge", {}, r"inf2.xlarge carries Inferentia2: ECS hands out NVIDIA GPUs only"),
        ("trn1.32xlarge", {}, "carries Trainium: .*fix: add_neuron_container, or"),
        ("g6f.large", {"gpus": 2}, "0.125 of a GPU, and 2 whole GPUs are asked"),
        # The hint is a type that has what is asked.
        ("c7i.2xlarge", {"gpus": 1}, "or capacity of a type such as g4dn.xlarge"),
        ("c7i.2xlarge", {"gpus": 8, "efa": True}, "or capacity of a type such as p3dn.24xlarge"),
        ("c7i.2xlarge", {"gpus": 64}, "or capacity of a type with such"),
    ],
)
def test_gpus_are_not_asked_of_hosts_without_whole_nvidia_gpus(
    tenant: Tenant, instance_type: str, asked: dict[str, Any], message: str
) -> None:
    task = tenant.task(tenant.capacity(instance_type))
    with pytest.raises(IncompatibleError, match=message):
        task.add_gpu_container("train", image=tenant.image, **asked)
