"""A resource that writes which capacity providers a cluster has."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_constructs.fleet.origin import Origin
from gpu_constructs.fleet.unknown import Unknown

__all__ = ["ProviderList"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderList:
    """A list of capacity providers and a default strategy, which a deploy writes over those that a cluster has.

    Attributes:
        cluster: The cluster, as `Pool.cluster` names it; None if it is the default one.
        cluster_is_defined: Whether the files that were read define the cluster.
        is_certain: Whether it is certainly deployed; False if that depends on a condition.
        origin: Where it was written.
    """

    cluster: str | Unknown | None
    cluster_is_defined: bool
    is_certain: bool = True
    origin: Origin | None = field(default=None, compare=False, repr=False)
