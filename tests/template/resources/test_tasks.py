"""Task definitions and their containers, as templates write them."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Dependency,
    GpuNeeds,
    NvidiaMps,
    Origin,
    ResourceRequirement,
    Task,
)
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.tasks import amount_of
from tests.template.resources.declared import fleet, only_task, resource


def container(**keys: Any) -> Container:
    (found,) = only_task({"ContainerDefinitions": [{"Name": "c", **keys}]}).containers
    return found


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"Type": "GPU", "Value": "2"}, ResourceRequirement.gpus(2)),
        ({"Type": "GPU", "Value": 0.25}, ResourceRequirement(value="0.25")),
        ({"Value": "1"}, ResourceRequirement(type="", value="1")),
        (
            {"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": 4096, "Part": 1}, "Mig": {}}},
            ResourceRequirement(
                nvidia_mps=NvidiaMps(memory_mib=4096),
                unknown_keys=("SharingStrategy.Mig", "SharingStrategy.NvidiaMps.Part"),
            ),
        ),
        (
            {"Type": "GPU", "SharingStrategy": {"Unknown": 0}},
            ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=UNKNOWN, max_compute_percent=UNKNOWN)),
        ),
    ],
)
def test_a_requirement_is_read_as_it_was_written(written: Any, read: ResourceRequirement) -> None:
    assert container(ResourceRequirements=[written]).requirements == (read,)


@pytest.mark.parametrize(
    ("written", "read"),
    [("512", 512), (512.0, 512), ({"Unknown": 0}, UNKNOWN)],
)
def test_numbers_may_be_texts(written: Any, read: Any) -> None:
    found = container(Cpu=written, Memory=written, MemoryReservation=written)
    assert (found.cpu, found.memory_limit_mib, found.memory_reservation_mib) == (read, read, read)


def test_what_a_container_leaves_out_has_ecs_own_defaults_and_no_name() -> None:
    assert container() == Container(name="c")
    assert only_task({"ContainerDefinitions": [{"Image": "a"}]}).containers == (Container(name="", image="a"),)


def test_a_container_of_which_nothing_is_known_is_never_taken_for_a_fit() -> None:
    (found,) = only_task({"ContainerDefinitions": [{"Unknown": 0}]}).containers
    assert (found.cpu, found.memory_limit_mib) == (UNKNOWN, UNKNOWN)
    assert (found.unknown_keys, found.used_keys) == ((), ())


@pytest.mark.parametrize(
    ("mode", "mapping", "ports"),
    [
        (None, {"ContainerPort": 80, "HostPort": 8080}, ((8080, "tcp"),)),
        ("bridge", {"ContainerPort": "80", "HostPort": "8080", "Protocol": "udp"}, ((8080, "udp"),)),
        ("bridge", {"ContainerPort": 80, "HostPort": 0}, ()),
        ("bridge", {"ContainerPort": 80, "HostPort": 70000}, ()),
    ],
)
def test_only_ports_that_are_certainly_taken_of_the_host_count(mode: Any, mapping: Any, ports: Any) -> None:
    definition = {"NetworkMode": mode, "ContainerDefinitions": [{"Name": "c", "PortMappings": [mapping]}]}
    assert only_task(definition).containers[0].host_ports == ports


def test_devices_and_shared_memory_come_from_the_linux_parameters() -> None:
    found = container(
        LinuxParameters={
            "Devices": [{"HostPath": "/dev/neuron0"}, {"HostPath": {"Ref": "P"}}],
            "SharedMemorySize": "64",
        }
    )
    assert (found.devices, found.shared_memory_mib) == (("/dev/neuron0",), 64)


def test_variables_are_in_order_of_name_and_secrets_are_unknown() -> None:
    found = container(
        Environment=[
            {"Name": "B", "Value": "2"},
            {"Name": "A", "Value": {"Ref": "P"}},
            {"Name": {"Ref": "P"}, "Value": "1"},
            {"Name": "D", "Value": True},
        ],
        Secrets=[{"Name": "C", "ValueFrom": "arn:aws:secretsmanager:x"}],
    )
    assert found.environment == (("A", UNKNOWN), ("B", "2"), ("C", UNKNOWN), ("D", "true"))


def test_settings_that_managed_instances_refuse_are_named_where_they_are_used() -> None:
    used = container(
        Hostname="h",
        DnsServers=[],
        Links=["a"],
        DisableNetworking=False,
        LinuxParameters={"SharedMemorySize": 64, "Tmpfs": [], "Swappiness": 0, "InitProcessEnabled": True},
    )
    assert used.used_keys == ("Hostname", "Links", "LinuxParameters.SharedMemorySize", "LinuxParameters.Swappiness")


def test_a_task_has_its_family_and_its_operating_system() -> None:
    task = only_task({"Family": "train", "RuntimePlatform": {"OperatingSystemFamily": "LINUX"}})
    assert (task.family, task.operating_system) == ("train", "LINUX")


def test_needs_that_cloudformation_has_no_property_for_come_from_the_metadata() -> None:
    needs = {"GpuMemoryMib": 16384, "ComputeCapability": "9.0a", "Precision": "bf16", "Nvlink": True}
    task = only_task(
        {"ContainerDefinitions": [{"Name": "vllm"}, {"Name": "sidecar"}]},
        {"gpu-constructs": {"Containers": {"vllm": needs}}},
    )
    assert task.containers[0].needs == GpuNeeds(
        memory_mib=16384, compute_capability=(9, 0), compute_features="a", precision="bf16", nvlink=True
    )
    assert task.containers[1].needs is None


@pytest.mark.parametrize(
    "metadata",
    [
        {"gpu-constructs": "L4"},
        {"gpu-constructs": {"Containers": ["c"]}},
        {"gpu-constructs": {"Containers": {"c": 16384}}},
        {"gpu-constructs": {"Containers": {"c": {"GpuMemoryMib": "16 GiB"}}}},
        {"gpu-constructs": {"Containers": {"c": {"GpuMemoryMib": -1}}}},
        {"gpu-constructs": {"Containers": {"c": {"ComputeCapability": "8.9a"}}}},
        {"gpu-constructs": {"Containers": {"c": {"gpu_memory": 1}}}},
    ],
)
def test_metadata_that_cannot_be_read_is_remarked_and_asks_for_nothing(metadata: Any) -> None:
    task = resource("ECS::TaskDefinition", ContainerDefinitions=[{"Name": "c"}])
    found = fleet({"Task": {**task, "Metadata": metadata}})
    assert found.tasks[0].containers[0].needs in {None, GpuNeeds()}
    (remark,) = found.remarks
    assert remark.origin.path[:4] == ("Resources", "Task", "Metadata", "gpu-constructs")


def read(*containers: dict[str, Any], **properties: Any) -> tuple[Task, list[str]]:
    found = fleet({"Task": resource("ECS::TaskDefinition", ContainerDefinitions=list(containers), **properties)})
    return found.tasks[0], [each.text for each in found.remarks]


def test_what_a_container_waits_for_is_read_as_far_as_it_is_known() -> None:
    waits = [
        {"ContainerName": "init", "Condition": "SUCCESS"},
        {"ContainerName": {"Unknown": 0}},
        {"Condition": "START"},
    ]
    assert container(DependsOn=waits).relations.depends_on == (Dependency(container="init", condition="SUCCESS"),)


@pytest.mark.parametrize("written", ["1-5", "5-1", "a-b", ""])
def test_a_range_of_ports_is_no_matter_for_a_remark(written: Any) -> None:
    task, remarks = read({"Name": "a", "PortMappings": [{"ContainerPortRange": written}]})
    assert remarks == []
    assert task.host_ports == frozenset()


@pytest.mark.parametrize("written", ["x86", "arm", ""])
def test_an_architecture_that_does_not_exist_is_told_and_is_no_value_of_the_deploy(written: str) -> None:
    task, remarks = read(RuntimePlatform={"CpuArchitecture": written})
    assert task.architecture is None
    assert ["CpuArchitecture: expects X86_64 or ARM64" in each for each in remarks] == [True]


def test_a_requirement_that_is_no_object_is_kept_as_a_type() -> None:
    task, remarks = read({"Name": "a", "ResourceRequirements": ["GPU", {"Type": "GPU", "Value": "1"}, {"Unknown": 0}]})
    kinds = [(each.type, each.value) for each in task.containers[0].requirements]
    assert kinds == [("GPU", None), ("GPU", "1"), (UNKNOWN, UNKNOWN)]
    assert ["ResourceRequirements.0: expects an object" in each for each in remarks] == [True]


@pytest.mark.parametrize("number", [10**15, 10**18, 10**39, -(10**20)])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_number_that_is_far_too_large_stays_a_number(number: int, as_text: bool) -> None:
    task, remarks = read({"Name": "a", "Memory": str(number) if as_text else number}, Cpu=number)
    assert (task.containers[0].memory_limit_mib, remarks[1:]) == (number, [])


@pytest.mark.parametrize(
    ("check", "has"),
    [({"Command": ["CMD", "true"]}, True), ({"Command": ["NONE"]}, False), ({"Unknown": 0}, UNKNOWN)],
)
def test_a_health_check_is_one_with_a_command(check: Any, has: Any) -> None:
    assert container(HealthCheck=check).has_health_check is has


@pytest.mark.parametrize(
    ("written", "may_have"),
    [
        ({}, False),
        ({"Privileged": "false", "LinuxParameters": {"Devices": [{"HostPath": "/dev/fuse"}]}}, False),
        ({"LinuxParameters": {"Ref": "P"}}, True),
    ],
)
def test_a_container_may_have_devices_that_are_not_known(written: dict[str, Any], may_have: bool) -> None:
    assert container(**written).may_have_other_devices is may_have


@pytest.mark.parametrize("text", ["", "GB", "1 GB", "1" + " " * 9**5 + "!"])
def test_any_other_text_is_no_amount(text: str) -> None:
    assert amount_of(Section({}, Origin(resource="Task")), "Cpu", text, {"": 1, "vCPU": 1024}) is UNKNOWN
