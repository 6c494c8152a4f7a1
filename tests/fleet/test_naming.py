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
    ("known", "name"),
    [
        (pool("Gpu/L4"), "L4"),
        (pool("Gpu/L4"), "Gpu/L4"),
        (pool("x", provider="my-l4"), "my-l4"),
        (pool("x", "ClusterL4Provider0C9E5504"), "ClusterL4Provider0C9E5504"),
        (pool("x", "ClusterL4Provider0C9E5504"), "ClusterL4"),
        (pool("ClusterL4GroupASG0C9E5504"), "L4"),
    ],
    ids=["end of the path", "path", "provider", "logical id", "without its hash", "last construct"],
)
def test_a_pool_goes_by_several_names(known: Pool, name: str) -> None:
    assert all_called((known,), name)


@pytest.mark.parametrize(
    ("known", "name"),
    [
        (pool("Gpu/L4"), "4"),
        (pool("Gpu/L40"), "L4"),
        (pool("Gpu/L4"), "Gpu"),
        (pool("ClusterL4GroupASG0C9E5504"), "l4"),
        (pool("pretrain"), "train"),
        (pool("L4"), ""),
    ],
    ids=["a part of a name", "a beginning", "what it is in", "other case", "an end within a word", "nothing"],
)
def test_a_name_that_only_looks_like_it_is_another(known: Pool, name: str) -> None:
    assert not all_called((known,), name)


def test_the_most_alike_is_found_among_all_names() -> None:
    other, meant = pool("Small", "A"), pool("x", "ClusterL4Provider0C9E5504", provider="inference-l4")
    assert most_alike((other, meant), "inference-l40")[0] == meant.name
    assert most_alike((), "L4") == ()
