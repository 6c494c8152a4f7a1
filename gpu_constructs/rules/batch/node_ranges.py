"""Ranges of nodes of a multi-node job: do they name each of them?"""

from __future__ import annotations

from gpu_constructs.fleet import Task
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU355",
    question="do the ranges of a multi-node job name all of its nodes, and is its main node one of them?",
    because="the ranges of nodes must account for all nodes, which are counted from 0, and AWS Batch refuses the job "
    "definition otherwise",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeRangeProperty.html",
)
def names_all_nodes(task: Task) -> Problems:
    missed, nodes = task.missed_node, task.nodes
    if missed is None or not isinstance(nodes, int) or not task.wants_gpu:
        return
    exists = missed < nodes
    yield Problem(
        property_name="TargetNodes" if exists else "MainNode",
        message=f"{task.name} has {nodes} nodes, counted from 0, and none of its ranges names node {missed}"
        if exists
        else f"{task.name} has {nodes} nodes, counted from 0, and its main node is {missed}",
        fix='a range up to the last node, such as "0:"' if exists else "MainNode 0",
    )
