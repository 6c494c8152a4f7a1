"""What each attempt of a job runs and how often, and its state machine as a resource with an alarm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.arguments import exit_code, in_words, known_number, whole_seconds
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.same_place import service_of_this_account
from gpu_constructs.cdk.state_parts import State
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Unknown
from gpu_constructs.jobs.states import longest_seconds
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
_LONGEST_EXECUTION_SECONDS = 365 * 24 * 3600


def permissions_of(
    *, partition: str, region: str, account: str, cluster_arn: str, cluster_name: str, family: str, roles: Sequence[str]
) -> dict[str, object]:
    """The policy of the machine's role.

    Narrower than https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html, which takes every task. Any
    revision of the family may be run, so that an attempt that begins during a deployment may begin.
    """
    here = f"arn:{partition}:ecs:{region}:{account}"
    in_cluster = {"ArnEquals": {"ecs:cluster": cluster_arn}}
    rule = f"arn:{partition}:events:{region}:{account}:rule/StepFunctionsGetEventsForECSTaskRule"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "RunTheTask",
                "Effect": "Allow",
                "Action": "ecs:RunTask",
                "Resource": f"{here}:task-definition/{family}:*",
                "Condition": in_cluster,
            },
            {
                "Sid": "TagItAsItsDefinition",
                "Effect": "Allow",
                "Action": "ecs:TagResource",
                "Resource": f"{here}:task/{cluster_name}/*",
                "Condition": {"StringEquals": {"ecs:CreateAction": "RunTask"}},
            },
            {
                "Sid": "WatchAndStopIt",
                "Effect": "Allow",
                "Action": ["ecs:DescribeTasks", "ecs:ListTasks", "ecs:StopTask"],
                "Resource": "*",
                "Condition": in_cluster,
            },
            {
                "Sid": "HearOfItsEnd",
                "Effect": "Allow",
                "Action": ["events:DescribeRule", "events:PutRule", "events:PutTargets"],
                "Resource": rule,
            },
            {
                "Sid": "HandOverItsRoles",
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": list(roles),
                "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            },
        ],
    }


def machine_of_tasks(
    scope: Construct, hosts: ClusterHosts, task: GpuTaskDefinition, definition: State, name: str | None
) -> sfn.StateMachine:
    """Defines a state machine that runs the tasks of one task definition, and its role."""
    partition, region, account = hosts.place
    policy = permissions_of(
        partition=partition,
        region=region,
        account=account,
        cluster_arn=hosts.cluster_arn,
        cluster_name=hosts.cluster_name,
        family=task.family,
        roles=[task.task_role.role_arn, task.obtain_execution_role().role_arn],
    )
    role = iam.Role(
        scope,
        "Role",
        assumed_by=service_of_this_account("states.amazonaws.com"),
        inline_policies={"Run": iam.PolicyDocument.from_json(policy)},
    )
    return sfn.StateMachine(
        scope,
        "StateMachine",
        state_machine_name=name,
        role=role,
        definition_body=sfn.DefinitionBody.from_string(hosts.stack.to_json_string(definition)),
    )


def alarm_of(scope: Construct, machine: sfn.StateMachine) -> cloudwatch.Alarm:
    """Defines an alarm for jobs that failed, and for executions that passed the time of all their attempts."""
    dimensions = {"StateMachineArn": machine.state_machine_arn}
    counted = {
        name: cloudwatch.Metric(namespace="AWS/States", metric_name=metric, dimensions_map=dimensions, statistic="Sum")
        for name, metric in (("failed", "ExecutionsFailed"), ("late", "ExecutionsTimedOut"))
    }
    return cloudwatch.Alarm(
        scope,
        "Alarm",
        alarm_description="Jobs that failed for good; the cause of each execution says why",
        metric=cloudwatch.MathExpression(
            expression="FILL(failed, 0) + FILL(late, 0)", using_metrics=counted, label="Failed jobs"
        ),
        threshold=1,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )


def require_machine_name(name: str | None) -> None:
    """Refuses what Step Functions does not take as a name.

    Raises:
        InvalidValueError: It is none.
    """
    if name is not None and not is_token(name) and not NAME_FORM.fullmatch(name):
        raise InvalidValueError(
            f"{shown(name)} is not a name that Step Functions takes",
            argument="state_machine_name",
            value=name,
            allowed="letters, digits, _ and -, up to 80",
            fix="leave it out, and CloudFormation makes one",
        )


def attempt_seconds(argument: str, timeout: cdk.Duration, attempts: int) -> int:
    """The time of one attempt, of which one execution has room for all.

    Raises:
        InvalidValueError: It is less than a minute, too long, or only known at deploy time.
    """
    largest = (_LONGEST_EXECUTION_SECONDS - longest_seconds(0, attempts)) // attempts
    seconds = whole_seconds(argument, timeout, smallest=60)
    if isinstance(seconds, Unknown):
        raise InvalidValueError(
            "a time that is only known at deploy time does not bound the whole execution",
            argument=argument,
            fix="cdk.Duration.hours(6)",
        )
    if seconds > largest:
        raise InvalidValueError(
            f"{in_words(seconds)} for each of up to {attempts} attempts are more than the 365 days that an "
            "execution may take",
            argument=argument,
            value=seconds,
            allowed=f"up to {largest // 3600} hours with these retries",
            fix=f"cdk.Duration.hours({largest // 3600}), or fewer retries, such as JobRetries(no_host=1, lost_host=2)",
        )
    return seconds


NAME, ATTEMPT, INPUT, CHECKPOINTS = "JOB_NAME", "JOB_ATTEMPT", "JOB_INPUT", "JOB_CHECKPOINTS"
VARIABLES = frozenset({NAME, ATTEMPT, INPUT, CHECKPOINTS})
"""Variables of the job's container: the execution, which attempt it is, from 0, the execution's input as JSON, and
where it keeps what it resumes from."""

NAME_FORM = re.compile(r"[0-9A-Za-z_-]{1,80}", re.ASCII)
"""Of state machines and of executions:
https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What each attempt of a job runs.

    Attributes:
        partition: The partition of AWS.
        cluster: The ARN of the cluster.
        task_definition: The ARN of the task definition.
        family: Its family.
        container: The container whose exit code is that of the job.
        strategy: Items of the capacity provider strategy, as the API has them.
        network: The configuration of ``awsvpc``, as the API has it; None in other modes.
        packed: Whether tasks are packed onto hosts, which Managed Instances do by themselves.
        environment: More variables of that container.
        checkpoints: Where each job has a directory to resume from; None without.
        timeout_seconds: How long one attempt may take.
    """

    partition: str
    cluster: str
    task_definition: str
    family: str
    container: str
    strategy: Sequence[Mapping[str, object]]
    network: Mapping[str, Sequence[str]] | None
    packed: bool
    environment: Mapping[str, str]
    checkpoints: str | None
    timeout_seconds: int


def variables_by_hand(run: JobRun, *, name: str, job_input: str) -> dict[str, str]:
    """What a task that no state machine runs is given, as the first attempt of a job.

    Args:
        run: What a job runs.
        name: In place of the name of an execution.
        job_input: In place of its input, as JSON.
    """
    checkpoints = {} if run.checkpoints is None else {CHECKPOINTS: f"{run.checkpoints}{name}/"}
    return {NAME: name, ATTEMPT: "0", INPUT: job_input, **run.environment, **checkpoints}


_MOST = 100
_MOST_CODES = 10


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class JobRetries:
    """How often a job is run again, for each cause by itself; a job that ended well is never run again.

    Args:
        no_host: After no host came. ECS waits for one for 10 to 30 minutes each time, which cannot be configured, see
            https://github.com/aws/containers-roadmap/issues/2381. Each attempt has the same strategy: a retry does not
            move to the next capacity of `GpuCluster.add_fallback`.
        not_started: After a host came and the containers did not start, for example because an image was not pulled.
        lost_host: After the host was interrupted by EC2 Spot, terminated, or failed.
        exit_codes: After the job's container ended with one of these codes, 1 to 255: ``{75: 2}`` runs it again up to
            twice after code 75. Any other code than 0 fails the job at once.

    Raises:
        InvalidValueError: A number is not a whole one within its limits, or only known at deploy time.
    """

    no_host: int = 3
    not_started: int = 2
    lost_host: int = 5
    exit_codes: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("no_host", "not_started", "lost_host"):
            _times(name, getattr(self, name), fix=f"{name}=3")
        codes = self.exit_codes
        if not isinstance(codes, Mapping) or len(codes) > _MOST_CODES:
            raise InvalidValueError(
                f"expects retries by exit code, got {shown(codes)}",
                argument="exit_codes",
                value=codes,
                allowed=f"up to {_MOST_CODES} codes",
                fix="exit_codes={75: 2}",
            )
        for code, times in codes.items():
            exit_code("exit_codes", code, fix="exit_codes={75: 2}")
            _times("exit_codes", times, fix=f"exit_codes={{{code}: 2}}")
        object.__setattr__(self, "exit_codes", MappingProxyType(dict(sorted(codes.items()))))

    @property
    def attempts(self) -> int:
        """How often a job runs at most, the first attempt included."""
        # That ECS does not take a task at all is counted apart from a task that got no host, and from one that did
        # not start.
        return 1 + 2 * (self.no_host + self.not_started) + self.lost_host + sum(self.exit_codes.values())


def _times(argument: str, value: int, *, fix: str) -> None:
    known_number(argument, value, smallest=0, largest=_MOST, unit="retries", fix=fix, why="bounds no retries")
