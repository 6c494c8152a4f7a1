"""Volumes of tasks and jobs that are file systems of Amazon EFS.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_EFSVolumeConfiguration.html and, for jobs,
https://docs.aws.amazon.com/batch/latest/APIReference/API_EFSVolumeConfiguration.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from gpu_constructs.fleet import EfsVolume
from gpu_constructs.template.model import Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Section, is_list

_FILE_SYSTEM = "AWS::EFS::FileSystem"
_MOUNT = "elasticfilesystem:clientmount"


def efs_volumes_of(section: Section, index: Index) -> Iterator[EfsVolume]:
    """The volumes of a task definition or a container of a job, in whose names some letters are small."""
    for volume in section.sections("Volumes"):
        for key, file_system, iam in (
            ("EFSVolumeConfiguration", "FilesystemId", "IAM"),
            ("EfsVolumeConfiguration", "FileSystemId", "Iam"),
        ):
            if volume.has(key):
                settings = volume.section(key)
                authorization = settings.section("AuthorizationConfig")
                name = volume.text("Name")
                found = index.find(settings.get(file_system), _FILE_SYSTEM)
                yield EfsVolume(
                    name=name if isinstance(name, str) else "",
                    root_directory=settings.text("RootDirectory"),
                    transit_encryption=settings.text("TransitEncryption"),
                    access_point=authorization.text("AccessPointId"),
                    iam=authorization.text(iam),
                    wants_iam=found is not None and _wants_iam(found.properties.get("FileSystemPolicy")),
                    origin=settings.origin,
                )


def _wants_iam(policy: Value) -> bool:
    """Whether a policy is written out, and none of its statements lets everyone mount the file system."""
    written = policy.get("Statement") if isinstance(policy, Mapping) else None
    statements = written if is_list(written) else (written,)
    return all(isinstance(each, Mapping) and _is_known(each) and not _lets_everyone_mount(each) for each in statements)


def _is_known(statement: Mapping[str, Value]) -> bool:
    """Whether its effect and its actions are written out."""
    return isinstance(statement.get("Effect"), str) and all(isinstance(each, str) for each in _actions(statement))


def _lets_everyone_mount(statement: Mapping[str, Value]) -> bool:
    """Whether it may let a client mount that names no role; a condition is taken to let it through."""
    if statement.get("Effect") != "Allow":
        return False
    actions = [str(each).lower() for each in _actions(statement)]
    mounts = not actions or any(fnmatchcase(_MOUNT, each) for each in actions)  # without any there is NotAction
    return mounts and _may_be_everyone(statement.get("Principal"))


def _actions(statement: Mapping[str, Value]) -> tuple[Value, ...]:
    written = statement.get("Action")
    return tuple(written) if is_list(written) else () if written is None else (written,)


def _may_be_everyone(principal: Value) -> bool:
    """Whether it is ``*``, or not known; a reference is a role or an account."""
    if isinstance(principal, Mapping):
        written = principal.get("AWS")
        return any(each == "*" for each in (written if is_list(written) else (written,)))
    return True
