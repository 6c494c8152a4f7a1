"""The line of the AWS CLI that starts a task by hand, as text for an output."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

import aws_cdk as cdk


def run_task_line(
    *,
    cluster_name: str,
    family: str,
    strategy: Sequence[Mapping[str, object]],
    network: Mapping[str, Sequence[str]] | None,
    overrides: Mapping[str, object] | None = None,
) -> str:
    """``aws ecs run-task``; its strategy is what makes managed scaling start a host.

    Args:
        cluster_name: The cluster.
        family: The family of the task definition, of which its latest revision runs.
        strategy: Items of the capacity provider strategy, as the API has them.
        network: The configuration of ``awsvpc``, as the API has it; None in other modes.
        overrides: What the containers get besides, as the API has it.
    """
    items = (",".join(f"{_written(key)}={value}" for key, value in each.items()) for each in strategy)
    line = (
        f"aws ecs run-task --cluster {cluster_name} --task-definition {family} "
        f"--capacity-provider-strategy {' '.join(items)} --propagate-tags TASK_DEFINITION"
    )
    if overrides is not None:
        line += f" --overrides {shlex.quote(json.dumps(overrides))}"
    if network is None:
        return line
    # A list may be one token, of which no item is known.
    parts = ",".join(f"{_written(key)}=[{cdk.Fn.join(',', list(values))}]" for key, values in network.items())
    return f"{line} --network-configuration 'awsvpcConfiguration={{{parts}}}'"


def _written(name: str) -> str:
    """The name of a field as the AWS CLI writes it."""
    return f"{name[:1].lower()}{name[1:]}"
