"""Messages of a queue that become jobs, as many at once as there is room for, and none of which is lost.

EventBridge Pipes deletes a message as soon as a standard state machine has begun
(https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-sqs.html), and starts as many as there are. So a
state machine takes them: an execution is a worker, which takes one message, runs its job, and deletes the message when
the job has ended well, or has put it into the queue of what failed. Every minute a schedule starts a worker, which ends
where no message waits or enough workers run; each that has a message starts the next one, and another when it is done.

ListExecutions says a moment late what runs. So a worker waits before it counts, and counts itself: of workers that
begin at once rather too few go on, which the next minute mends, than too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

from gpu_constructs.cdk.arguments import in_words, known_number
from gpu_constructs.cdk.calls import stack_of
from gpu_constructs.cdk.policies import allowed, policy_of, service_of_this_account
from gpu_constructs.cdk.state_parts import (
    State,
    call,
    if_state,
    is_there,
    pass_state,
    text_is,
    text_matches,
    waiting_for,
)
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.fleet import Unknown

MOST_WORKERS = 999
"""ListExecutions gives out a thousand at once."""
HELD_SECONDS = 12 * 3600
"""How long SQS keeps a message from others after it was received:
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html"""

_MARGIN_SECONDS = 600
# Until ListExecutions has what began before.
_SETTLE_SECONDS = 5
# Until the message is held for as long as its job may take.
_TAKING_SECONDS = 60
# A worker that takes it again finds that its job is running, or that the worker before was stopped.
_RECEIVES = ("1", "2", "3")
_MESSAGE = "$.got.Messages[0]"
_TAKEN = ("StepFunctions.ExecutionAlreadyExists", "StepFunctions.ExecutionAlreadyExistsException")

_READ_BY: WeakKeyDictionary[IConstruct, dict[str, str]] = WeakKeyDictionary()


def worker_of(*, partition: str, queue: str, failed: str, job: str, most: int, longest_seconds: int) -> State:
    """The definition of the state machine whose executions are workers.

    Queues are given by their URLs, and the job by the ARN of its state machine; `longest_seconds` is how long it takes
    at most, with all attempts.
    """
    of_queue, receipt = {"QueueUrl": queue}, {"ReceiptHandle.$": f"{_MESSAGE}.ReceiptHandle"}
    waiting = "$.queue.Attributes.ApproximateNumberOfMessages"
    body, myself = f"{_MESSAGE}.Body", {"StateMachineArn.$": "$$.StateMachine.Id"}
    of_job = {"StateMachineArn": job, "Input.$": "$.job.input"}

    asks = partial(call, partition)

    def runs(request: State, *catches: State) -> State:
        failed = {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "KeepFailed"}
        return {
            "Type": "Task",
            "Resource": f"arn:{partition}:states:::states:startExecution.sync:2",
            "Parameters": request,
            "ResultSelector": {"arn.$": "$.ExecutionArn"},
            "ResultPath": "$.ran",
            "Catch": [*catches, failed],
            "Next": "Delete",
        }

    attributes = {**of_queue, "AttributeNames": ["ApproximateNumberOfMessages"]}
    running = {**myself, "StatusFilter": "RUNNING", "MaxResults": most + 1}
    take = {
        **of_queue,
        "AttributeNames": ["ApproximateReceiveCount"],
        "MaxNumberOfMessages": 1,
        "VisibilityTimeout": _TAKING_SECONDS,
    }
    held = min(longest_seconds + _MARGIN_SECONDS, HELD_SECONDS - _TAKING_SECONDS)
    few = [text_is(f"{_MESSAGE}.Attributes.ApproximateReceiveCount", each) for each in _RECEIVES]
    like_json = [text_matches(body, each) for each in ("{*", "[*")]
    why = {"DataType": "String", "StringValue.$": "States.Format('{}: {}', $.error.Error, $.error.Cause)"}
    given_up = {"Error": "ReceivedTooOften", "Cause": f"it came back {len(_RECEIVES)} times without an end of its job"}
    states: State = {
        "Look": asks("aws-sdk:sqs:getQueueAttributes", attributes, "$.queue", "IsAnyWaiting"),
        "IsAnyWaiting": if_state(text_is(waiting, "0"), "Done", "Settle"),
        "Settle": {"Type": "Wait", "Seconds": _SETTLE_SECONDS, "Next": "Count"},
        "Count": {
            **asks("aws-sdk:sfn:listExecutions", running, "$.workers", "IsRoom"),
            "ResultSelector": {"arns.$": "$.Executions[*].ExecutionArn"},
        },
        "IsRoom": if_state(is_there(f"$.workers.arns[{most}]"), "Done", "Take"),
        "Take": asks("aws-sdk:sqs:receiveMessage", take, "$.got", "IsTaken"),
        "IsTaken": if_state(is_there(_MESSAGE), "StartNext", "Done"),
        "StartNext": asks("aws-sdk:sfn:startExecution", {**myself, "Input": "{}"}, "$.next", "IsNew"),
        "IsNew": if_state({"Or": few}, "IsJson", "GiveUp"),
        "IsJson": if_state({"Or": like_json}, "AsJson", "AsText"),
        "AsJson": pass_state({"input.$": f"States.StringToJson({body})"}, "$.job", "Hold"),
        "AsText": pass_state({"input.$": f"States.JsonToString({body})"}, "$.job", "Hold"),
        "Hold": asks(
            "aws-sdk:sqs:changeMessageVisibility", {**of_queue, **receipt, "VisibilityTimeout": held}, "$.held", "Run"
        ),
        # With the name of the message, a job that still runs is joined instead of run twice.
        "Run": runs(
            {**of_job, "Name.$": f"{_MESSAGE}.MessageId"},
            {"ErrorEquals": list(_TAKEN), "ResultPath": "$.error", "Next": "RunAgain"},
        ),
        "RunAgain": runs(of_job),
        "GiveUp": {"Type": "Pass", "Result": given_up, "ResultPath": "$.error", "Next": "KeepFailed"},
        "KeepFailed": asks(
            "sqs:sendMessage",
            {"QueueUrl": failed, "MessageBody.$": body, "MessageAttributes": {"Why": why}},
            "$.kept",
            "Delete",
        ),
        "Delete": asks("aws-sdk:sqs:deleteMessage", {**of_queue, **receipt}, "$.deleted", "StartAnother"),
        "StartAnother": {
            **call(partition, "aws-sdk:sfn:startExecution", {**myself, "Input": "{}"}),
            "End": True,
        },
        "Done": {"Type": "Succeed"},
    }
    return {
        "Comment": f"Takes a message and runs its job, of which {most} run at once",
        "StartAt": "Look",
        "TimeoutSeconds": min(longest_seconds + _MARGIN_SECONDS, 365 * 24 * 3600),
        "States": states,
    }


def most_at_once(given: int | None, slots: Sequence[int | Unknown]) -> int:
    """How many jobs run at once: as given, or as many as the capacity holds."""
    fix = "max_concurrent=8"
    if given is not None:
        why = "bounds nothing"
        return known_number("max_concurrent", given, smallest=1, largest=MOST_WORKERS, unit="jobs", fix=fix, why=why)
    known = [each for each in slots if not isinstance(each, Unknown)]
    if len(known) < len(slots):
        text = "it is not known how many of these tasks the capacity holds"
        raise InvalidValueError(text, argument="max_concurrent", allowed=f"1 to {MOST_WORKERS}", fix=fix)
    return min(max(sum(known), 1), MOST_WORKERS)


def require_queue(scope: Construct, queue: sqs.IQueue, failed: sqs.IQueue | None, attempt_seconds: int) -> None:
    """Refuses a queue that gives a message to two, and a queue of failures that nothing could be sent to."""
    readers = _READ_BY.setdefault(scope.node.root, {})
    wrong = None
    if reader := readers.get(queue.queue_arn):
        wrong = (
            "queue",
            f"{reader} takes the messages of this queue, and each message goes to one reader alone",
            "a queue for each job",
        )
    elif attempt_seconds > HELD_SECONDS:
        wrong = (
            "timeout",
            f"SQS holds a message for {in_words(HELD_SECONDS)}, and one attempt may take {in_words(attempt_seconds)}",
            "a GpuBatchQueue for longer jobs, or shorter ones that resume from checkpoints",
        )
    elif failed is not None and (failed.queue_arn == queue.queue_arn or failed.fifo):
        text = "what failed would start again" if failed.queue_arn == queue.queue_arn else "it has no order to keep"
        wrong = ("dead_letter_queue", text, "a standard queue of its own, or leave it out")
    if wrong is not None:
        raise IncompatibleError(wrong[1], argument=wrong[0], fix=wrong[2])
    readers[queue.queue_arn] = scope.node.path


def kept(scope: Construct, construct_id: str) -> sqs.Queue:
    """Defines a queue that keeps for two weeks what went wrong."""
    return sqs.Queue(scope, construct_id, enforce_ssl=True, retention_period=cdk.Duration.days(14))


def from_queue(
    scope: Construct,
    construct_id: str,
    machine: sfn.StateMachine,
    *,
    queue: sqs.IQueue,
    failed: sqs.IQueue | None,
    most: int,
    longest_seconds: int,
    max_age: cdk.Duration | None,
) -> cloudwatch.Alarm:
    """Defines the workers of a queue, what starts them, and the alarm for a queue that does not move."""
    stack = stack_of(scope)
    failures = failed or kept(scope, f"{construct_id}Failed")
    role = iam.Role(scope, f"{construct_id}Role", assumed_by=service_of_this_account("states.amazonaws.com"))
    queue.grant_consume_messages(role)
    failures.grant_send_messages(role)
    machine.grant_start_execution(role)
    for each in waiting_for(machine, stack):
        role.add_to_policy(iam.PolicyStatement.from_json(each))
    definition = worker_of(
        partition=stack.partition,
        queue=queue.queue_url,
        failed=failures.queue_url,
        job=machine.state_machine_arn,
        most=most,
        longest_seconds=longest_seconds,
    )
    workers = sfn.StateMachine(
        scope,
        f"{construct_id}Workers",
        role=role,
        definition_body=sfn.DefinitionBody.from_string(stack.to_json_string(definition)),
    )
    # Not in the policy that the machine waits for.
    own = allowed(None, ["states:ListExecutions", "states:StartExecution"], workers.state_machine_arn)
    itself = iam.Policy(scope, f"{construct_id}Itself", roles=[role], document=policy_of(own))
    every_minute = scheduler.Schedule(
        scope,
        f"{construct_id}EveryMinute",
        schedule=scheduler.ScheduleExpression.rate(cdk.Duration.minutes(1)),
        target=scheduler_targets.StepFunctionsStartExecution(
            workers, input=scheduler.ScheduleTargetInput.from_text("{}"), retry_attempts=0
        ),
    )
    every_minute.node.add_dependency(itself)
    return _alarm(scope, f"{construct_id}Alarm", queue, max_age)


def _alarm(scope: Construct, name: str, queue: sqs.IQueue, max_age: cdk.Duration | None) -> cloudwatch.Alarm:
    """For messages that wait while no job runs; with an age, for one that is older, its job included."""
    period = cdk.Duration.minutes(5)
    counted: dict[str, cloudwatch.IMetric] = {
        "waiting": queue.metric_approximate_number_of_messages_visible(period=period, statistic="Minimum"),
        "held": queue.metric_approximate_number_of_messages_not_visible(period=period, statistic="Maximum"),
    }
    idle = cloudwatch.MathExpression(
        expression="IF(waiting > 0 AND held < 1, 1, 0)", using_metrics=counted, period=period, label="Waits for nothing"
    )
    return cloudwatch.Alarm(
        scope,
        name,
        alarm_description="Messages wait, and no job is started for them",
        metric=idle if max_age is None else queue.metric_approximate_age_of_oldest_message(),
        threshold=0 if max_age is None else max_age.to_seconds(),
        evaluation_periods=3 if max_age is None else 1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
