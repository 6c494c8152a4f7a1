"""States that look for the tasks of an execution, page by page.

ECS lists tasks by family and not by group, so other executions' tasks are among them, with the whole of what each was
given. Step Functions takes 256 KiB from an answer and from a state
(https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html), and ends an execution that has more. So a
page is short, and of each task only its ARN and its group are kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.cdk.state_parts import State, call_ecs, choice_state, is_there, pass_state, text_matches
from gpu_constructs.jobs.job_run import JobRun

OUR_GROUP = "States.Format('job:{}', $$.Execution.Name)"
"""The group of all tasks of one execution."""

IS_OURS = {"Variable": "$.group", "StringEqualsPath": "$.ours"}
"""A rule of a choice in `each_of_page`: the task is one of this execution."""

# A task's description has some 3 KB, and up to 8,192 characters of overrides, with quotes that are escaped again.
_TASKS = 16


def pages_of_tasks(
    run: JobRun,
    name: str,
    *,
    found: str,
    rest: str,
    groups: str = "$.Tasks[*].Group",
    guard: State | None = None,
) -> State:
    """States, from ``Find<name>`` on, that look for tasks of this execution which are meant to run.

    Args:
        run: What it runs.
        name: The end of their names.
        found: The state after a page with such tasks; it goes on with ``Rest<name>`` for the next page.
        rest: The state after the last page.
        groups: The groups of the tasks of a page that count.
        guard: What the states that ask ECS have as well.
    """
    listed = {"Cluster": run.cluster, "Family": run.family, "DesiredStatus": "RUNNING", "MaxResults": _TASKS}
    described = {"Cluster": run.cluster, "Tasks.$": "$.page.TaskArns"}
    token = "$.page.NextToken"  # noqa: S105 - where a list goes on
    after = {"ResultPath": "$.page", **(guard or {}), "Next": f"Any{name}"}
    seen = {"arns.$": "$.Tasks[*].TaskArn", "groups.$": groups}
    return {
        f"Find{name}": {**call_ecs(run.partition, "listTasks", listed), **after},
        f"More{name}": {**call_ecs(run.partition, "listTasks", {**listed, "NextToken.$": token}), **after},
        f"Any{name}": choice_state([{**is_there("$.page.TaskArns[0]"), "Next": f"Read{name}"}], f"Rest{name}"),
        f"Read{name}": {
            **call_ecs(run.partition, "describeTasks", described),
            "ResultSelector": seen,
            "ResultPath": "$.seen",
            **(guard or {}),
            "Next": f"Ours{name}",
        },
        f"Ours{name}": pass_state(
            {"found.$": f"States.ArrayContains($.seen.groups, {OUR_GROUP})"}, "$.ours", f"AnyOurs{name}"
        ),
        f"AnyOurs{name}": choice_state(
            [{"Variable": "$.ours.found", "BooleanEquals": True, "Next": found}], f"Rest{name}"
        ),
        f"Rest{name}": choice_state(
            [{"And": [is_there(token), text_matches(token, "*")], "Next": f"More{name}"}], rest
        ),
    }


def each_of_page(states: State, *, start: str, result: str) -> State:
    """A state that looks at each task of a page, by its ARN in ``$.arn`` and its group in ``$.group``.

    Args:
        states: What it does with one.
        start: The first of them.
        result: Where the results go. Without a place they would be the output: CDK leaves out a ``ResultPath`` of null.
    """
    item: Mapping[str, str] = {
        "arn.$": "$$.Map.Item.Value",
        "group.$": "States.ArrayGetItem($.seen.groups, $$.Map.Item.Index)",
        "ours.$": OUR_GROUP,
    }
    return {
        "Type": "Map",
        "ItemsPath": "$.seen.arns",
        "ItemSelector": item,
        "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": start, "States": states},
        "ResultPath": result,
    }
