"""Ranges of nodes of a multi-node job: how many there are, which nodes they name, and whether that can change."""

from __future__ import annotations

from gpu_constructs.fleet import Task
from gpu_constructs.hardware.aws_limits import MAX_NODE_GROUPS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error, warning


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


@warning(
    "GPU348",
    question="do the ranges of a multi-node job end with its last node?",
    because="nodes are counted from 0, so that 0:3 are four: a range that ends at the number of nodes was counted from "
    "1, or is for a job of more nodes, and its job starts on fewer hosts than its ranges say",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeRangeProperty.html",
    unless=("GPU355",),
)
def ends_with_its_nodes(task: Task) -> Problems:
    ends, nodes = task.ranged_nodes, task.nodes
    if ends is not None and isinstance(nodes, int) and ends > nodes and task.wants_gpu:
        yield Problem(
            property_name="TargetNodes",
            value=ends - 1,
            message=f"{task.name} has {nodes} nodes, counted from 0, and a range of them ends with node {ends - 1}",
            allowed=f"0 to {nodes - 1}",
            fix=f'a range up to node {nodes - 1}, such as "0:", or NumNodes {ends}',
        )


@error(
    "GPU349",
    question="can the number of nodes of a multi-node job be another one in a submission?",
    because="AWS Batch takes another number where a range of the job definition has an open upper boundary alone, and "
    "refuses the submission otherwise",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeOverrides.html",
)
def changes_an_open_range(context: Context) -> Problems:
    for task in context.fleet.tasks:
        for each in task.submissions:
            number = each.nodes
            if task.ranged_nodes is not None and isinstance(number, int) and number != task.nodes and task.wants_gpu:
                yield Problem(
                    about=each,
                    involves=(task,),
                    property_name="NodeOverrides.NumNodes",
                    value=number,
                    message=f"{each.name} asks for {number} nodes, and the ranges of {task.name} end with node "
                    f"{task.ranged_nodes - 1}",
                    fix=f"TargetNodes with an open end in {task.name}, or no NumNodes in the submission",
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
