"""Ranges of nodes of a multi-node job: how many there are, and whether they name each node."""

from __future__ import annotations

from gpu_constructs.fleet import Task
from gpu_constructs.hardware.aws_limits import MAX_NODE_GROUPS
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


@error(
    "GPU361",
    question=f"does a multi-node job have {MAX_NODE_GROUPS} ranges of nodes at most?",
    because=f"AWS Batch takes up to {MAX_NODE_GROUPS} distinct node groups for each job",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-node-groups.html",
)
def few_ranges(task: Task) -> Problems:
    count = len(task.node_groups)
    if count > MAX_NODE_GROUPS and task.wants_gpu:
        yield Problem(
            property_name="NodeRangeProperties",
            message=f"{task.name} is one of {count} ranges of nodes, and AWS Batch takes {MAX_NODE_GROUPS}",
            allowed=f"1 to {MAX_NODE_GROUPS}",
            fix="fewer ranges, whose containers may look at AWS_BATCH_JOB_NODE_INDEX",
        )
