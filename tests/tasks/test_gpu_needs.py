"""What ECS has no word for is refused where a host of the capacity cannot serve it."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.errors import DoesNotFitError, InvalidValueError, UnknownNameError
from tests.synthesis import Site, Tenant


@pytest.mark.parametrize(
    ("instance_type", "needs", "message"),
    [
        ("g4dn.xlarge", {"precision": "bf16"}, r"needs bf16.*g4dn.xlarge of Capacity has 7.5"),
        ("p4d.24xlarge", {"min_compute_capability": "9.0"}, r"9.0 or higher .CUDA compute capability.*8.0"),
        ("g7e.2xlarge", {"min_compute_capability": "10.0a"}, r"needs 10.0 and no other .CUDA compute capability.*12.0"),
        ("g7e.2xlarge", {"min_compute_capability": "compute_100f"}, r"needs 10.0 or higher of 10.x .CUDA"),
        ("g6.12xlarge", {"gpus": 4, "nvlink": True}, r"NVLink"),
        ("g5.xlarge", {"precision": "fp8"}, "fp8.*8.6.*fix: capacity of a type such as g6.xlarge .*GPU064"),
    ],
)
def test_a_need_that_a_host_does_not_serve_is_refused_with_a_type_that_would_do(
    tenant: Tenant, instance_type: str, needs: dict[str, Any], message: str
) -> None:
    with pytest.raises(DoesNotFitError, match=message):
        tenant.task(tenant.capacity(instance_type)).add_gpu_container("train", image=tenant.image, **needs)


SERVED: list[tuple[str, dict[str, Any]]] = [
    ("g6.xlarge", {"precision": "fp8", "min_compute_capability": "8.9"}),
    ("g5.xlarge", {"precision": "bfloat16"}),
    ("p4d.24xlarge", {"gpus": 8, "nvlink": True, "min_compute_capability": (8, 0)}),
    ("g6.xlarge", {"nvlink": True}),  # one GPU has nothing to be joined with
    ("p6-b200.48xlarge", {"precision": "fp4", "min_compute_capability": "sm_100a"}),
    ("p5.4xlarge", {"precision": "MXFP4", "min_compute_capability": (9, 0)}),
]


def test_a_need_that_every_host_serves_passes(site: Site) -> None:
    for number, (instance_type, needs) in enumerate(SERVED):
        task = site.task(site.capacity(instance_type, name=f"Hosts{number}"), name=f"Task{number}")
        task.add_gpu_container("train", image=site.image, **needs)
        assert task.task.containers[0].needs is not None
    assert site.warnings() == []


@pytest.mark.parametrize(
    ("needs", "error", "message"),
    [
        ({"precision": "bf17"}, UnknownNameError, "bf16"),
        ({"precision": 16}, InvalidValueError, "precision"),
        ({"min_compute_capability": 8}, InvalidValueError, "major and minor"),
        ({"min_compute_capability": "100"}, InvalidValueError, r"min_compute_capability=\(10, 0\)"),
        ({"min_compute_capability": "sm_89"}, InvalidValueError, r"min_compute_capability=\(8, 9\)"),
        ({"min_compute_capability": "sm_100b"}, InvalidValueError, "'10.0a' or 'sm_100a'"),
        ({"min_compute_capability": "8.9a"}, InvalidValueError, r"a from 9.0 .*min_compute_capability=\(8, 9\)"),
        ({"min_compute_capability": "sm_90f"}, InvalidValueError, r"f from 10.0"),
        ({"min_compute_capability": (8, 10)}, InvalidValueError, "the second of one digit"),
        ({"min_compute_capability": ("8", "0")}, InvalidValueError, "major and minor"),
        ({"nvlink": "yes"}, InvalidValueError, "True or False"),
    ],
)
def test_a_need_that_means_nothing_is_refused(
    tenant: Tenant, needs: dict[str, Any], error: type[Exception], message: str
) -> None:
    task = tenant.task()
    with pytest.raises(error, match=message):
        task.add_gpu_container("train", image=tenant.image, **needs)
    assert task.task.containers == ()


def test_without_needs_the_template_says_nothing(tenant: Tenant) -> None:
    tenant.task().add_gpu_container("train", image=tenant.image)
    assert "gpu-constructs" not in tenant.resource("AWS::ECS::TaskDefinition").get("Metadata", {})
