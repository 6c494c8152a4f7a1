"""One argument encrypts volumes of hosts and logs of tasks with a key, and the key lets AWS use it for that alone."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms

from gpu_constructs import GpuCluster, GpuMachineImage, InvalidValueError
from tests.linting import linted
from tests.synthesis import Site


def volumes(site: Site) -> list[Any]:
    return [
        each["Ebs"].get("KmsKeyId")
        for template in site.properties("AWS::EC2::LaunchTemplate")
        for each in template["LaunchTemplateData"]["BlockDeviceMappings"]
    ]


@pytest.fixture
def key(site: Site) -> kms.Key:
    return kms.Key(site.stack, "Key")


@pytest.fixture
def cluster(site: Site, key: kms.Key) -> GpuCluster:
    return GpuCluster(site.stack, "Encrypted", vpc=site.vpc, encryption_key=key)


def test_every_volume_and_every_default_log_group_has_the_key(site: Site, key: kms.Key, cluster: GpuCluster) -> None:
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    bottlerocket = GpuMachineImage.pinned("bottlerocket-ecs-3-nvidia-x86_64")
    cluster.add_capacity("Two", instance_types=["g6.12xlarge"], max_instances=1, image=bottlerocket)
    site.task(l4).add_gpu_container("vllm", image=site.image)
    arn = site.stack.resolve(key.key_arn)
    assert volumes(site) == [arn] * 3
    assert site.only("AWS::Logs::LogGroup")["KmsKeyId"] == arn
    assert list(linted(site.template(), "us-east-1")) == []


@pytest.mark.usefixtures("cluster")
def test_the_key_lets_auto_scaling_and_logs_use_it_and_nothing_else(site: Site) -> None:
    _, *added = site.only("AWS::KMS::Key")["KeyPolicy"]["Statement"]
    volumes, grants, of_logs = added
    role = site.stack.resolve(
        f"arn:{cdk.Aws.PARTITION}:iam::{cdk.Aws.ACCOUNT_ID}:role/aws-service-role/autoscaling.amazonaws.com/"
        "AWSServiceRoleForAutoScaling"
    )
    assert volumes["Condition"] == {"ArnEquals": {"aws:PrincipalArn": role}}
    assert grants["Action"] == "kms:CreateGrant"
    assert grants["Condition"] == {**volumes["Condition"], "Bool": {"kms:GrantIsForAWSResource": True}}
    assert of_logs["Principal"] == {"Service": site.stack.resolve(f"logs.{cdk.Aws.REGION}.amazonaws.com")}
    assert list(of_logs["Condition"]["ArnLike"]) == ["kms:EncryptionContext:aws:logs:arn"]


def test_a_key_that_cannot_encrypt_volumes_is_refused(site: Site) -> None:
    key = kms.Key(site.stack, "Rsa", key_spec=kms.KeySpec.RSA_2048, key_usage=kms.KeyUsage.ENCRYPT_DECRYPT)
    with pytest.raises(InvalidValueError, match="encryption_key: .*symmetric key; allowed: SYMMETRIC_DEFAULT"):
        GpuCluster(site.stack, "Encrypted", vpc=site.vpc, encryption_key=key)
