"""A refusal that an app swallows is written on the tree: the app does not synthesize, and says why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuCluster, GpuConstructsError, GpuJob, GpuService, Purchase, RefusedByCdkError
from tests.synthesis import Site

SWALLOWED: list[tuple[Callable[[Site], object], str, str]] = [
    (
        lambda site: site.capacity("g6.xlarge", "g6.12xlarge"),
        "Stack/Cluster",
        "GpuCluster.add_capacity was refused: instance_types: ",
    ),
    (
        lambda site: GpuCluster(site.stack, "Other", vpc=None),
        "Stack",
        "GpuCluster was refused: vpc: a cluster needs a network, and none was given",
    ),
    (
        lambda site: site.task().add_gpu_container("train", image=site.image, gpus=99),
        "Stack/Task",
        "GpuTaskDefinition.add_gpu_container was refused: gpus: ",
    ),
    (
        lambda site: site.task().add_container("side", image=site.image, memory_limit_mib=10**6),
        "Stack/Task",
        "GpuTaskDefinition.add_container was refused: memory_limit_mib: ",
    ),
    (
        lambda site: site.l4.strategy(weight=-1),
        "Stack/Cluster/L4",
        "GpuCapacity.strategy was refused: weight: ",
    ),
    (
        lambda site: GpuService(site.stack, "Service", cluster=site.cluster, task_definition="task"),  # type: ignore[arg-type]
        "Stack",
        "GpuService was refused: task_definition: ",
    ),
    (
        lambda site: GpuCluster(site.cluster.stack, "Cluster", vpc=site.vpc),
        "Stack",
        "GpuCluster was refused: construct_id: 'Cluster' is already used in Stack",
    ),
    (
        lambda site: GpuCluster(site.app, "Outside", vpc=site.vpc),
        "",
        "GpuCluster was refused: scope: it is outside of every stack",
    ),
]
"""What an app does and catches, the construct that the refusal is written on, and how it begins."""


@pytest.mark.parametrize(("call", "path", "words"), SWALLOWED, ids=[each[2].partition(" ")[0] for each in SWALLOWED])
def test_an_app_that_goes_on_after_a_refusal_does_not_synthesize(
    site: Site, call: Callable[[Site], object], path: str, words: str
) -> None:
    with suppress(GpuConstructsError):
        call(site)
    with pytest.raises(RuntimeError) as failed:
        site.app.synth()
    assert f"[{path}] {words}" in str(failed.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda site: site.cluster.add_capacity("B", instance_types=["g6.xlarge"]), "missing 1 required"),
        (lambda site: site.cluster.add_capacity("B", ["g6.xlarge"], instance_types=[], max_instances=1), "positional"),
        (lambda site: site.task().add_gpu_container("train"), "'image'"),
        (lambda site: GpuJob(site.stack, "Job", cluster=site.cluster), "timeout"),  # type: ignore[call-arg]
        (lambda site: GpuService(site.stack, "Service", cluster=site.cluster), "'task_definition'"),  # type: ignore[call-arg]
    ],
)
def test_a_call_that_python_refuses_does_not_synthesize_either(
    site: Site, call: Callable[[Site], object], words: str
) -> None:
    with suppress(TypeError):
        call(site)
    with pytest.raises(RuntimeError, match="was refused: .*") as failed:
        site.app.synth()
    assert words in str(failed.value)


def _service(site: Site) -> GpuService:
    task = site.task()
    task.add_gpu_container("serve", image=site.image, gpus=1)
    return GpuService(site.stack, "Chat", cluster=site.cluster, task_definition=task)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda site: _service(site).add_network_load_balancer("Web", idle=1),  # type: ignore[call-arg]
            "GpuService.add_network_load_balancer has",
        ),
        (lambda site: GpuService(site.stack, "S", internet_facing=True), "GpuService has"),  # type: ignore[call-arg]
    ],
)
def test_a_refusal_names_a_class_that_users_know(site: Site, call: Callable[[Site], object], words: str) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        call(site)
    assert words in str(refused.value)


def test_a_refusal_is_written_once_however_many_calls_it_passes_through(site: Site) -> None:
    with suppress(GpuConstructsError):
        site.cluster.add_family("g6", max_instances=-1)
    with pytest.raises(RuntimeError) as failed:
        site.app.synth()
    assert str(failed.value).count("was refused") == 1


def test_a_construct_that_cdk_refuses_half_made_says_so_itself(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("Error: no such capacity")

    monkeypatch.setattr(ecs.Cluster, "add_asg_capacity_provider", refused)
    with pytest.raises(RefusedByCdkError, match="CDK refuses it: Error: no such capacity"):
        site.capacity("g6.xlarge")
    with pytest.raises(RuntimeError, match=r"\[Stack/Cluster\] GpuCluster.add_capacity was refused: CDK refuses it"):
        site.app.synth()


def test_a_value_belongs_to_no_construct_so_an_app_may_try_another(site: Site) -> None:
    with suppress(GpuConstructsError):
        Purchase.capacity_block("no id", instances=0, ends=None)  # type: ignore[arg-type]
    site.capacity("g6.xlarge")
    assert site.properties("AWS::ECS::CapacityProvider")
