"""The metrics that AWS publishes about ECS, its hosts and its jobs."""

from __future__ import annotations

import pytest

from gpu_constructs.hardware.cloudwatch import is_slip_of, namespace_facts, namespaces

CLUSTER = frozenset({"ClusterName"})
SERVICE = CLUSTER | {"ServiceName"}


def test_every_namespace_has_a_source_and_no_metric_twice() -> None:
    assert set(namespaces()) == {
        *("AWS/AutoScaling", "AWS/Batch", "AWS/ECS", "AWS/ECS/ManagedScaling", "AWS/Events", "AWS/States"),
        *("CWAgent", "ECS/ContainerInsights"),
    }
    for each in namespaces().values():
        assert each.source.startswith(("https://docs.aws.amazon.com/", "https://github.com/aws/"))
        assert each.is_of_aws is each.name.startswith("AWS/")


@pytest.mark.parametrize(
    ("namespace", "metric", "sets"),
    [
        ("AWS/ECS", "GPUReservation", {CLUSTER}),
        ("AWS/ECS", "CPUUtilization", {CLUSTER, SERVICE}),
        ("AWS/ECS/ManagedScaling", "CapacityProviderReservation", {CLUSTER | {"CapacityProviderName"}}),
        ("ECS/ContainerInsights", "RunningTaskCount", {SERVICE}),
        ("ECS/ContainerInsights", "TaskCount", {CLUSTER}),
        ("AWS/Batch", "whatever it is called", {frozenset({"JobQueueName"})}),
        ("AWS/ECS", "RequestCount", None),
        ("CWAgent", "nvidia_smi_utilization_gpu", None),
    ],
)
def test_a_metric_has_values_under_certain_sets(namespace: str, metric: str, sets: set[frozenset[str]] | None) -> None:
    facts = namespace_facts(namespace)
    assert facts is not None
    found = facts.sets_of(metric)
    assert (None if found is None else set(found)) == sets


def test_metrics_of_gpus_need_the_enhanced_container_insights_of_managed_instances() -> None:
    metrics = namespaces()["ECS/ContainerInsights"].metrics
    of_gpus = [each for name, each in metrics.items() if "GPU" in name]
    assert len(of_gpus) == 16
    assert {(each.insights, each.hosts) for each in of_gpus} == {("enhanced", "Managed Instances")}
    assert metrics["RunningTaskCount"].insights == "enabled"


@pytest.mark.parametrize("name", [None, "GpuConstructs", "aws/ecs"])
def test_nothing_is_known_of_other_namespaces(name: str | None) -> None:
    assert namespace_facts(name) is None


@pytest.mark.parametrize(
    "written",
    ["CPUUtilisation", "CpuUtilization", "cpu_utilization", "CPUUtliization", "CPUUtilizations", "CPUUtilizaton"],
)
def test_a_slip_is_one_letter_or_other_capitals(written: str) -> None:
    assert is_slip_of(written, "CPUUtilization")
    assert namespaces()["AWS/ECS"].meant_by(written) == "CPUUtilization"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("CPUUtilization", "CPUUtilization"),
        ("GPUUtilization", "CPUUtilization"),
        ("HTTPCode_Target_1XX_Count", "HTTPCode_Target_2XX_Count"),
        ("ECS Daemon Deployment State Change", "ECS Deployment State Change"),
        ("x" * 100_000, "CPUUtilization"),
        ("", "CPUUtilization"),
    ],
)
def test_another_name_is_no_slip(written: str, name: str) -> None:
    assert not is_slip_of(written, name)
