"""File systems of Amazon EFS, with their mount targets and access points, and of Amazon FSx as resources of a stack.

moto 5.2.5 makes those of EFS without the ARN that policies name, deletes one before its access points, and makes none
of FSx. Not modelled: mounting, policies, encryption, backups.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EFS.html
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-fsx-filesystem.html
"""

from __future__ import annotations

from typing import Any

from moto.efs.models import EFSBackend, efs_backends
from moto.fsx.models import FSxBackend, fsx_backends

from .resource import Properties, Region, Resource

__all__ = ["AccessPoint", "FileSystem", "FsxFileSystem", "MountTarget"]


def _efs(region: Region) -> EFSBackend:
    backend = efs_backends[region.account_id][region.name]
    assert isinstance(backend, EFSBackend)
    return backend


def _fsx(region: Region) -> FSxBackend:
    backend = fsx_backends[region.account_id][region.name]
    assert isinstance(backend, FSxBackend)
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
    create_only = frozenset({"FileSystemId", "IpAddress", "IpAddressType", "Ipv6Address", "SubnetId"})

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


class FsxFileSystem(Resource):
    """A file system of FSx, such as Lustre; what is said of its kind can change, within it."""

    type_name = "AWS::FSx::FileSystem"
    attribute_names = frozenset({"DNSName", "LustreMountName", "ResourceARN", "RootVolumeId"})
    create_only = frozenset({"BackupId", "FileSystemType", "KmsKeyId", "SecurityGroupIds", "SubnetIds"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> FsxFileSystem:
        made = _fsx(region).create_file_system(
            name,
            properties["FileSystemType"],
            int(properties.get("StorageCapacity", 1200)),
            properties.get("StorageType", "SSD"),
            properties["SubnetIds"],
            properties.get("SecurityGroupIds", []),
            properties.get("Tags"),
            properties.get("KmsKeyId"),
            properties.get("WindowsConfiguration"),
            properties.get("LustreConfiguration"),
            properties.get("OntapConfiguration"),
            properties.get("FileSystemTypeVersion"),
            properties.get("OpenZFSConfiguration"),
        )
        attributes = {"DNSName": made.dns_name, "ResourceARN": made.resource_arn, "RootVolumeId": "fsvol-1"}
        return cls(made.file_system_id, {**attributes, "LustreMountName": "fsx"})

    def update(self, region: Region, properties: Properties) -> None:
        made = _fsx(region).file_systems[self.physical_resource_id]
        made.storage_capacity = int(properties.get("StorageCapacity", made.storage_capacity))
        made.lustre_configuration = properties.get("LustreConfiguration")

    def remove(self, region: Region) -> None:
        _fsx(region).delete_file_system(self.physical_resource_id, "", None, None, None)
