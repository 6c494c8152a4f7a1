"""Clusters: what each is called, its capacity providers, and where its tasks go by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import KEEPS_PROVIDERS, KEEPS_STRATEGY, STAYS, UNKNOWN, Place, ProviderList, Unknown
from gpu_constructs.template.model import Reference, Resource, Value, is_open, mentioned
from gpu_constructs.template.resources.index import Index, place_of_arn
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import Notes, Section, is_list

CLUSTER = "AWS::ECS::Cluster"
CAPACITY_PROVIDER = "AWS::ECS::CapacityProvider"
_ASSOCIATIONS = "AWS::ECS::ClusterCapacityProviderAssociations"
DEFAULT_CLUSTER = "default"
"""What the cluster is called that is meant where none is named."""

ProviderKey = Reference | str
"""A capacity provider: the reference to its resource, or the name of one that no file that was read defines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """What one resource says of a cluster's providers."""

    cluster: str | Unknown | None
    providers: Sequence[ProviderKey]
    is_open: bool
    strategy: Sequence[Section]
    written: ProviderList | None


class Clusters:
    """Names clusters, one name for each however it is written."""

    def __init__(self, index: Index, names: Names, notes: Notes) -> None:
        self._index = index
        self._names = {each.reference: name for each, name in names.named(index.all(CLUSTER))}
        listings = [_listing(each, self, index, notes) for each in index.all(CLUSTER, _ASSOCIATIONS)]
        self._associations = _associations(index, self.named)
        self._defined = frozenset(self._names.values())
        self._listings = listings
        self._of_clusters = {(each.cluster, key) for each in listings for key in each.providers}
        self._of_provider = {key: each.cluster for each in listings for key in each.providers}
        self.provider_lists = tuple(each.written for each in listings if each.written is not None)
        not_whole = {each.cluster for each in self.provider_lists if isinstance(each.providers, Unknown)}
        self._listed = {each.cluster for each in self.provider_lists} - not_whole
        self._open = {
            self._names[each.reference] for each in index.all(CLUSTER) if is_open(each.properties.get("ClusterName"))
        }
        self._deploy_names_one = any(is_open(each.properties.get("Name")) for each in index.all(CAPACITY_PROVIDER))
        # The associations come last, and replace what the cluster itself says.
        self._strategies = {each.cluster: each.strategy for each in listings}

    def named(self, value: Value, near: Place) -> str | Unknown | None:
        """The one name of a cluster, given its name, its ARN or a reference as written; None for the default one."""
        if value is None or (isinstance(value, str) and value in {DEFAULT_CLUSTER, ""}):
            return None
        resource = self._index.find(value, CLUSTER, near)
        if resource is not None:
            return self._names[resource.reference]
        if not isinstance(value, str):
            return UNKNOWN
        name = value.rpartition("/")[2] if value.startswith("arn:") else value
        return None if name == DEFAULT_CLUSTER else f"{name}{self._index.where(place_of_arn(value) or near)}"

    def lists(self, provider: ProviderKey) -> bool:
        """Whether a cluster has this capacity provider."""
        return provider in self._of_provider

    def of_provider(self, provider: ProviderKey) -> str | Unknown | None:
        """The cluster that has this capacity provider."""
        return self._of_provider.get(provider)

    def associates(self, provider: ProviderKey, cluster: str | Unknown | None) -> bool | Unknown:
        """Whether a cluster's list of capacity providers names this one; unknown where there may be another list."""
        if self.lists(provider):
            return True
        is_known = not isinstance(cluster, Unknown) and cluster in self._listed
        return False if is_known and not self._may_be_listed_otherwise else UNKNOWN

    def lacks(self, provider: ProviderKey, cluster: str | Unknown | None) -> bool:
        """Whether a cluster certainly does not have this capacity provider.

        It is defined here, no list of it here names the provider, and nothing else here may change its list.
        """
        return (
            isinstance(cluster, str)
            and cluster in self._defined
            and (cluster, provider) not in self._of_clusters
            and not any(each.is_open for each in self._listings if each.cluster in {cluster, UNKNOWN})
            and not any(isinstance(each.cluster, Unknown) and provider in each.providers for each in self._listings)
            and not self._deploy_names_one  # any name may mean it
            and not self._may_be_listed_otherwise
        )

    @cached_property
    def _may_be_listed_otherwise(self) -> bool:
        """Whether a custom resource speaks of clusters or capacity providers, so that it may write a list."""
        for resource in self._index.of_custom_types():
            text, references = mentioned(resource)
            types = {None if found is None else found.type for found in map(self._index.at, references)}
            if "capacityprovider" in text.lower() or types & {CLUSTER, CAPACITY_PROVIDER}:
                return True
        return False

    def defines(self, cluster: str | Unknown | None) -> bool:
        """Whether the files define a cluster."""
        return cluster in self._defined

    def providers(self) -> Iterator[tuple[str | Unknown | None, ProviderKey | None]]:
        """Clusters with each of their capacity providers; None for those that only the deploy knows."""
        for each in self._listings:
            yield from ((each.cluster, key) for key in each.providers)
            if each.is_open:
                yield each.cluster, None

    def has_open_name(self, cluster: str | Unknown | None) -> bool:
        """Whether the name that a cluster gets is only known at deploy time, so that any name may be meant."""
        return isinstance(cluster, Unknown) or cluster in self._open

    @property
    def has_open_names(self) -> bool:
        """Whether only the deploy names one of the clusters, which may be the default one."""
        return bool(self._open)

    def default_strategy(self, cluster: str | Unknown | None) -> Sequence[Section]:
        """Items of the default strategy of a cluster; none if it has none."""
        return () if isinstance(cluster, Unknown) else self._strategies.get(cluster, ())

    def may_come_before_providers(self, service: Resource, cluster: str | Unknown | None) -> bool:
        """Whether a service may be created before the stack gives its cluster the capacity providers."""
        associations = () if isinstance(cluster, Unknown) else self._associations.get((service.stack, cluster), ())
        says_so = any(each.logical_id in service.depends_on for each in associations)  # as most: no order is needed
        return bool(associations) and not says_so and service.reference not in self._index.after(*associations)


