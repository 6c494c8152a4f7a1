"""A list of capacity providers replaces the whole list that its cluster has."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, ProviderList, Unknown
from gpu_constructs.rules.clusters import cluster_membership as room
from tests.rules.given import only, said


def written(*clusters: str | Unknown | None, is_defined: bool = True, is_certain: bool = True) -> Fleet:
    lists = (ProviderList(cluster=each, cluster_is_defined=is_defined, is_certain=is_certain) for each in clusters)
    return Fleet(provider_lists=tuple(lists))


@pytest.mark.parametrize(
    ("cluster", "named"), [("gpu", "the cluster gpu"), (None, "the default cluster"), (UNKNOWN, "a cluster")]
)
def test_a_list_of_a_cluster_that_was_not_read_is_a_warning(cluster: str | Unknown | None, named: str) -> None:
    finding = only(room.the_only_list, written(cluster, is_defined=False))
    assert f"the default strategy of {named}, and the files that were read do not define it" in finding.message


def test_two_lists_of_one_cluster_are_a_warning() -> None:
    assert (
        "the cluster gpu has a second list of capacity providers"
        in only(room.the_only_list, written("gpu", "gpu")).message
    )


@pytest.mark.parametrize(
    "fleet",
    [
        pytest.param(written("gpu"), id="a cluster that was read"),
        pytest.param(written("a", "b"), id="a list for each"),
        pytest.param(written(UNKNOWN, UNKNOWN), id="which clusters is not known"),
        pytest.param(written("a", "a", is_certain=False), id="one or the other"),
    ],
)
def test_what_is_fine_or_not_known_is_silent(fleet: Fleet) -> None:
    assert said(room.the_only_list, fleet) == []
