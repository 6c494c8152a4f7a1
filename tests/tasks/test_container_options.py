"""What CDK's ``add_container`` takes by name, containers with accelerators take under the same name."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import IncompatibleError, InvalidValueError, UnknownNameError
from gpu_constructs.tasks.container_options import ContainerOptions
from tests.synthesis import Tenant, unwritten

OURS = {"efa", "memory_mib", "shared_memory_mib"}
ASKED_OTHERWISE = {"gpu_count", "inference_accelerator_resources"}


def test_the_arguments_are_those_of_cdk_and_three_of_this_library() -> None:
    of_cdk = set(inspect.signature(ecs.TaskDefinition.add_container).parameters) - {"self", "id", "image"}
    assert get_type_hints(ContainerOptions).keys() == (of_cdk - ASKED_OTHERWISE) | OURS


_CONTROL = ecs.SystemControl(namespace="net.core.somaxconn", value="4096")

_CHECK = {"Command": ["CMD-SHELL", "true"], "Interval": 30, "Retries": 3, "Timeout": 5}

PASSED_ON: list[tuple[str, Any, str, object]] = [
    ("command", ["serve"], "Command", ["serve"]),
    ("container_name", "server", "Name", "server"),
    ("disable_networking", True, "DisableNetworking", True),
    ("dns_search_domains", ("example.internal",), "DnsSearchDomains", ["example.internal"]),
    ("dns_servers", ["10.0.0.2"], "DnsServers", ["10.0.0.2"]),
    ("docker_labels", {"a": "b"}, "DockerLabels", {"a": "b"}),
    ("docker_security_options", ["no-new-privileges"], "DockerSecurityOptions", ["no-new-privileges"]),
    ("enable_restart_policy", True, "RestartPolicy", {"Enabled": True}),
    ("entry_point", ("python", "-u"), "EntryPoint", ["python", "-u"]),
    ("extra_hosts", {"db": "10.0.0.3"}, "ExtraHosts", [{"Hostname": "db", "IpAddress": "10.0.0.3"}]),
    ("health_check", ecs.HealthCheck(command=["CMD-SHELL", "true"]), "HealthCheck", _CHECK),
    ("hostname", "gpu", "Hostname", "gpu"),
    ("interactive", True, "Interactive", True),
    ("memory_limit_mib", 4096, "Memory", 4096),
    ("memory_reservation_mib", 2048, "MemoryReservation", 2048),
    ("privileged", True, "Privileged", True),
    ("pseudo_terminal", True, "PseudoTerminal", True),
    ("start_timeout", cdk.Duration.minutes(5), "StartTimeout", 300),
    ("stop_timeout", cdk.Duration.minutes(2), "StopTimeout", 120),
    ("system_controls", [_CONTROL], "SystemControls", [{"Namespace": "net.core.somaxconn", "Value": "4096"}]),
    ("version_consistency", ecs.VersionConsistency.DISABLED, "VersionConsistency", "disabled"),
]


def test_they_reach_the_template(tenant: Tenant) -> None:
    for argument, value, _, _ in PASSED_ON:
        options: Any = {argument: value}
        tenant.task(name=argument, family=argument).add_gpu_container("train", image=tenant.image, **options)
    made = tenant.properties("AWS::ECS::TaskDefinition")
    containers = {each["Family"]: each["ContainerDefinitions"][0] for each in made}
    assert {argument: containers[argument].get(key) for argument, _, key, _ in PASSED_ON} == {
        argument: written for argument, _, _, written in PASSED_ON
    }


def test_ports_are_opened_and_counted(tenant: Tenant) -> None:
    task = tenant.task()
    ports = [ecs.PortMapping(container_port=8000, host_port=80), ecs.PortMapping(container_port=9000)]
    task.add_gpu_container("train", image=tenant.image, port_mappings=ports)
    assert [each["HostPort"] for each in tenant.container()["PortMappings"]] == [80, 0]
    assert task.task.host_ports == {(80, "tcp")}
    with pytest.raises(IncompatibleError, match=r"^port_mappings: .* take host port 80/tcp more than once.*GPU084"):
        task.add_container("side", image=tenant.image, port_mappings=ports[:1])


def test_linux_parameters_go_before_the_default_ones_and_get_the_devices(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("inf2.xlarge"))
    given = ecs.LinuxParameters(tenant.stack, "Linux", init_process_enabled=True, shared_memory_size=128)
    with unwritten(), pytest.raises(InvalidValueError, match="^shared_memory_mib: linux_parameters has the size"):
        task.add_neuron_container("infer", image=tenant.image, linux_parameters=given, shared_memory_mib=64)
    task.add_neuron_container("infer", image=tenant.image, linux_parameters=given)
    written = tenant.container()["LinuxParameters"]
    assert (written["InitProcessEnabled"], written["SharedMemorySize"]) == (True, 128)
    assert [each["HostPath"] for each in written["Devices"]] == ["/dev/neuron0"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"port_mappings": ecs.PortMapping(container_port=1)}, "port_mappings: expects a list of ecs.PortMapping, got "),
    ({"port_mappings": [80]}, "port_mappings: expects a list of ecs.PortMapping, got [80]"),
    ({"dns_servers": "10.0.0.2"}, "dns_servers: expects a list of text, got '10.0.0.2'"),
    ({"docker_labels": {"a": 1}}, "docker_labels: a expects text, got 1"),
    ({"version_consistency": "enabled"}, "version_consistency: expects an ecs.VersionConsistency, got 'enabled'"),
    ({"ulimits": ["nofile"]}, "ulimits: expects a list of ecs.Ulimit, got ['nofile']"),
]


@pytest.mark.parametrize(("options", "words"), [pytest.param(*row, id=row[1][:40]) for row in REFUSED])
def test_what_no_container_can_have_is_refused_where_it_is_written(
    tenant: Tenant, options: dict[str, Any], words: str
) -> None:
    task = tenant.task()
    for add in (task.add_gpu_container, task.add_container):
        with tenant.refuses(InvalidValueError) as refused:
            add("train", image=tenant.image, **options)
        assert str(refused.value).startswith(words)
        assert refused.value.fix


MISSPELT: list[tuple[str, str, str]] = [
    ("add_gpu_container", "gpu_count", "did you mean gpus?"),
    ("add_gpu_container", "gpu", "did you mean gpus?"),
    ("add_gpu_container", "cache", "did you mean add_model_server(cache=…)?"),
    ("add_gpu_container", "enviroment", "did you mean environment?"),
    ("add_container", "memory_mib", "did you mean memory_limit_mib?"),
    ("add_container", "port_mapping", "did you mean port_mappings?"),
]


@pytest.mark.parametrize(("method", "argument", "words"), MISSPELT)
def test_an_argument_that_is_misspelt_is_refused_with_the_nearest_name(
    tenant: Tenant, method: str, argument: str, words: str
) -> None:
    task = tenant.task()
    arguments: Any = {argument: 1}
    with pytest.raises(UnknownNameError, match="has no such argument") as refused:
        getattr(task, method)("train", image=tenant.image, **arguments)
    assert refused.value.argument == argument
    assert words in str(refused.value)