def _associations(
    index: Index, named: Callable[[Value, Place], str | Unknown | None]
) -> Mapping[tuple[str, str | Unknown | None], Sequence[Reference]]:
    """The resources by which a deploy certainly gives a cluster its capacity providers, by stack and cluster."""
    new = [
        each for each in index.all(_ASSOCIATIONS) if each.exists is True and each.own_metadata.get(STAYS) is not True
    ]
    return grouped(
        ((each.stack, named(each.properties.get("Cluster"), each.origin.place)), each.reference) for each in new
    )


def provider_key(value: Value, index: Index, near: Place) -> ProviderKey | None:
    """The capacity provider that a value of a place names; None if that is only known at deploy time."""
    resource = index.find(value, CAPACITY_PROVIDER, near)
    if resource is not None:
        return resource.reference
    if isinstance(value, str):
        return value
    return Reference(value.stack, value.logical_id) if isinstance(value, Reference) else None


def _listing(resource: Resource, clusters: Clusters, index: Index, notes: Notes) -> _Listing:
    properties = Section.of(resource, notes)
    place, said, exists = resource.origin.place, resource.own_metadata, resource.exists is True
    providers = properties.get("CapacityProviders")
    listed = providers if is_list(providers) else (UNKNOWN,)
    keys = [provider_key(each, index, place) for each in listed]
    of = resource.reference if resource.type == CLUSTER else properties.get("Cluster")
    written = ProviderList(
        cluster=clusters.named(of, place),
        cluster_is_defined=index.find(of, CLUSTER, place) is not None,
        is_certain=exists,
        providers=frozenset(map(str, keys)) if exists and None not in keys else UNKNOWN,
        keeps_providers=said.get(KEEPS_PROVIDERS) is True,
        keeps_strategy=said.get(KEEPS_STRATEGY) is True,
        origin=resource.origin,
    )
    return _Listing(
        cluster=written.cluster,
        providers=tuple(each for each in keys if each is not None),
        is_open=providers is not None and None in keys,
        strategy=properties.sections("DefaultCapacityProviderStrategy"),
        written=None if providers is None else written,
    )
