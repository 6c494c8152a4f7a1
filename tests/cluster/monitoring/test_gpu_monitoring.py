"""What `add_monitoring` defines for the daemon, and on which clusters."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs

from gpu_constructs import GpuCapacity, GpuCluster, GpuMachineImage, GpuTaskDefinition, InvalidValueError
from gpu_constructs.cluster.monitoring.daemon_task import LOADER, PROGRAM
from gpu_constructs.cluster.monitoring.options import KEPT
from tests.synthesis import Properties, Site, app_in, warned

CLUSTER = {"Ref": "ClusterC2E21B66"}


def of_daemon(site: Site, resource_type: str) -> Properties:
    """The one resource of a type that the daemon has, which is there with the first capacity that has GPUs."""
    (found,) = (each for name, each in site.resources(resource_type).items() if "Monitoring" in name)
    properties: Properties = found["Properties"]
    return properties


def container(site: Site) -> Properties:
    (found,) = of_daemon(site, "AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    return dict(found)


OWN_IMAGE = ecs.ContainerImage.from_registry("123456789012.dkr.ecr.us-east-1.amazonaws.com/python:3")


def _with_gpus(site: Site) -> None:
    site.capacity("g5g.xlarge", name="Bottlerocket")
    site.capacity("g6.xlarge", name="Al2023")


def _without_gpus(site: Site) -> None:
    for each in ("c7i", "inf2", "trn1"):
        site.capacity(f"{each}.{'2' if each == 'trn1' else ''}xlarge", name=each)
    site.managed(instance_types=["g6.xlarge"])


class Monitored(Site):
    """A stack of the app with a monitored cluster, whose capacities come before the monitoring or after it."""

    def __init__(self, app: cdk.App, name: str, capacities: Callable[[Site], None], **arguments: Any) -> None:
        super().__init__(app, name=name)
        if "First" not in name:
            capacities(self)
        self.made = self.cluster.add_monitoring("Monitoring", **arguments)
        if "First" in name:
            capacities(self)


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Monitored]:
    """What the tests of this module read, in one app."""
    app = app_in(tmp_path_factory.mktemp("monitored"))
    chosen: dict[str, Any] = {
        "log_retention": logs.RetentionDays.ONE_WEEK,
        "log_removal_policy": cdk.RemovalPolicy.RETAIN,
        "image": OWN_IMAGE,
    }
    made = (
        Monitored(app, "Usual", _with_gpus),
        Monitored(app, "UsualFirst", _with_gpus),
        Monitored(app, "Chosen", _with_gpus, **chosen),
        Monitored(app, "ChosenFirst", _with_gpus, **chosen),
        Monitored(app, "WithoutGpus", _without_gpus),
        Monitored(app, "WithoutGpusFirst", _without_gpus),
    )
    return {each.stack.stack_name: each for each in made}


@pytest.fixture(scope="module")
def usual(sites: dict[str, Monitored]) -> Monitored:
    return sites["Usual"]


@pytest.fixture(scope="module")
def chosen(sites: dict[str, Monitored]) -> Monitored:
    return sites["Chosen"]


def test_a_daemon_runs_on_every_host_with_nvidia_gpus_and_takes_none(usual: Monitored) -> None:
    service = of_daemon(usual, "AWS::ECS::Service")
    assert (service["SchedulingStrategy"], service["Cluster"]) == ("DAEMON", CLUSTER)
    assert "CapacityProviderStrategy" not in service
    task = of_daemon(usual, "AWS::ECS::TaskDefinition")
    assert task["PlacementConstraints"] == [{"Type": "memberOf", "Expression": "attribute:accelerator == nvidia"}]
    assert task["NetworkMode"] == "host"
    assert "ResourceRequirements" not in container(usual)
    assert (container(usual)["Cpu"], container(usual)["Memory"]) == (KEPT.cpu, KEPT.memory_mib)


def test_it_sees_no_more_of_the_host_than_it_reads(usual: Monitored) -> None:
    made, folder = container(usual), "/var/run/ecs/gpu"
    assert "Privileged" not in made
    assert made["ReadonlyRootFilesystem"] is True
    assert of_daemon(usual, "AWS::ECS::TaskDefinition")["Volumes"] == [{"Name": "host", "Host": {"SourcePath": folder}}]
    assert made["MountPoints"] == [{"SourceVolume": "host", "ContainerPath": folder, "ReadOnly": True}]
    environment = {each["Name"]: each["Value"] for each in made["Environment"]}
    assert environment["METRICS_FILE"] == f"{folder}/gpu-metrics.json"


def test_its_program_is_a_file_that_the_task_definition_names_by_its_digest(usual: Monitored) -> None:
    assert container(usual)["EntryPoint"] == ["python3", "-c"]
    assert container(usual)["Command"] == [LOADER]
    assert len(LOADER) < 600
    environment = {each["Name"]: each["Value"] for each in container(usual)["Environment"]}
    (shipped,) = Path(usual.app.synth().directory).glob(f"asset.{environment['PROGRAM_KEY']}")
    assert shipped.read_bytes() == PROGRAM.read_bytes()
    assert sha256(shipped.read_bytes()).hexdigest() == environment["PROGRAM_SHA256"]
    assert f"'/{environment['PROGRAM_KEY']}'" in str(usual.properties("AWS::IAM::Policy"))


def test_lines_are_kept_as_long_as_was_asked_and_hold_up_nothing(chosen: Monitored) -> None:
    groups = chosen.resources("AWS::Logs::LogGroup").values()
    assert [each["Properties"]["RetentionInDays"] for each in groups] == [7, 7]
    # And after the monitoring, which was asked too.
    assert [each["DeletionPolicy"] for each in groups] == ["Retain", "Retain"]
    assert container(chosen)["LogConfiguration"]["Options"]["mode"] == "non-blocking"


def test_another_image(chosen: Monitored) -> None:
    assert container(chosen)["Image"].endswith("/python:3")


@pytest.mark.parametrize("name", ["Usual", "UsualFirst"])
def test_hosts_whose_image_is_known_to_measure_nothing_are_named(sites: dict[str, Monitored], name: str) -> None:
    first, second = (each for each in sites[name].made.capacities if isinstance(each, GpuCapacity))
    (text,) = warned(first)
    assert text.startswith("the GPUs of Bottlerocket will not be measured: no ECS agent is known to measure GPUs on ")
    assert "each of its hosts will count in UnreadableHosts" in text
    assert not warned(second)


def test_a_pin_of_an_image_without_measurements_is_named(untouched: Site) -> None:
    cluster = untouched.cluster
    cluster.add_monitoring("Monitoring")
    old, new = (
        cluster.add_capacity(
            f"From{day}",
            instance_types=["g6.xlarge"],
            max_instances=1,
            image=GpuMachineImage.pinned("al2023-gpu", f"al2023-ami-ecs-gpu-hvm-2023.0.{day}-kernel-6.1-x86_64-ebs"),
        )
        for day in ("20260707", "20260708")
    )
    assert any("pinned to a release before 20260708" in each for each in warned(old))
    assert not any("20260708, the first" in each for each in warned(new))


def test_a_cluster_is_monitored_once(usual: Monitored) -> None:
    with pytest.raises(InvalidValueError, match=r"has monitoring already.*cluster\.monitoring"):
        usual.cluster.add_monitoring("Again")
    assert usual.cluster.monitoring is usual.made
    assert not any("Again" in each for each in usual.children())


@pytest.mark.parametrize("name", ["WithoutGpus", "WithoutGpusFirst"])
def test_no_daemon_is_there_for_hosts_that_it_would_not_run_on(sites: dict[str, Monitored], name: str) -> None:
    site = sites[name]
    assert site.made.service is None
    assert site.made.task_definition is None
    assert site.properties("AWS::ECS::Service") == []
    assert site.properties("AWS::ECS::TaskDefinition") == []


def test_on_an_imported_cluster_it_runs_on_hosts_of_this_library_alone(site: Site) -> None:
    theirs = ecs.Cluster.from_cluster_attributes(site.stack, "Theirs", cluster_name="theirs", vpc=site.vpc)
    gpus = GpuCluster(site.stack, "Gpus", cluster=theirs, keep_capacity_providers=[], default_strategy=[])
    capacity = gpus.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    task = GpuTaskDefinition(site.stack, "Task", capacity=[capacity])
    task.add_gpu_container("work", image=site.image)
    gpus.add_monitoring("Monitoring")
    assert of_daemon(site, "AWS::ECS::Service")["Cluster"] == "theirs"
    # Other hosts of the cluster have no such attribute.
    assert of_daemon(site, "AWS::ECS::TaskDefinition")["PlacementConstraints"][0]["Expression"] == (
        "attribute:accelerator == nvidia"
    )
    assert task.task.cpu == 4096 - KEPT.cpu
    assert site.warnings() == []


def test_on_a_cluster_of_another_stack_it_is_defined_in_the_stack_that_asks(site: Site) -> None:
    other = cdk.Stack(site.app, "Other")
    around = GpuCluster(other, "Around", cluster=site.cluster, keep_capacity_providers=[], default_strategy=[])
    imported = GpuCapacity.from_attributes(
        other,
        "Theirs",
        cluster=around,
        capacity_provider_name="theirs",
        instance_types=["g6.xlarge"],
        max_instances=1,
    )
    task = GpuTaskDefinition(other, "Task", capacity=[imported])
    task.add_gpu_container("work", image=site.image)
    around.add_monitoring("Monitoring")
    assert task.task.cpu == 4096 - KEPT.cpu
    template = site.template(other)
    types = {each["Type"] for each in template["Resources"].values()}
    # The stack of the hosts measures them.
    assert "AWS::ECS::Service" not in types
    assert "AWS::Logs::LogGroup" in types
