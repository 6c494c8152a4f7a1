from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Dependency, Task
from tests.template.resources.declared import fleet, only_task


def read(*containers: dict[str, Any], **properties: Any) -> tuple[Task, list[str]]:
    resource = {
        "Type": "AWS::ECS::TaskDefinition",
        "Properties": {"ContainerDefinitions": list(containers), **properties},
    }
    found = fleet({"Task": resource})
    return found.tasks[0], [each.text for each in found.remarks]


def test_a_container_without_a_name_has_none() -> None:
    (container,) = only_task({"ContainerDefinitions": [{"Image": "a"}]}).containers
    assert (container.name, container.image) == ("", "a")


def test_what_a_container_waits_for_is_read_as_far_as_it_is_known() -> None:
    waits = [
        {"ContainerName": "init", "Condition": "SUCCESS"},
        {"ContainerName": {"Unknown": 0}},
        {"Condition": "START"},
    ]
    (container,) = only_task({"ContainerDefinitions": [{"Name": "a", "DependsOn": waits}]}).containers
    assert container.relations.depends_on == (Dependency(container="init", condition="SUCCESS"),)


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
    assert read({"Name": "a", "HealthCheck": check})[0].containers[0].has_health_check is has


@pytest.mark.parametrize(
    ("written", "may_have"),
    [
        ({}, False),
        ({"Privileged": "false", "LinuxParameters": {"Devices": [{"HostPath": "/dev/fuse"}]}}, False),
        ({"LinuxParameters": {"Ref": "P"}}, True),
    ],
)
def test_a_container_may_have_devices_that_are_not_known(written: dict[str, Any], may_have: bool) -> None:
    task, _ = read({"Name": "main", **written})
    assert task.containers[0].may_have_other_devices is may_have
