"""Clusters: what each is called, which capacity providers it has, and where its tasks go by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.index import Index
from gpu_constructs.template.model import Reference, Resource, Value
from gpu_constructs.template.names import Names
from gpu_constructs.template.section import Notes, Section

__all__ = ["CAPACITY_PROVIDER", "CLUSTER_TYPE", "Clusters", "ProviderKey", "provider_key"]

CLUSTER_TYPE = "AWS::ECS::Cluster"
CAPACITY_PROVIDER = "AWS::ECS::CapacityProvider"
_ASSOCIATIONS = "AWS::ECS::ClusterCapacityProviderAssociations"
_DEFAULT = "default"

ProviderKey = Reference | str
"""A capacity provider: the reference to its resource, or the name of one that no file that was read defines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    cluster: str | Unknown | None
    providers: Sequence[ProviderKey]
    strategy: Sequence[Section]


class Clusters:
    """Names clusters, one name for each however it is written.

    Args:
        index: Where they are.
        names: What resources are called.
        notes: Where to put what could not be read.
    """

    def __init__(self, index: Index, names: Names, notes: Notes) -> None:
        self._index = index
        resources = tuple(index.all(CLUSTER_TYPE))
        called = names.unique([(each, "") for each in resources])
        self._names: Mapping[Reference, str] = {
            each.reference: name for each, name in zip(resources, called, strict=True)
        }
        listings = [_listing(each, self, index, notes) for each in (*resources, *index.all(_ASSOCIATIONS))]
        self._of_provider = {key: each.cluster for each in listings for key in each.providers}
        # The associations come last, and replace what the cluster itself says.
        self._strategies = {each.cluster: each.strategy for each in listings}

    def named(self, value: Value) -> str | Unknown | None:
        """The one name of a cluster; None for the default one.

        Args:
            value: Its name, its ARN or a reference, as written; None if nothing is.
        """
        if value is None or (isinstance(value, str) and value in {_DEFAULT, ""}):
            return None
        resource = self._index.find(value, CLUSTER_TYPE)
        if resource is not None:
            return self._names[resource.reference]
        if not isinstance(value, str):
            return UNKNOWN
        name = value.rpartition("/")[2] if value.startswith("arn:") else value
        return None if name == _DEFAULT else name

    def lists(self, provider: ProviderKey) -> bool:
        """Whether a cluster has this capacity provider.

        Args:
            provider: The provider.
        """
        return provider in self._of_provider

    def of_provider(self, provider: ProviderKey) -> str | Unknown | None:
        """The cluster that has this capacity provider.

        Args:
            provider: The provider.
        """
        return self._of_provider.get(provider)

    def default_strategy(self, cluster: str | Unknown | None) -> Sequence[Section]:
        """Items of the default strategy of a cluster; none if it has none.

        Args:
            cluster: Its one name.
        """
        return () if isinstance(cluster, Unknown) else self._strategies.get(cluster, ())


def provider_key(value: Value, index: Index) -> ProviderKey | None:
    """The capacity provider that a value names; None if that is only known at deploy time.

    Args:
        value: A reference or a name.
        index: Where providers are.
    """
    resource = index.find(value, CAPACITY_PROVIDER)
    if resource is not None:
        return resource.reference
    if isinstance(value, str):
        return value
    return Reference(value.stack, value.logical_id) if isinstance(value, Reference) else None


def _listing(resource: Resource, clusters: Clusters, index: Index, notes: Notes) -> _Listing:
    properties = Section.of(resource, notes)
    own = resource.type == CLUSTER_TYPE
    providers = properties.get("CapacityProviders")
    written = providers if isinstance(providers, Sequence) and not isinstance(providers, str) else ()
    keys = (provider_key(each, index) for each in written)
    return _Listing(
        cluster=clusters.named(resource.reference if own else properties.get("Cluster")),
        providers=tuple(each for each in keys if each is not None),
        strategy=properties.sections("DefaultCapacityProviderStrategy"),
    )
