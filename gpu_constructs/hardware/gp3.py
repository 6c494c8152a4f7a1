"""What an EBS volume of type gp3 can be.

https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html and LaunchTemplateEbsBlockDeviceRequest of the EC2
API (botocore 1.44.5); the ratio of IOPS and throughput is in the checks of CDK's ec2.Volume (2.275.0).
"""

from __future__ import annotations

MAX_GIB = 65536
"""Size of the largest volume."""

MIN_MIB_PER_SECOND = 125
"""Throughput that every volume comes with."""

MAX_MIB_PER_SECOND = 2000
"""Throughput at most."""

IOPS_INCLUDED = 3000
"""IOPS that every volume comes with."""

IOPS_FOR_EACH_MIB_PER_SECOND = 4
"""IOPS that a volume must have for each MiB/s."""
