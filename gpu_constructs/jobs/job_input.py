"""What a job is started with: JSON that a shell takes as one word, and for which ECS has room."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from aws_cdk import aws_stepfunctions as sfn

from gpu_constructs.cdk.arguments import require_kind
from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.tokens import is_text_token, is_token, known_parts
from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.jobs.job_run import JobRun, variables_by_hand

# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
_MOST_CHARACTERS = 8192


def text_of(job_input: Mapping[str, object]) -> str:
    """The input of a job as JSON.

    Raises:
        InvalidValueError: It cannot be written as JSON, or has values that no job gets.
    """
    require_kind("job_input", job_input, Mapping, example="{'epochs': 3}")
    try:
        text = json.dumps(job_input, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"expects what can be written as JSON, got {shown(job_input)}",
            argument="job_input",
            value=job_input,
            fix="job_input={'epochs': 3}",
        ) from None
    late = next((each for each in _leaves(job_input) if is_token(each) and not is_text_token(each)), None)
    if late is not None:
        raise InvalidValueError(
            "has a number or a list that is only known at deploy time, and JSON that is written at synth takes text",
            argument="job_input",
            fix="value_as_string of the parameter, or cdk.Token.as_string(…) of any other token",
        )
    # A field that is not the whole of its text, CDK refuses itself.
    with translated(), argument_named("job_input"):
        paths = sfn.FieldUtils.find_referenced_paths(dict(job_input)) if is_token(text) else ()
    if paths:
        raise InvalidValueError(
            f"{paths[0]} is a field of the input of a state, and here no state has one",
            argument="job_input",
            value=paths[0],
            allowed="values that are known at synth or at deploy time",
            fix="step(job_input=sfn.TaskInput.from_object(…)) in a state machine of your own",
        )
    return text


def require_input_fits(job_input: Mapping[str, object], run: JobRun, more: Sequence[str]) -> None:
    """Refuses an input that ECS never takes, also with a job whose name has one letter.

    What only a deploy knows is not counted, and neither is what JSON puts before a quote.

    Raises:
        InvalidValueError: It has too many characters.
    """
    told = {**variables_by_hand(run, name="x", job_input=""), **dict.fromkeys(more, "x")}
    environment = [{"name": name, "value": value} for name, value in told.items()]
    overrides = {"containerOverrides": [{"name": run.container, "environment": environment}]}
    # As Step Functions writes them.
    taken, size = (
        len(known_parts(json.dumps(each, separators=(",", ":"), ensure_ascii=False))) for each in (overrides, job_input)
    )
    if taken + size > _MOST_CHARACTERS:
        raise InvalidValueError(
            f"has {size} characters, and ECS takes {_MOST_CHARACTERS:,} for all that an attempt overrides, of which "
            f"the job's own variables are {taken}",
            argument="job_input",
            value=job_input,
            allowed=f"fewer than {_MOST_CHARACTERS - taken:,} characters",
            fix="keep it in Amazon S3, and give its place",
        )


def _leaves(value: object) -> Iterator[object]:
    """The values in a JSON document that is not too deep for JSON."""
    if isinstance(value, Mapping):
        yield from chain.from_iterable(map(_leaves, value.values()))
    elif isinstance(value, (list, tuple)):
        yield from chain.from_iterable(map(_leaves, value))
    else:
        yield value
