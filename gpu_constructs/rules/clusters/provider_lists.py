"""Lists of capacity providers that are written over what a cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import ProviderList, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_SOURCE = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PutClusterCapacityProviders.html"


@rule(
    "GPU195",
    Severity.WARNING,
    about=Context,
    question="is the list of capacity providers of a cluster written where the cluster is defined?",
    because="a list replaces the whole list that the cluster has, and the default strategy with it: a provider that is "
    "left out is disassociated, Fargate included, and the deployment fails while tasks use it",
    source=_SOURCE,
)
def of_a_cluster_that_was_read(context: Context) -> Iterator[Problem]:
    for each in context.fleet.provider_lists:
        if not each.cluster_is_defined:
            cluster = _named(each)
            yield Problem(
                about=cluster,
                message=f"a deployment replaces the whole list of capacity providers and the default strategy of "
                f"{cluster}, and no file that was read defines it: what it has besides is taken from it",
                fix="the list in the stack that defines the cluster, or every provider of the cluster in this one; "
                "nothing if the cluster has no others",
                property_name="CapacityProviders",
                origin=each.origin,
            )


@rule(
    "GPU196",
    Severity.WARNING,
    about=Context,
    question="does each cluster have one list of capacity providers?",
    because="a list replaces the whole list that the cluster has, so of two lists the one that is deployed last stays",
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
                message=f"the capacity providers of {_named(each)} are listed a second time, and of two lists the one "
                "that is deployed last stays",
                fix="one list with all of them",
                property_name="CapacityProviders",
                origin=each.origin,
            )


def _named(written: ProviderList) -> str:
    if isinstance(written.cluster, Unknown):
        return "a cluster"
    return "the default cluster" if written.cluster is None else f"the cluster {written.cluster}"
