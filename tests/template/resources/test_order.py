"""What CloudFormation certainly creates after what."""

from __future__ import annotations

from typing import Any

import pytest

from tests.template.resources.declared import files, resource


def _service(**changes: Any) -> dict[str, Any]:
    cluster, provider = {"Ref": "Cluster"}, {"Ref": "Provider"}
    listed = {"Cluster": cluster, "CapacityProviders": [provider]}
    runs = {"Cluster": cluster, "CapacityProviderStrategy": [{"CapacityProvider": provider}]}
    return {
        "Cluster": resource("ECS::Cluster"),
        "Provider": resource("ECS::CapacityProvider"),
        "Association": resource("ECS::ClusterCapacityProviderAssociations", **listed),
        "Service": resource("ECS::Service", **runs),
        **changes,
    }


def _after(*names: str) -> dict[str, Any]:
    service = _service()["Service"]
    return {**service, "DependsOn": list(names)}


@pytest.mark.parametrize(
    "changes",
    [
        {"Service": _after("Gate"), "Gate": {"Type": "Custom::Gate", "DependsOn": ["Other", "Association"]}},
        {
            "Service": _after("Task"),
            "Task": {"Type": "AWS::ECS::TaskSet", "Properties": {"a": [{"Ref": "Association"}]}},
        },
        {"Service": _after("Loop", "Association"), "Loop": {"Type": "Custom::Loop", "DependsOn": ["Loop", "Service"]}},
    ],
)
def test_a_service_that_waits_for_the_association_is_not_early(changes: dict[str, Any]) -> None:
    read = files(_service(**changes))
    (workload,) = read.fleet.workloads
    service = read.resource(workload)
    assert service is not None
    assert not read.clusters.may_come_before_providers(service, workload.cluster)
