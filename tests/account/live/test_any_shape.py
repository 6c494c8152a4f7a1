"""Answers of any shape, those that AWS gives as examples among them, are read or refused in words."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import botocore.loaders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.account.answers import answers
from gpu_constructs.account.live.subjects import subject_called
from gpu_constructs.account.live.verified import verify
from gpu_constructs.account.live.waiting import why
from gpu_constructs.errors import GpuConstructsError

from .given import VCPUS, Answer, cluster

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def spoilt(answer: Any, path: list[int], value: Any) -> Any:
    """The answer with another value somewhere."""
    if not path or not isinstance(answer, (dict, list)) or not answer:
        return value
    keys = list(answer) if isinstance(answer, dict) else list(range(len(answer)))
    key = keys[path[0] % len(keys)]
    inner = spoilt(answer[key], path[1:], value)
    if isinstance(answer, dict):
        return {**answer, key: inner}
    return [*answer[:key], inner, *answer[key + 1 :]]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), JSON)
def test_an_answer_of_another_shape_is_no_exception(path: list[int], value: Any) -> None:
    answer = spoilt(cluster(activities=(VCPUS,)), path, value)
    found = answers([answer] if isinstance(answer, dict) else [])
    with suppress(GpuConstructsError):
        verify(found)
        why(found, subject_called(found, "chat"))


LOADER = botocore.loaders.Loader()


def of_aws(service: str, operation: str) -> list[Answer]:
    """The answers to an operation that AWS gives as examples, which botocore ships."""
    loaded = LOADER.load_service_model(service, "examples-1")
    found: list[Answer] = [each["output"] for each in loaded["examples"].get(operation, ()) if each.get("output")]
    return found


@cache
def examples() -> list[Answer]:
    return [
        *(
            example
            for each in ("Clusters", "Services", "Tasks", "TaskDefinition", "ContainerInstances")
            for example in of_aws("ecs", f"Describe{each}")
        ),
        *of_aws("autoscaling", "DescribeAutoScalingGroups"),
        *of_aws("autoscaling", "DescribeScalingActivities"),
        *of_aws("ec2", "DescribeLaunchTemplateVersions"),
    ]


def test_the_examples_of_aws_are_read() -> None:
    # Its task definition is another one than that which AWS describes as an example.
    with pytest.raises(GpuConstructsError, match="the task definition 'hello_world:6' is not described"):
        subject_called(answers(examples()), "ecs-simple-service")
    (service,) = of_aws("ecs", "DescribeServices")[0]["services"]
    (hello,) = of_aws("ecs", "DescribeTaskDefinition")
    definition = {"taskDefinition": {**hello["taskDefinition"], "taskDefinitionArn": service["taskDefinition"]}}
    found = answers([*examples(), definition])
    diagnosis = why(found, subject_called(found, "ecs-simple-service"))
    assert diagnosis.state == "runs 0 of 1 tasks"
    assert "is already using a port required by your task" in " ".join(diagnosis.events)


@given(st.deferred(lambda: st.sampled_from(examples())), st.lists(st.integers(0, 50), min_size=1, max_size=6), JSON)
def test_an_example_of_aws_that_is_spoilt_is_no_exception(example: Answer, path: list[int], value: Any) -> None:
    answer = spoilt(example, path, value)
    found = answers([*examples(), *([answer] if isinstance(answer, dict) else []), cluster()])
    with suppress(GpuConstructsError):
        verify(found)
        why(found, subject_called(found, "ecs-simple-service"))
    with suppress(GpuConstructsError):
        why(found, subject_called(found, "chat"))
