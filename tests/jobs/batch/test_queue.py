"""A queue of AWS Batch: what it defines, and which compute environments it refuses."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import assertions
from aws_cdk import aws_efs as efs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from gpu_constructs import (
    CapacityChoice,
    FairShares,
    GpuConstructsError,
    GpuMachineImage,
    HostMount,
    HostNetwork,
    HostScaling,
    HostStorage,
    Purchase,
    acknowledge_aws_solutions,
)
from tests.jobs.batch.queues import job, queue
from tests.linting import linted
from tests.synthesis import Ground, Properties, Site, app_in

RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"


def _of_l4(**arguments: Any) -> CapacityChoice:
    return CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=1, **arguments)


PURCHASES = {
    "Spot": Purchase.spot(),
    "Open": Purchase.reservations(),
    "Reserved": Purchase.reservations(reservation_id=RESERVATION, only=True),
    "Grouped": Purchase.reservations(resource_group_arn=GROUP, only=True),
}


class Queues:
    """Queues of one app, whose resources are found by the name of the queue."""

    def __init__(self, site: Site) -> None:
        storage = HostStorage(mounts=[HostMount.s3(s3.Bucket.from_bucket_name(site.stack, "Data", "data"))])
        shares = FairShares(shares={"research": 3, "nightly": 1}, reserve_percent=10)
        efa: dict[str, Any] = {"network": HostNetwork.efa(), "vpc_subnets": site.one_zone}
        self.made = {
            "Usual": queue(site, name="Usual"),
            "Newest": queue(site, _of_l4(image=GpuMachineImage.newest("al2023-gpu")), name="Newest"),
            **{name: queue(site, _of_l4(purchase=each), name=name) for name, each in PURCHASES.items()},
            "Efa": queue(
                site, CapacityChoice("H100", instance_types=["p5.48xlarge"], max_instances=2, **efa), name="Efa"
            ),
            "Mounting": queue(
                site, _of_l4(storage=storage), name="Mounting", encryption_key=kms.Key(site.stack, "Key")
            ),
            "Bounded": queue(site, name="Bounded", shares=shares, start_within=cdk.Duration.hours(2), priority=5),
            "Uneven": queue(site, name="Uneven", shares=FairShares(shares={"research": 1000, "nightly": 1})),
        }
        self._template = site.template()["Resources"]

    def only(self, name: str, kind: str) -> Properties:
        (found,) = (
            each["Properties"]
            for key, each in self._template.items()
            if key.startswith(name) and each["Type"].rpartition("::")[2] == kind
        )
        return dict(found)

    def resources(self, name: str) -> Properties:
        written: Properties = self.only(name, "ComputeEnvironment")["ComputeResources"]
        return written

    def launch_template(self, name: str) -> Properties:
        data: Properties = self.only(name, "LaunchTemplate")["LaunchTemplateData"]
        return data


@pytest.fixture(scope="module")
def queues(shared_site: Site) -> Queues:
    return Queues(shared_site)


def test_an_environment_starts_from_zero_on_an_own_launch_template_and_is_updated_in_place(queues: Queues) -> None:
    written = queues.only("Usual", "ComputeEnvironment")
    assert (written["ReplaceComputeEnvironment"], written["UpdatePolicy"]) == (
        False,
        {"JobExecutionTimeoutMinutes": 30, "TerminateJobsOnUpdate": False},
    )
    found = queues.resources("Usual")
    assert found["InstanceTypes"] == ["g6.xlarge", "g6.2xlarge"]
    # Four hosts of the smaller type.
    assert (found["MinvCpus"], found["MaxvCpus"]) == (0, 16)
    assert (found["Type"], found["AllocationStrategy"]) == ("EC2", "BEST_FIT_PROGRESSIVE")
    assert found["LaunchTemplate"]["Version"]["Fn::GetAtt"][1] == "LatestVersionNumber"
    (configured,) = found["Ec2Configuration"]
    assert configured["ImageType"] == "ECS_AL2023_NVIDIA"
    assert "al2023" in configured["ImageIdOverride"]["Ref"]
    template = queues.launch_template("Usual")
    assert template["MetadataOptions"] == {"HttpPutResponseHopLimit": 1, "HttpTokens": "required"}
    assert all(each["Ebs"]["Encrypted"] for each in template["BlockDeviceMappings"])
    assert template["UserData"]["Fn::Base64"].startswith("MIME-Version: 1.0\n")
    assert {"ImageId", "InstanceType", "IamInstanceProfile"}.isdisjoint(template)


@pytest.mark.parametrize(
    ("name", "kind", "strategy", "data"),
    [
        ("Spot", "SPOT", "SPOT_PRICE_CAPACITY_OPTIMIZED", {}),
        ("Open", "EC2", "BEST_FIT_PROGRESSIVE", {}),
        (
            "Reserved",
            "EC2",
            "BEST_FIT_PROGRESSIVE",
            {"CapacityReservationTarget": {"CapacityReservationId": RESERVATION}},
        ),
        (
            "Grouped",
            "EC2",
            "BEST_FIT_PROGRESSIVE",
            {
                "CapacityReservationPreference": "capacity-reservations-only",
                "CapacityReservationTarget": {"CapacityReservationResourceGroupArn": GROUP},
            },
        ),
    ],
)
def test_the_purchase_decides_the_allocation_strategy(
    queues: Queues, name: str, kind: str, strategy: str, data: Properties
) -> None:
    found = queues.resources(name)
    assert (found["Type"], found["AllocationStrategy"]) == (kind, strategy)
    assert queues.launch_template(name).get("CapacityReservationSpecification", {}) == data


def test_with_efa_hosts_have_every_adapter_and_a_placement_group(queues: Queues) -> None:
    template = queues.launch_template("Efa")
    assert len(template["NetworkInterfaces"]) == 32
    assert "SecurityGroupIds" not in template
    assert "PlacementGroup" in queues.resources("Efa")
    (environment,) = queues.made["Efa"].environments
    assert environment.efa_security_group is not None


def test_hosts_may_read_what_they_mount_and_their_volumes_have_the_key(queues: Queues) -> None:
    template = queues.launch_template("Mounting")
    assert "mount-s3 --read-only" in template["UserData"]["Fn::Base64"]
    policy = queues.only("Mounting", "Policy")
    assert "s3:GetObject*" in policy["PolicyDocument"]["Statement"][0]["Action"]
    assert "KmsKeyId" in template["BlockDeviceMappings"][0]["Ebs"]


def test_waiting_is_bounded_and_shares_are_proportions(queues: Queues) -> None:
    found = queues.only("Bounded", "JobQueue")
    assert found["Priority"] == 5
    assert {
        each["Reason"].rpartition(":")[2]: each["MaxTimeSeconds"] for each in found["JobStateTimeLimitActions"]
    } == {
        "INSUFFICIENT_INSTANCE_CAPACITY": 7200,
        "COMPUTE_ENVIRONMENT_MAX_RESOURCE": 600,
        "JOB_RESOURCE_REQUIREMENT": 600,
    }
    policy = queues.only("Bounded", "SchedulingPolicy")["FairsharePolicy"]
    assert policy["ComputeReservation"] == 10
    # A smaller factor is a larger share.
    assert {each["ShareIdentifier"]: each["WeightFactor"] for each in policy["ShareDistribution"]} == {
        "research": 1,
        "nightly": 3,
    }


BLOCK = Purchase.capacity_block(RESERVATION, instances=2, ends=datetime(2030, 1, 8, 11, 30, tzinfo=timezone.utc))


@pytest.mark.parametrize(
    ("choice", "argument"),
    [
        ({"scaling": HostScaling(instance_warmup_seconds=600)}, "scaling"),
        ({"capacity_provider_name": "gpu"}, "capacity_provider_name"),
        ({"instance_types": ["optimal"]}, "instance_types"),
        ({"instance_types": ["g6.xlarge", "g6.12xlarge"]}, "instance_types"),
        ({"instance_types": ["g5g.2xlarge"]}, "instance_types"),
        ({"image": GpuMachineImage.newest("bottlerocket-ecs-2-nvidia-x86_64")}, "image"),
        ({"image": GpuMachineImage.newest("al2023")}, "image"),
        ({"instance_types": ["g6.xlarge", "g6.2xlarge"], "min_instances": 4}, "min_instances"),
        ({"max_instances": 0}, "max_instances"),
        ({"purchase": Purchase.spot(on_demand_base=1)}, "purchase"),
        ({"purchase": Purchase.reservations(reservation_id=RESERVATION)}, "purchase"),
        ({"purchase": BLOCK}, "max_instances"),
        ({"network": HostNetwork.efa()}, "network"),
    ],
)
def test_what_a_compute_environment_cannot_be_is_refused_before_anything_is_defined(
    untouched: Site, choice: dict[str, Any], argument: str
) -> None:
    given = {"instance_types": ["g6.xlarge"], "max_instances": 4, **choice}
    with pytest.raises(GpuConstructsError) as refused:
        queue(untouched, CapacityChoice("L4", vpc_subnets=untouched.one_zone, **given))
    assert refused.value.argument == argument
    assert refused.value.fix
    assert untouched.stack.node.try_find_child("Queue") is None


def test_environments_have_ids_of_their_own(ground: Ground) -> None:
    first = CapacityChoice("First", instance_types=["g6.xlarge"], max_instances=1)
    with pytest.raises(GpuConstructsError, match="construct_id: 'First' is already used in "):
        queue(ground, first, first)


def test_a_watch_that_cannot_be_is_refused(site: Site) -> None:
    watched = queue(site)
    topic = sns.Topic(site.stack, "Operators")
    for wrong in (
        {"stuck_after": cdk.Duration.minutes(4)},
        {"stuck_after": cdk.Duration.seconds(330)},
        {"notify": sns.Topic(site.stack, "Ordered", fifo=True)},
    ):
        with pytest.raises(GpuConstructsError):
            watched.watch(**{"notify": topic, **wrong})  # type: ignore[arg-type]
        assert watched.watched is None
    assert watched.watch(notify=topic) is watched.watched
    with pytest.raises(GpuConstructsError, match="watched already"):
        watched.watch(notify=topic)


def test_the_notices_of_an_imported_topic_are_for_its_owner_to_allow(site: Site) -> None:
    topic = sns.Topic.from_topic_arn(site.stack, "Theirs", f"arn:aws:sns:{site.stack.region}:111122223333:theirs")
    queue(site).watch(notify=topic)
    found = assertions.Annotations.from_stack(site.stack).find_warning("*", assertions.Match.any_value())
    said = [str(each.entry.data) for each in found if "sns:Publish" in str(each.entry.data)]
    assert [service in text for service, text in zip(("cloudwatch", "events"), said, strict=True)] == [True, True]


def test_a_queue_tells_a_topic_of_another_stack(site: Site) -> None:
    alerts = cdk.Stack(site.app, "Alerts")
    queue(site).watch(notify=sns.Topic(alerts, "Topic"))
    assert ":rule/*" in json.dumps(assertions.Template.from_stack(alerts).to_json())


def test_cfn_lint_and_cdk_nag_find_nothing(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks())
    acknowledge_aws_solutions(app)
    nagged = Site(app)
    spot = CapacityChoice("Spot", instance_types=["g6.xlarge"], max_instances=4, purchase=Purchase.spot())
    large = CapacityChoice(
        "H100",
        instance_types=["p5.48xlarge"],
        max_instances=2,
        network=HostNetwork.efa(),
        vpc_subnets=nagged.one_zone,
    )
    made = queue(nagged, spot, large, shares=FairShares(shares={"research": 1}))
    made.watch(
        notify=sns.Topic(nagged.stack, "Operators", master_key=kms.Key(nagged.stack, "Key", enable_key_rotation=True))
    )
    job(nagged, made, share="research")
    job(nagged, made, "Eight", gpus=8, efa=True, share="research")
    template = nagged.template()
    # CDK's own state machine waits for its role twice.
    assert [each for each in linted(template, "us-east-1") if each.rule.id != "W3005"] == []
    reports = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    assert [each["violations"] for each in reports if each["pluginName"] == "AwsSolutions"] == [[]]


def test_a_file_system_lets_the_hosts_of_a_queue_in(site: Site) -> None:
    made = queue(site)
    files = efs.FileSystem(site.stack, "Files", vpc=site.vpc)
    files.connections.allow_default_port_from(made)
    (rule,) = site.properties("AWS::EC2::SecurityGroupIngress")
    assert rule["SourceSecurityGroupId"] == site.stack.resolve(made.hosts.security_group.security_group_id)
    assert (rule["FromPort"], rule["ToPort"]) == (2049, 2049)
