"""Which names of a test mean a pool."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Origin, Pool
from gpu_constructs.fleet.workload import all_called, most_alike


def pool(name: str, resource: str = "R", provider: str | None = None) -> Pool:
    return Pool(
        name=name,
        instance_types=(),
        image=UNKNOWN,
        min_instances=0,
        max_instances=1,
        provider=provider,
        origin=Origin(resource=resource),
    )


@pytest.mark.parametrize(
    ("known", "name", "is_called"),
    [
        (pool("Gpu/L4"), "L4", True),
        (pool("Gpu/L4"), "Gpu/L4", True),
        (pool("x", provider="my-l4"), "my-l4", True),
        (pool("x", "ClusterL4Provider0C9E5504"), "ClusterL4Provider0C9E5504", True),
        (pool("x", "ClusterL4Provider0C9E5504"), "ClusterL4", True),  # without its hash
        (pool("ClusterL4GroupASG0C9E5504"), "L4", True),
        (pool("Gpu/L4"), "4", False),
        (pool("Gpu/L40"), "L4", False),
        (pool("Gpu/L4"), "Gpu", False),  # what it is in
        (pool("ClusterL4GroupASG0C9E5504"), "l4", False),
        (pool("pretrain"), "train", False),  # an end within a word
        (pool("L4"), "", False),
    ],
)
def test_a_pool_goes_by_several_names_and_not_by_what_only_looks_like_one(
    known: Pool, name: str, is_called: bool
) -> None:
    assert bool(all_called((known,), name)) is is_called


def test_the_most_alike_is_found_among_all_names() -> None:
    other, meant = pool("Small", "A"), pool("x", "ClusterL4Provider0C9E5504", provider="inference-l4")
    assert most_alike((other, meant), "inference-l40")[0] == meant.name
    assert most_alike((), "L4") == ()
