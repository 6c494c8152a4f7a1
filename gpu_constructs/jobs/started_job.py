"""What starts a job: a person, a schedule, a queue, a new object, or a state machine of the user's own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_pipes as pipes
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as sfn_tasks
from constructs import Construct, IDependable

from gpu_constructs.cdk.arguments import require_kind, whole_seconds
from gpu_constructs.cdk.calls import taken
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.same_place import service_of_this_account
from gpu_constructs.cdk.state_parts import State
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import IncompatibleError, shown
from gpu_constructs.jobs.data import JobData, JobPlaces, require_key
from gpu_constructs.jobs.job_run import JobRun
from gpu_constructs.jobs.machine import alarm_of, machine_of_tasks
from gpu_constructs.jobs.starts import like_time_zone, require_input_fits, require_schedule, text_of
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.workload import keep_old_revisions

# A job that could not even be started is tried again for an hour, and then kept for two weeks.
_ATTEMPTS = 10
_AGE_HOURS = 1
_KEPT_DAYS = 14


class StartedJob(Construct):
    """A job with its state machine, and everything that may start it."""

    state_machine: sfn.StateMachine
    alarm: cloudwatch.Alarm
    task_definition: GpuTaskDefinition
    data: tuple[JobData, ...]
    _hosts: ClusterHosts
    _places: JobPlaces
    _run: JobRun
    _more: tuple[str, ...] = ()
    """Variables that tasks get besides, each with a letter at least."""

    def _define_machine(
        self,
        definition: State,
        *,
        hosts: ClusterHosts,
        task: GpuTaskDefinition,
        places: JobPlaces,
        name: str | None,
        after: Sequence[IDependable] = (),
    ) -> None:
        """Defines what every start of it starts, and what it needs for that."""
        self.task_definition = task
        self.state_machine = machine_of_tasks(self, hosts, task, definition, name)
        self.alarm = alarm_of(self, self.state_machine)
        self.data = places.every
        self._places = places
        places.grant(task.task_role)
        # An execution goes on with the revision that it began with.
        keep_old_revisions(task)
        # A provider cannot leave the cluster while a task uses it.
        self.state_machine.node.add_dependency(hosts.association.services_depend_on, *after)
        self._hosts = hosts
        hosts.add_alarm(self.alarm)

    @checked
    def start_command(self, *, job_input: Mapping[str, object] | None = None) -> str:
        """The command that starts the job now, as text for an output.

        Args:
            job_input: What the job gets as ``JOB_INPUT``. By default an empty object.

        Raises:
            InvalidValueError: It cannot be written as JSON, or an attempt cannot get it.
            RefusedByCdkError: A text in it has a field of a state in its middle.
        """
        command = f"aws stepfunctions start-execution --state-machine-arn {self.state_machine.state_machine_arn}"
        if job_input is None:
            return command
        return f"{command} --input {shlex.quote(self._text_of(job_input))}"

    @checked
    def run_on_schedule(
        self,
        construct_id: str,
        *,
        schedule: scheduler.ScheduleExpression,
        job_input: Mapping[str, object] | None = None,
        schedule_name: str | None = None,
        enabled: bool = True,
    ) -> scheduler.Schedule:
        """Starts the job by EventBridge Scheduler; a start that fails for an hour goes to a queue.

        A job that still runs when the next one is due goes on: both run.

        Args:
            construct_id: The id of the schedule in the job.
            schedule: When, such as ``scheduler.ScheduleExpression.cron(hour="2", minute="0")``.
            job_input: What the job gets as ``JOB_INPUT``. By default an empty object.
            schedule_name: The name of the schedule. By default CloudFormation makes one.
            enabled: Whether it starts anything yet.

        Returns:
            CDK's schedule.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        self._require_free(construct_id)
        example = "scheduler.ScheduleExpression.cron(hour='2', minute='0')"
        require_kind("schedule", schedule, scheduler.ScheduleExpression, example=example)
        require_schedule(schedule, schedule_name)
        text = self._text_of(job_input or {})
        zone = schedule.time_zone
        like = None if zone is None or is_token(zone.timezone_name) else like_time_zone(zone.timezone_name)
        queue_id = f"{construct_id}NotStarted"
        queue = self._not_started(queue_id)
        made = scheduler.Schedule(
            self,
            construct_id,
            schedule=schedule,
            schedule_name=schedule_name,
            enabled=enabled,
            target=scheduler_targets.StepFunctionsStartExecution(
                self.state_machine,
                input=scheduler.ScheduleTargetInput.from_text(text),
                dead_letter_queue=queue,
                retry_attempts=_ATTEMPTS,
                max_event_age=cdk.Duration.hours(_AGE_HOURS),
            ),
        )
        if zone is not None and like is not None:
            meant = f"; did you mean {' or '.join(like)}?" if like else ""
            text = f"the IANA database of this computer has no time zone {shown(zone.timezone_name)}{meant}"
            cdk.Validations.of(made).add_warning("gpu-constructs::time-zone", text)
        return made

    @checked
    def run_from_queue(
        self, construct_id: str, *, queue: sqs.IQueue, max_message_age: cdk.Duration | None = None
    ) -> cloudwatch.Alarm:
        """Starts one job for each message of a queue, by EventBridge Pipes.

        ``JOB_INPUT`` is a list with the one message, its text under ``body``. A message is deleted once its job has
        begun, so that no job runs twice because a message comes back; what the job then does is in its execution. All
        messages start at once, and wait for hosts as tasks, up to 500 of a cluster. For more, a service with
        ``ScaleBy.queue`` takes messages as it has hosts.

        Args:
            construct_id: The id of the pipe in the job.
            queue: The queue. Messages that start nothing go to its own dead-letter queue, if it has one.
            max_message_age: How old its oldest message may be before the alarm goes off. By default 15 minutes.

        Returns:
            The alarm for a queue that does not move.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            IncompatibleError: The queue is in another region.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        self._require_free(construct_id)
        self._require_here("queue", queue)
        limit = max_message_age or cdk.Duration.minutes(15)
        whole_seconds("max_message_age", limit, smallest=60)
        role_id, alarm_id = f"{construct_id}Role", f"{construct_id}Alarm"
        role = iam.Role(self, role_id, assumed_by=service_of_this_account("pipes.amazonaws.com"))
        queue.grant_consume_messages(role)
        self.state_machine.grant_start_execution(role)
        pipe = pipes.CfnPipe(
            self,
            construct_id,
            role_arn=role.role_arn,
            source=queue.queue_arn,
            target=self.state_machine.state_machine_arn,
            source_parameters=pipes.CfnPipe.PipeSourceParametersProperty(
                sqs_queue_parameters=pipes.CfnPipe.PipeSourceSqsQueueParametersProperty(batch_size=1)
            ),
            target_parameters=pipes.CfnPipe.PipeTargetParametersProperty(
                # Of a standard state machine, a pipe waits for no end.
                step_function_state_machine_parameters=pipes.CfnPipe.PipeTargetStateMachineParametersProperty(
                    invocation_type="FIRE_AND_FORGET"
                )
            ),
        )
        # A pipe reads its queue as soon as it is there.
        pipe.node.add_dependency(role)
        alarm = cloudwatch.Alarm(
            self,
            alarm_id,
            alarm_description="Messages wait, and no job is started for them",
            metric=queue.metric_approximate_age_of_oldest_message(),
            threshold=limit.to_seconds(),
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        self._hosts.add_alarm(alarm)
        return alarm

    @checked
    def run_on_object(self, construct_id: str, *, bucket: s3.IBucket, prefix: str = "") -> events.Rule:
        """Starts one job for each new object of a bucket, by EventBridge.

        A start that fails for an hour goes to a queue. ``JOB_INPUT`` is the event, with ``detail.bucket.name`` and
        ``detail.object.key``. The job does not write below that prefix: each object would start another job.

        Args:
            construct_id: The id of the rule in the job.
            bucket: The bucket, which then sends its events to EventBridge.
            prefix: The beginning of the keys. By default all objects.

        Returns:
            CDK's rule.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            IncompatibleError: The job writes there, or the bucket is in another region.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        self._require_free(construct_id)
        self._require_here("bucket", bucket)
        watched = f"s3://{bucket.bucket_name}/{prefix}"
        for each in self._places.written:
            if each.location.startswith(watched):
                raise IncompatibleError(
                    f"the job writes below {shown(each.prefix)} of the same bucket, so it would start itself again "
                    "without an end",
                    argument="prefix",
                    value=prefix,
                    allowed=f"one that {shown(each.prefix)} does not begin with",
                    fix="prefix='in/' here, and JobData.s3(bucket, prefix='out/') for what it writes",
                )
        require_key("prefix", prefix)
        queue_id = f"{construct_id}NotStarted"
        detail: dict[str, object] = {"bucket": {"name": [bucket.bucket_name]}}
        if prefix:
            detail["object"] = {"key": [{"prefix": prefix}]}
        queue = self._not_started(queue_id)
        bucket.enable_event_bridge_notification()
        rule = events.Rule(
            self,
            construct_id,
            event_pattern=events.EventPattern(source=["aws.s3"], detail_type=["Object Created"], detail=detail),
            targets=[
                events_targets.SfnStateMachine(
                    self.state_machine,
                    role=self._role_of_events(),
                    dead_letter_queue=queue,
                    retry_attempts=_ATTEMPTS,
                    max_event_age=cdk.Duration.hours(_AGE_HOURS),
                )
            ],
        )
        around = next((each for each in self._places.written if watched.startswith(each.location)), None)
        if around is not None:
            cdk.Annotations.of(rule).add_warning_v2(
                "gpu-constructs:StartedJob.own_objects",
                f"the job writes below {shown(around.prefix)} of the same bucket, and each object that it writes below "
                f"{shown(prefix)} starts it again; prefix='in/' here and JobData.s3(bucket, prefix='out/') differ",
            )
        return rule

    @checked
    def step(
        self, scope: Construct, construct_id: str, *, job_input: sfn.TaskInput | None = None
    ) -> sfn_tasks.StepFunctionsStartExecution:
        """A step of a state machine of your own, which waits until the job has ended and fails with it.

        Its errors are ``States.TaskFailed``; the cause has the job's own error and cause. Do not retry it without a
        budget: the job has tried already.

        Args:
            scope: Where the step is defined.
            construct_id: Its id in that scope, which is the name of the state.
            job_input: What the job gets as ``JOB_INPUT``. By default the input of the state.

        Raises:
            InvalidValueError: An argument is wrong by itself.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        if job_input is not None:
            require_kind("job_input", job_input, sfn.TaskInput, example="sfn.TaskInput.from_object({'epochs': 3})")
        return sfn_tasks.StepFunctionsStartExecution(
            scope,
            construct_id,
            state_machine=self.state_machine,
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
            input=job_input,
        )

    def _text_of(self, job_input: Mapping[str, object]) -> str:
        text = text_of(job_input)
        require_input_fits(job_input, self._run, self._more)
        return text

    def _require_here(self, argument: str, source: s3.IBucket | sqs.IQueue) -> None:
        """Refuses what is certain to be in another region, whose events come neither to a rule nor to a pipe here."""
        there, here = source.env.region, cdk.Stack.of(self).region
        if there != here and not is_token(there) and not is_token(here):
            raise IncompatibleError(
                f"it is in {there}, and the job in {here}, where nothing hears of it",
                argument=argument,
                value=there,
                allowed=f"one in {here}",
                fix=f"a {argument} in {here}, or the job in {there}",
            )

    def _role_of_events(self) -> iam.IRole:
        """The role with which all rules start the job, under the id that CDK gives it."""
        made = cast("iam.Role | None", self.state_machine.node.try_find_child("EventsRole"))
        return made or iam.Role(
            self.state_machine, "EventsRole", assumed_by=service_of_this_account("events.amazonaws.com")
        )

    def _require_free(self, construct_id: str) -> None:
        """Refuses an id that is taken before an id made of it is."""
        if self.node.try_find_child(construct_id) is not None:
            raise taken(construct_id, self.node.path)

    def _not_started(self, construct_id: str) -> sqs.Queue:
        """What could not be started."""
        return sqs.Queue(self, construct_id, enforce_ssl=True, retention_period=cdk.Duration.days(_KEPT_DAYS))
