"""Lists of capacity providers: does a list keep what the cluster already has?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import ProviderList, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, warning

_SOURCE = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PutClusterCapacityProviders.html"


@warning(
    "GPU195",
    question="is the list of capacity providers in the same files as its cluster?",
    because="a list replaces the whole list of the cluster, and its default strategy; ECS disassociates a provider "
    "that is left out, Fargate included, and the deployment fails while tasks use it",
    source=_SOURCE,
)
def of_a_cluster_that_was_read(context: Context) -> Iterator[Problem]:
    for each in context.fleet.provider_lists:
        if not each.cluster_is_defined:
            cluster = _named(each)
            yield Problem(
                about=cluster,
                message=f"a deployment replaces the whole list of capacity providers and the default strategy of "
                f"{cluster}, and the files that were read do not define it: it loses every other provider",
                fix="put the list into the stack that defines the cluster, or every provider of the cluster into this "
                "list; change nothing if the cluster has no others",
                property_name="CapacityProviders",
                origin=each.origin,
            )


@warning(
    "GPU196",
    question="does each cluster have one list of capacity providers?",
    because="a list replaces the whole list of the cluster, so the list that is deployed last wins",
    source=_SOURCE,
)
def one_for_each_cluster(context: Context) -> Iterator[Problem]:
    first: dict[str, ProviderList] = {}
    for each in context.fleet.provider_lists:
        if not (each.cluster_is_defined and each.is_certain and isinstance(each.cluster, str)):
            continue
        if first.setdefault(each.cluster, each) is not each:
            yield Problem(
                about=each.cluster,
                message=f"{_named(each)} has a second list of capacity providers, and the list that is deployed last "
                "wins",
                fix="write one list with all of them",
                property_name="CapacityProviders",
                origin=each.origin,
            )


def _named(written: ProviderList) -> str:
    if isinstance(written.cluster, Unknown):
        return "a cluster"
    return "the default cluster" if written.cluster is None else f"the cluster {written.cluster}"
