"""What the cluster promises."""

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template
from gpu_constructs.testing import gpus
from gpu_stories.apps.existing_cluster import ExistingClusterStack


@pytest.fixture(scope="module")
def template(app: App) -> Template:
    return Template.from_stack(ExistingClusterStack(app, "existing-cluster"))


def test_the_model_has_a_gpu_and_no_gpu_host_is_kept_for_nothing(template: Template) -> None:
    fleet = gpus(template)
    fleet.has_gpu_task("Chat", gpus=1, on="g6.xlarge").every_gpu_task_is_placeable()
    fleet.scales_to_zero().has_no_findings()


def test_there_is_still_one_cluster_with_the_providers_of_both(template: Template) -> None:
    template.resource_count_is("AWS::ECS::Cluster", 1)
    (of_cluster,) = template.find_resources("AWS::ECS::ClusterCapacityProviderAssociations").values()
    assert len(of_cluster["Properties"]["CapacityProviders"]) == len(("WebProvider", "L4"))
