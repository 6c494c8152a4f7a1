"""What CDK refuses of a container is an error of this library."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuConstructsError, GpuTaskDefinition, InvalidValueError
from tests.synthesis import Tenant

_FIRST, _SECOND = (ecs.PortMapping(container_port=port, name="api") for port in (80, 81))


def container(**options: Any) -> dict[str, Any]:
    image = ecs.ContainerImage.from_registry("nginx")
    return {"image": image, "memory_limit_mib": 256, **options}


@pytest.fixture
def task(tenant: Tenant) -> GpuTaskDefinition:
    return tenant.task(network_mode=ecs.NetworkMode.AWS_VPC)


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(
            {"port_mappings": [ecs.PortMapping(container_port=80, host_port=8080)]}, id="a host port that is another"
        ),
        pytest.param({"port_mappings": [_FIRST, _SECOND]}, id="a port name twice"),
        pytest.param({"memory_reservation_mib": 512}, id="a limit below the reservation"),
        pytest.param({"enable_restart_policy": False, "restart_ignored_exit_codes": [1]}, id="no restart policy"),
        pytest.param({"restart_attempt_period": cdk.Duration.seconds(1)}, id="a restart policy that is too quick"),
        pytest.param({"inference_accelerator_resources": ["none"]}, id="an accelerator that is not there"),
        pytest.param({"environment_files": [ecs.EnvironmentFile.from_asset("no/such/file.env")]}, id="no such file"),
        pytest.param({"image": ecs.ContainerImage.from_asset("no/such/folder")}, id="no such image asset"),
    ],
)
def test_what_cdk_refuses_of_a_sidecar_is_an_error_of_this_library(
    task: GpuTaskDefinition, refused: dict[str, Any]
) -> None:
    with pytest.raises(GpuConstructsError):
        task.add_container("proxy", **container(**refused))


_SECONDS = cdk.Duration.seconds


@pytest.mark.parametrize(
    ("argument", "check", "message"),
    [
        (
            "interval",
            {"interval": cdk.Duration.minutes(10)},
            r"got 600 seconds; allowed: 5 to 300 seconds; fix: .*\(300\)",
        ),
        ("interval", {"interval": cdk.Duration.millis(5500)}, "whole seconds, got 5.5 seconds"),
        ("timeout", {"timeout": _SECONDS(121)}, "allowed: 2 to 120 seconds"),
        (
            "timeout",
            {"interval": _SECONDS(10), "timeout": _SECONDS(11)},
            "no more than the interval of 10 seconds, got 11",
        ),
        ("start_period", {"start_period": _SECONDS(301)}, "allowed: 0 to 300 seconds"),
        ("retries", {"retries": 11}, "got 11; allowed: 1 to 10"),
        ("command", {"command": []}, "expects a command"),
    ],
)
def test_a_health_check_that_cannot_be_is_refused_where_it_is_given(
    task: GpuTaskDefinition, argument: str, check: dict[str, Any], message: str
) -> None:
    given = {"health_check": ecs.HealthCheck(**{"command": ["true"], **check})}
    for add in (task.add_container, task.add_gpu_container):
        with pytest.raises(InvalidValueError, match=rf"^health_check\.{argument}: .*{message}"):
            add("server", **container(**given))


def test_a_health_check_at_its_limits_is_taken(task: GpuTaskDefinition) -> None:
    longest: dict[str, Any] = {
        "interval": _SECONDS(300),
        "timeout": _SECONDS(120),
        "start_period": _SECONDS(0),
        "retries": 10,
    }
    task.add_container("proxy", **container(health_check=ecs.HealthCheck(command=["true"], **longest)))
    equal = ecs.HealthCheck(command=["true"], interval=_SECONDS(10), timeout=_SECONDS(10))
    task.add_container("equal", **container(health_check=equal))
