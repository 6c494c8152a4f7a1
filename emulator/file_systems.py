"""File systems of Amazon EFS as resources of a stack, with their mount targets and access points.

moto 5.2.5 makes them without the ARN that policies name, and deletes a file system before its access points. Not
modelled: mounting, policies, encryption, backups.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EFS.html
"""

from __future__ import annotations

from typing import Any

from moto.efs.models import EFSBackend, efs_backends

from .resource import Properties, Region, Resource

__all__ = ["AccessPoint", "FileSystem", "MountTarget"]


def _efs(region: Region) -> EFSBackend:
    backend = efs_backends[region.account_id][region.name]
    assert isinstance(backend, EFSBackend)
    return backend


class FileSystem(Resource):
    """A file system; a change of how it is encrypted or where it lies replaces it."""

    type_name = "AWS::EFS::FileSystem"
    attribute_names = frozenset({"Arn", "FileSystemId"})
    create_only = frozenset({"AvailabilityZoneName", "Encrypted", "KmsKeyId", "PerformanceMode"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> FileSystem:
        made = _efs(region).create_file_system(
            name,
            properties.get("PerformanceMode", "generalPurpose"),
            properties.get("Encrypted", False),
            properties.get("KmsKeyId"),  # type: ignore[arg-type] # moto takes none
            properties.get("ThroughputMode", "bursting"),
            properties.get("ProvisionedThroughputInMibps", 0),
            properties.get("AvailabilityZoneName"),  # type: ignore[arg-type] # moto takes none
            properties.get("BackupPolicy", {}).get("Status") == "ENABLED",
            properties.get("FileSystemTags", []),
        )
        return cls(made.file_system_id, {"Arn": made.file_system_arn, "FileSystemId": made.file_system_id})

    def remove(self, region: Region) -> None:
        _efs(region).delete_file_system(self.physical_resource_id)


class MountTarget(Resource):
    """An address of a file system in one subnet."""

    type_name = "AWS::EFS::MountTarget"
    attribute_names = frozenset({"Id", "IpAddress"})
    create_only = frozenset({"FileSystemId", "IpAddress", "SubnetId"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> MountTarget:
        made: Any = _efs(region).create_mount_target(
            properties["FileSystemId"],
            properties["SubnetId"],
            properties.get("IpAddress"),
            properties["SecurityGroups"],
        )
        return cls(made.mount_target_id, {"Id": made.mount_target_id, "IpAddress": made.ip_address})

    def remove(self, region: Region) -> None:
        _efs(region).delete_mount_target(self.physical_resource_id)


class AccessPoint(Resource):
    """A directory of a file system with a user of its own."""

    type_name = "AWS::EFS::AccessPoint"
    attribute_names = frozenset({"AccessPointId", "Arn"})
    create_only = frozenset({"ClientToken", "FileSystemId", "PosixUser", "RootDirectory"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> AccessPoint:
        made = _efs(region).create_access_point(
            name,
            properties.get("AccessPointTags", []),
            properties["FileSystemId"],
            properties.get("PosixUser", {}),
            properties.get("RootDirectory", {}),
        )
        return cls(made.access_point_id, {"AccessPointId": made.access_point_id, "Arn": made.access_point_arn})

    def remove(self, region: Region) -> None:
        _efs(region).delete_access_point(self.physical_resource_id)
