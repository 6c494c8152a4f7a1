"""The launch template of a capacity: everything that one host is made from."""

from __future__ import annotations

from functools import cache
from typing import cast

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.capacity.network import NetworkResources
from gpu_constructs.capacity.plan import CapacityPlan
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import DECLARED_IMAGE, METADATA_KEY
from gpu_constructs.hardware.own_image import image_metadata
from gpu_constructs.hosts.cluster_hosts import ClusterHosts


def launch_template(
    scope: Construct,
    hosts: ClusterHosts,
    plan: CapacityPlan,
    user_data: ec2.UserData,
    network: NetworkResources,
) -> ec2.LaunchTemplate:
    """Defines the launch template of a capacity.

    Raises:
        IncompatibleError: The image is of Windows.
    """
    made = ec2.LaunchTemplate(
        scope,
        "LaunchTemplate",
        machine_image=plan.machine_image.to_machine_image(),
        instance_type=instance_type_named(plan.choice.instance_types[0]),
        instance_profile=hosts.instance_profile,
        security_group=hosts.security_group,
        user_data=user_data,
        block_devices=plan.parts.storage.volumes(plan.machine_image.host_image.image, hosts.encryption_key),
        associate_public_ip_address=plan.pool.interfaces[0].public_address is True,
        require_imdsv2=True,
        http_put_response_hop_limit=1,
        placement_group=network.placement_group,
    )
    custom = plan.machine_image.machine_image
    if custom is not None and made.os_type is ec2.OperatingSystemType.WINDOWS:
        raise IncompatibleError(
            "the image is of Windows, which reads no user data for Linux, so its hosts never join the cluster",
            argument="image",
            value=custom,
            fix="GpuMachineImage.custom(…) with an AMI of Amazon Linux or Bottlerocket",
        )
    if plan.machine_image.host_image.is_own:
        cast("ec2.CfnLaunchTemplate", made.node.default_child).add_override(
            f"Metadata.{METADATA_KEY}.{DECLARED_IMAGE}", image_metadata(plan.machine_image.host_image.image)
        )
    data = {**plan.adds.launch_template, **network.launch_template_data(hosts.security_group)}
    if data:
        # Into the value that CDK's construct writes, which has no argument for it.
        resource = cast("ec2.CfnLaunchTemplate", made.node.default_child)
        resource.add_property_override("LaunchTemplateData", data)
    return made


@cache  # nothing changes it, and it costs a call into Node
def instance_type_named(name: str) -> ec2.InstanceType:
    """An instance type as CDK takes it."""
    return ec2.InstanceType(name)
