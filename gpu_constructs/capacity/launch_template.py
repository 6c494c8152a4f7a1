"""The launch template of a capacity: everything that one host is made from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.capacity.plan import CapacityPlan
from gpu_constructs.hosts.cluster_hosts import ClusterHosts

__all__ = ["instance_type_named", "launch_template"]


def launch_template(
    scope: Construct,
    hosts: ClusterHosts,
    plan: CapacityPlan,
    user_data: ec2.UserData,
    *overrides: Mapping[str, object],
) -> ec2.LaunchTemplate:
    """Defines the launch template of a capacity.

    Args:
        scope: The capacity.
        hosts: What the hosts of the cluster share.
        plan: What the capacity was asked to be.
        user_data: What its hosts are told at boot.
        *overrides: Properties of ``LaunchTemplateData`` that CDK's launch template has no argument for.
    """
    image = plan.machine_image.host_image.image
    storage = plan.storage
    images = _volume(
        image.image_device, storage.root_volume_gib, storage.root_volume_mib_per_second, storage.root_volume_iops
    )
    # Bottlerocket keeps its system on a volume of its own, whose size is the snapshot's.
    system = [] if image.root_device == image.image_device else [_volume(image.root_device)]
    made = ec2.LaunchTemplate(
        scope,
        "LaunchTemplate",
        machine_image=plan.machine_image.to_machine_image(),
        instance_type=instance_type_named(plan.instance_types[0]),
        instance_profile=hosts.instance_profile,
        security_group=hosts.security_group,
        user_data=user_data,
        block_devices=[*system, images],
        associate_public_ip_address=False,
        require_imdsv2=True,
        http_put_response_hop_limit=1,
    )
    data = {key: value for each in overrides for key, value in each.items()}
    if data:
        resource = cast("ec2.CfnLaunchTemplate", made.node.default_child)
        resource.add_property_override("LaunchTemplateData", data)
    return made


# Values of CDK that nothing changes are made once: each costs a call into Node.


@cache
def instance_type_named(name: str) -> ec2.InstanceType:
    """An instance type as CDK takes it.

    Args:
        name: The name AWS prints, such as ``g6.xlarge``.
    """
    return ec2.InstanceType(name)


@cache
def _volume(
    device: str, size_gib: int | None = None, mib_per_second: int | None = None, iops: int | None = None
) -> ec2.BlockDevice:
    ebs = ec2.EbsDeviceProps(
        volume_size=size_gib,
        throughput=mib_per_second,
        iops=iops,
        encrypted=True,
        volume_type=ec2.EbsDeviceVolumeType.GP3,
        delete_on_termination=True,
    )
    return ec2.BlockDevice(device_name=device, volume=ec2.BlockDeviceVolume(ebs))
