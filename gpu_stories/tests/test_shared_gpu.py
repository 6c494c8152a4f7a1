"""What the models that share a GPU promise."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.shared_gpu import SHARES, SharedGpuStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(SharedGpuStack(app, "shared-gpu"))


def test_each_model_fits_and_no_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    for name in SHARES:
        fleet.has_gpu_task(name, on="g6.2xlarge")
    fleet.every_gpu_task_is_placeable().scales_to_zero().has_no_findings()


def test_both_fit_one_gpu(template: Template) -> None:
    fleet = gpus(template).fleet
    (host,) = fleet.pools[0].instance_types
    assert host.gpu_memory_mib is not None
    assert sum(each.memory_mib for each in SHARES.values()) <= host.gpu_memory_mib
