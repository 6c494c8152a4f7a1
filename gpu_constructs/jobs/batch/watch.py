"""What watches a queue of AWS Batch: notices of jobs that failed and of a queue that is blocked, and an alarm.

AWS Batch sends no metrics of its own. It reports jobs that ended and a first job that it knows to be stuck as events
(https://docs.aws.amazon.com/batch/latest/userguide/batch_cwe_events.html). It reports neither a compute environment
that is invalid beside others nor a job whose hosts never join, so a state machine looks for these.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.arguments import in_words
from gpu_constructs.cdk.policies import allowed, policy_of
from gpu_constructs.cdk.state_parts import (
    State,
    alarm_of_executions,
    call,
    choice_state,
    fail_state,
    if_state,
    is_there,
    pass_state,
    started_by_events,
    state_machine,
)
from gpu_constructs.cluster.monitoring.gpu_monitoring import let_alarms_publish, let_rules_publish

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns

    from gpu_constructs.jobs.batch.queue import GpuBatchQueue

_JOB = {"name": "$.detail.jobName", "id": "$.detail.jobId", "reason": "$.detail.statusReason"}
_ENDED = {**_JOB, "code": "$.detail.container.exitCode", "stream": "$.detail.container.logStreamName"}
_PAGE = "gpu_constructs, docs/batch.md"
_NO = [{"exists": False}]
_NOT_A_PART = {"arrayProperties": {"index": _NO}, "nodeDetails": {"nodeIndex": _NO}}
"""The job itself: of an array of 10,000 jobs, and of the nodes of a gang, there is one notice."""


class BatchWatch(Construct):
    """Watches a queue of AWS Batch; made by `GpuBatchQueue.watch`.

    Attributes:
        failed: The rule for jobs that failed, were cancelled or terminated.
        blocked: The rule for a first job that AWS Batch knows to be stuck.
        state_machine: Looks for a first job that does not start, and for environments that are invalid.
        alarm: Goes off where an execution of it has found one; its cause says which.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, queue: GpuBatchQueue, notify: sns.ITopic, stuck_seconds: int
    ) -> None:
        super().__init__(scope, construct_id)
        stack, arn = queue.hosts.stack, queue.job_queue.job_queue_arn
        partition = stack.partition
        self.failed: events.CfnRule = self._notice(
            "Failed",
            notify,
            {
                "detail-type": ["Batch Job State Change"],
                "detail": {"jobQueue": [arn], "status": ["FAILED"], **_NOT_A_PART},
            },
            _ENDED,
            f"GPU job <name> (<id>) failed: <reason>. Exit code: <code>. Log stream: <stream>. More: {_PAGE}",
        )
        self.blocked: events.CfnRule = self._notice(
            "Blocked",
            notify,
            {"detail-type": ["Batch Job Queue Blocked"], "detail": {"jobQueue": [arn]}},
            _JOB,
            f"GPU job <name> (<id>) does not start and blocks its queue: <reason>. More: {_PAGE}",
        )
        environments = [each.compute_environment.attr_compute_environment_arn for each in queue.environments]
        # Lists and environments have no resource: list_awsbatch.html of the service authorization reference.
        lists = allowed("List", ["batch:DescribeComputeEnvironments", "batch:ListJobs"], "*")
        self.state_machine: sfn.StateMachine
        self.state_machine, _ = state_machine(
            self,
            definition=stack.to_json_string(_definition(partition, arn, environments, stuck_seconds)),
            allowed_to="Look",
            policy=policy_of(allowed("Look", "batch:GetJobQueueSnapshot", arn), lists),
        )
        target = started_by_events(self, self.state_machine)
        minutes = stuck_seconds // 60
        events.CfnRule(
            self,
            "Looks",
            description="Looks for jobs that do not start",
            schedule_expression=f"rate({minutes} minutes)",
            targets=[target],
        )
        self.alarm: cloudwatch.Alarm = alarm_of_executions(
            self,
            self.state_machine,
            description="The first job of a queue of AWS Batch does not start, or a compute environment is invalid; "
            f"the cause of the last execution says which. More: {_PAGE}",
            label="Looks that found something",
            # Until a look finds nothing: one notice, not one for each look.
            periods=stuck_seconds // 300 + 2,
        )
        self.alarm.add_alarm_action(actions.SnsAction(notify))
        place = partition, stack.region, stack.account
        let_alarms_publish(self, notify, place)
        let_rules_publish(self, notify, [self.failed, self.blocked], place)

    def _notice(
        self, name: str, notify: sns.ITopic, pattern: dict[str, Any], paths: dict[str, str], words: str
    ) -> events.CfnRule:
        return events.CfnRule(
            self,
            name,
            event_pattern={"source": ["aws.batch"], **pattern},
            targets=[
                events.CfnRule.TargetProperty(
                    id="Notify",
                    arn=notify.topic_arn,
                    input_transformer=events.CfnRule.InputTransformerProperty(
                        input_paths_map=paths, input_template=f'"{words}"'
                    ),
                )
            ],
        )


