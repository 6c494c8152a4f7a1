"""Secrets that everyone who reads a task definition reads as well."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_constructs.fleet import Task
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, warning

# What model servers and training programs take from their environment by these names, and what Security Hub looks for:
# https://docs.aws.amazon.com/securityhub/latest/userguide/ecs-controls.html#ecs-8
_SECRETS = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "ECS_ENGINE_AUTH_DATA",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
    }
)
_ENDINGS = ("_API_KEY", "PASSWORD", "_SECRET_KEY")
# vLLM's documentation has OPENAI_API_KEY=EMPTY for a server without a key; ALLOW_EMPTY_PASSWORD=yes is a switch.
_NO_SECRET = re.compile(
    r"empty|none|null|nil|n/?a|dummy|fake|placeholder|change[-_]?me|todo|unused|not[-_](?:needed|used|set|required)"
    r"|no[-_]?key|x+|\*+|-+|[01]|true|false|yes|no|on|off"
    r"|<.*>"  # a gap to fill in
    r"|arn:.*|/[\w.-]+(?:/[\w.-]+)+",  # where the secret is
    re.IGNORECASE,
)


@warning(
    "GPU239",
    question="does a GPU task get its secrets by reference?",
    because="environment variables are plain text in the template, in every revision of the task definition and in the "
    "output of describe-task-definition",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specifying-sensitive-data.html",
)
def by_reference(task: Task) -> Iterator[Problem]:
    for container in task.containers if task.wants_gpu else ():
        plain = [
            name
            for name, value in container.environment
            if (name in _SECRETS or name.endswith(_ENDINGS)) and isinstance(value, str) and _may_be_secret(value)
        ]
        if plain:
            yield Problem(
                container=container,
                message=f"container {container.name} of {task.name} has {and_list(plain)} in plain text",
                fix="Secrets with the ARN of a secret or parameter, in place of the variable",
                property_name="Environment",
            )


def _may_be_secret(value: str) -> bool:
    return bool(value) and _NO_SECRET.fullmatch(value.strip()) is None
