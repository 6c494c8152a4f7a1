"""Whether tasks that fit on a host by themselves fit on it beside its daemons."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.placement import Proof, prove
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error


def _without_daemons(context: Context) -> Proof:
    others = tuple(each for each in context.fleet.workloads if each.daemon is not True)
    return prove(replace(context.fleet, workloads=others))


@error(
    "GPU390",
    question="do tasks have room on their hosts beside the daemons there?",
    because="ECS keeps CPU, memory and network interfaces of every host for daemons, and a task that needs them finds "
    "no host, however many are started",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html",
    stops_work=True,
    changes="Cpu",
)
def room_beside_daemons(context: Context) -> Problems:
    daemons = {each.name: each for each in context.fleet.workloads if each.daemon is True}
    if not daemons:
        return
    alone = {each.workload.name: each.unplaced for each in context.once(_without_daemons).workloads}
    proof = context.proof
    homes = {
        each.workload.name: {place.pool.name for place in each.places if place.fits is True} for each in proof.workloads
    }
    for each in proof.workloads:
        name = each.workload.name
        if name in daemons or not each.unplaced or alone.get(name):
            continue
        there = homes[name]
        beside = [other for other in daemons if homes[other] & there]
        yield Problem(
            about=each.workload,
            message=f"on {and_list(sorted(there))}, {name} has no room for {each.unplaced} of its tasks beside "
            f"{and_list(beside)}, which ECS starts first on every host",
            fix="lower Cpu and Memory of its containers, or use larger instance types",
        )
