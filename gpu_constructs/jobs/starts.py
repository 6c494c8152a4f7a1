"""What starts a job besides a person and a message: a schedule or a new object; and what it is started with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

from gpu_constructs.cdk.arguments import require_kind
from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.policies import service_of_this_account
from gpu_constructs.cdk.tokens import is_text_token, is_token
from gpu_constructs.cdk.validation import warn
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, shown, unexpected
from gpu_constructs.facts.values import dataclass
from gpu_constructs.jobs.data import INPUT, JobData
from gpu_constructs.jobs.messages import kept

# A job that could not even be started is tried again for an hour, and then kept.
_ATTEMPTS = 10
_AGE_HOURS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """New objects that start a job, and where that job writes."""

    job: str
    watched: str
    written: tuple[str, ...]

    def starts(self, other: _Watch, *, certainly: bool) -> bool:
        """Whether what its job writes starts another job; a place around the watched one may, and need not."""
        return any(
            each.startswith(other.watched) or (not certainly and other.watched.startswith(each))
            for each in self.written
        )


_OF_APP: WeakKeyDictionary[IConstruct, list[_Watch]] = WeakKeyDictionary()


def on_schedule(machine: sfn.IStateMachine, text: str, not_started: sqs.Queue) -> scheduler.IScheduleTarget:
    """What a schedule starts, and the queue for what it could not start."""
    return scheduler_targets.StepFunctionsStartExecution(
        machine,
        input=scheduler.ScheduleTargetInput.from_text(text),
        dead_letter_queue=not_started,
        retry_attempts=_ATTEMPTS,
        max_event_age=cdk.Duration.hours(_AGE_HOURS),
    )


def on_object(
    scope: Construct,
    construct_id: str,
    machine: sfn.StateMachine,
    *,
    bucket: s3.IBucket,
    prefix: str,
    written: Sequence[JobData],
) -> events.Rule:
    """Defines a rule of EventBridge for new objects of a bucket, and the queue for what it could not start."""
    watched = f"s3://{bucket.bucket_name}/{prefix}"
    others = _OF_APP.setdefault(scope.node.root, [])
    mine = _Watch(job=scope.node.path, watched=watched, written=tuple(each.location for each in written))
    for each in written:
        if each.location.startswith(watched):
            raise IncompatibleError(
                f"the job writes below {shown(each.prefix)} of the same bucket, so it would start itself again "
                "without an end",
                argument="prefix",
                value=prefix,
                allowed=f"one that {shown(each.prefix)} does not begin with",
                fix="prefix='in/' here, and JobData.s3(bucket, prefix='out/') for what it writes",
            )
    circle = _circle(mine, others, certainly=True)
    if len(circle) > 1:
        raise IncompatibleError(
            f"{_in_turn(circle)}: each writes what starts the next one, so they would start each other without an end",
            argument="prefix",
            value=prefix,
            allowed="one below which no job writes that this one starts",
            fix="another prefix of the bucket for what one of them writes",
        )
    detail: dict[str, object] = {"bucket": {"name": [bucket.bucket_name]}}
    if prefix:
        detail["object"] = {"key": [{"prefix": prefix}]}
    queue = kept(scope, f"{construct_id}NotStarted")
    bucket.enable_event_bridge_notification()
    # The role with which all rules start the job, under the id that CDK gives it.
    role = cast("iam.Role | None", machine.node.try_find_child("EventsRole"))
    rule = events.Rule(
        scope,
        construct_id,
        event_pattern=events.EventPattern(source=["aws.s3"], detail_type=["Object Created"], detail=detail),
        targets=[
            events_targets.SfnStateMachine(
                machine,
                role=role
                or iam.Role(machine, "EventsRole", assumed_by=service_of_this_account("events.amazonaws.com")),
                dead_letter_queue=queue,
                retry_attempts=_ATTEMPTS,
                max_event_age=cdk.Duration.hours(_AGE_HOURS),
            )
        ],
    )
    may_circle = _circle(mine, others, certainly=False)
    if len(may_circle) > 1:
        warn(
            rule,
            "jobs-in-a-circle",
            f"{_in_turn(may_circle)}: each may write what starts the next one; with a prefix of its own for what each "
            "of them reads and writes, none does",
        )
    others.append(mine)
    around = next((each for each in written if watched.startswith(each.location)), None)
    if around is not None:
        warn(
            rule,
            "own-objects",
            f"the job writes below {shown(around.prefix)} of the same bucket, and each object that it writes below "
            f"{shown(prefix)} starts it again; prefix='in/' here and JobData.s3(bucket, prefix='out/') differ",
        )
    return rule


def _circle(first: _Watch, others: Sequence[_Watch], *, certainly: bool) -> tuple[_Watch, ...]:
    """Jobs that start each other, from one to itself; none where nothing leads back to it."""
    ways: list[tuple[_Watch, ...]] = [(first,)]
    seen = {first}
    while ways:
        way = ways.pop(0)
        for each in (first, *others):
            if way[-1].starts(each, certainly=certainly):
                if each is first:
                    return way
                if each not in seen:
                    seen.add(each)
                    ways.append((*way, each))
    return ()


def _in_turn(circle: Sequence[_Watch]) -> str:
    return " → ".join([*(each.job for each in circle), circle[0].job])


def _require_field(job_input: Mapping[str, object], checkpoint_key: str) -> None:
    field = checkpoint_key.removeprefix(INPUT)
    if field == checkpoint_key:
        return
    found: object = job_input
    for step in field.split("."):
        if not isinstance(found, Mapping) or step not in found:
            raise InvalidValueError(
                f"has no {shown(field)}, which the directory of the checkpoints is named after",
                argument="job_input",
                value=job_input,
                fix=f"job_input={{{shown(field.partition('.')[0])}: …}}, or another checkpoint_key",
            )
        found = found[step]


def text_of(job_input: Mapping[str, object], checkpoint_key: str = "") -> str:
    """The input of a job as JSON."""
    require_kind("job_input", job_input, Mapping, example="{'epochs': 3}")
    try:
        text = json.dumps(job_input, allow_nan=False)
    except (TypeError, ValueError):
        raise unexpected("job_input", job_input, "what can be written as JSON", fix="job_input={'epochs': 3}") from None
    _require_field(job_input, checkpoint_key)
    if any(is_token(each) and not is_text_token(each) for each in _leaves(job_input)):
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


def _leaves(value: object) -> Iterator[object]:
    """The values in a JSON document that is not too deep for JSON."""
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, (Mapping, list, tuple)):
        for each in inner:  # type: ignore[attr-defined]
            yield from _leaves(each)
    else:
        yield value
