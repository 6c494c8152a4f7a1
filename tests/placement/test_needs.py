"""What containers need of their GPUs beside the number, against what hosts carry."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN, Container, GpuNeeds, ResourceRequirement, Task, Unknown
from gpu_constructs.placement.fit import alternatives
from gpu_constructs.placement.machine import NeedKind, unmet_needs


def needing(needs: GpuNeeds, gpus: str | Unknown = "1") -> Task:
    container = Container(name="vllm", requirements=(ResourceRequirement(value=gpus),), needs=needs)
    return Task(name="chat", containers=(Container(name="log"), container))


@pytest.mark.parametrize(
    ("needs", "gpus", "host", "kind"),
    [
        (GpuNeeds(memory_mib=1), "1", "p6e-gb200.36xlarge", NeedKind.GPU_MEMORY),
        (GpuNeeds(memory_mib=2861), "0.125", "g6f.large", None),
        (GpuNeeds(compute_capability=(8, 9)), "1", "g6.xlarge", None),
        (GpuNeeds(compute_capability=(9, 0)), "1", "g6.xlarge", NeedKind.COMPUTE_CAPABILITY),
        (GpuNeeds(compute_capability=(9, 0), compute_features="a"), "1", "p5.4xlarge", None),
        (GpuNeeds(compute_capability=(10, 0), compute_features="f"), "8", "p6-b300.48xlarge", None),
        (GpuNeeds(precision="fp3"), "1", "p6-b200.48xlarge", NeedKind.PRECISION),
        (GpuNeeds(nvlink=True), "4", "g6.12xlarge", NeedKind.NVLINK),
        (GpuNeeds(nvlink=True), "ALL", "g6.12xlarge", NeedKind.NVLINK),
        (GpuNeeds(nvlink=True), UNKNOWN, "g6.12xlarge", None),
        (GpuNeeds(memory_mib=99_999), "1", "c7i.large", None),  # no GPU at all: the fit tells
        (GpuNeeds(memory_mib=99_999), "1", "inf2.xlarge", None),
    ],
)
def test_needs_that_a_host_does_not_serve(
    needs: GpuNeeds, gpus: str | Unknown, host: str, kind: NeedKind | None
) -> None:
    found = unmet_needs(needing(needs, gpus), instance_type(host))
    assert [each.need for each in found] == ([] if kind is None else [kind])
    assert {each.container for each in found} <= {"vllm"}


def test_an_unmet_need_is_told_with_both_values() -> None:
    (found,) = unmet_needs(needing(GpuNeeds(memory_mib=40_960)), instance_type("g6.xlarge"))
    assert str(found) == "memory per GPU: 40 GiB needed, g6.xlarge has 22.3 GiB (L4)"


def test_the_types_that_would_do_serve_the_needs() -> None:
    types = alternatives(needing(GpuNeeds(memory_mib=40_960, precision="fp8")))
    assert types[0].name == "g6e.xlarge"
    assert not any(unmet_needs(needing(GpuNeeds(memory_mib=40_960, precision="fp8")), each) for each in types)
