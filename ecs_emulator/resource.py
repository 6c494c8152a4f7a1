"""Resources of a stack that the emulator makes itself, because moto 5.2.5 skips their type or does half of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from moto.core.common_models import CloudFormationModel

__all__ = ["AlreadyExistsError", "HalfMadeError", "Properties", "Region", "Resource", "camel_case", "registered"]

Properties = dict[str, Any]

VERBATIM = frozenset({"DockerLabels", "DriverOpts", "Labels", "Options"})
"""Properties that hold a map of the user's own keys."""

_NAMES = {"EFSVolumeConfiguration": "efsVolumeConfiguration", "FilesystemId": "fileSystemId", "IAM": "iam"}
"""Properties that the API does not spell as CloudFormation does with a small letter."""


@dataclass(frozen=True)
class Region:
    """Where a stack lives."""

    account_id: str
    name: str


class AlreadyExistsError(ValueError):
    """A resource has the name, in the words of most resource types."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"Resource of type '{kind}' with identifier '{name}' already exists.")


class HalfMadeError(Exception):
    """A resource was made and did not become what it should; the stack keeps or deletes it."""

    def __init__(self, made: Resource, reason: str) -> None:
        super().__init__(reason)
        self.made = made


class Resource(CloudFormationModel):
    """One resource, made by CloudFormation.

    A subclass names its type and the property that names it, and says how to make, change and delete it. Deriving from
    this class is what registers the type.

    Args:
        physical_id: What ``Ref`` gives.
        attributes: What ``Fn::GetAtt`` gives.
    """

    type_name: ClassVar[str] = ""
    name_property: ClassVar[str] = ""
    attribute_names: ClassVar[frozenset[str]] = frozenset()
    create_only: ClassVar[frozenset[str]] = frozenset()
    """Properties whose change replaces the resource."""
    update_policy: Properties = {}  # noqa: RUF012 - set for each update
    """What the template of the update says about how it is updated."""

    def __init__(self, physical_id: str, attributes: Mapping[str, str] | None = None) -> None:
        self.physical_resource_id = physical_id
        self._attributes = dict(attributes or {})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Resource:
        """Make the resource; `name` is the given name or one that CloudFormation made up."""
        raise NotImplementedError

    def update(self, region: Region, properties: Properties) -> None:
        """Change it in place; only called for properties outside `create_only`."""
        raise NotImplementedError

    def remove(self, region: Region) -> None:
        """Delete it.

        Raises:
            Exception: AWS would not delete it; the text says why.
        """
        raise NotImplementedError

    # moto's side of the contract

    @classmethod
    def cloudformation_type(cls) -> str:
        return cls.type_name

    @classmethod
    def cloudformation_name_type(cls) -> str:
        return cls.name_property

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return attr in cls.attribute_names

    def get_cfn_attribute(self, attribute_name: str) -> str:
        return self._attributes[attribute_name]

    def is_created(self) -> bool:
        return True

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Any, account_id: str, region_name: str, **kwargs: Any
    ) -> Resource:
        return cls.create(Region(account_id, region_name), resource_name, cloudformation_json["Properties"])

    def delete(self, account_id: str, region_name: str) -> None:
        self.remove(Region(account_id, region_name))


@functools.cache
def registered() -> dict[str, type[Resource]]:
    """Every type that the emulator makes itself, by its name; their modules are there before the first stack."""
    found: dict[str, type[Resource]] = {}
    waiting = Resource.__subclasses__()
    while waiting:
        own = waiting.pop()
        waiting += own.__subclasses__()
        if own.type_name:
            found[own.type_name] = own
    return found


def camel_case(value: Any) -> Any:
    """Turn CloudFormation's property names into the API's, leaving maps of the user's own keys alone."""
    if isinstance(value, list):
        return [camel_case(item) for item in value]
    if isinstance(value, dict):
        return {
            _NAMES.get(key) or key[:1].lower() + key[1:]: item if key in VERBATIM else camel_case(item)
            for key, item in value.items()
        }
    return value