def _definition(partition: str, queue: str, environments: list[str], seconds: int) -> State:
    """Looks twice; where the same job is first from the one to the other and none has a host, the queue is stuck."""
    asks, of_queue = partial(call, partition), {"JobQueue": queue}
    first = partial(asks, "aws-sdk:batch:getJobQueueSnapshot", of_queue)

    def jobs(status: str, following: str) -> State:
        return asks("aws-sdk:batch:listJobs", {**of_queue, "JobStatus": status}, f"$.{status}", following)

    invalid = "$.found.ComputeEnvironments[?(@.Status == 'INVALID')]"
    job, before = "$.now.FrontOfQueue.Jobs[0]", "$.before.FrontOfQueue.Jobs[0]"
    is_same = [
        is_there(f"{job}.JobArn"),
        {"Variable": f"{job}.JobArn", "StringEqualsPath": f"{before}.JobArn"},
        {"Variable": f"{job}.EarliestTimeAtPosition", "NumericEqualsPath": f"{before}.EarliestTimeAtPosition"},
    ]
    return {
        "Comment": "Looks for jobs that do not start",
        "StartAt": "Environments",
        "TimeoutSeconds": seconds + 900,
        "States": {
            "Environments": asks(
                "aws-sdk:batch:describeComputeEnvironments",
                {"ComputeEnvironments": environments},
                "$.found",
                "Invalid",
            ),
            "Invalid": pass_state({"environments.$": invalid}, "$.invalid", "AnyInvalid"),
            "AnyInvalid": if_state(is_there("$.invalid.environments[0]"), "EnvironmentInvalid", "Before"),
            "EnvironmentInvalid": fail_state(
                "EnvironmentInvalid",
                "compute environment {} is invalid: {}",
                "$.invalid.environments[0].ComputeEnvironmentName",
                "$.invalid.environments[0].StatusReason",
            ),
            "Before": first("$.before", "AnyWaits"),
            "AnyWaits": if_state(is_there(f"{before}.JobArn"), "Wait", "Fine"),
            "Wait": {"Type": "Wait", "Seconds": seconds, "Next": "Now"},
            "Now": first("$.now", "IsSame"),
            "IsSame": if_state({"And": is_same}, "Starting", "Fine"),
            "Starting": jobs("STARTING", "Running"),
            "Running": jobs("RUNNING", "AnyRuns"),
            # While jobs run, others wait for their hosts: that is what a queue is for.
            "AnyRuns": choice_state(
                [
                    {**is_there("$.STARTING.JobSummaryList[0]"), "Next": "Fine"},
                    {**is_there("$.RUNNING.JobSummaryList[0]"), "Next": "Fine"},
                ],
                "Stuck",
            ),
            "Stuck": fail_state(
                "Stuck",
                f"job {{}} has been first for {in_words(seconds)}, and no job of the queue has a host",
                f"{job}.JobArn",
            ),
            "Fine": {"Type": "Succeed"},
        },
    }
