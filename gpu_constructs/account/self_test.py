"""The self-test: do GPUs give what their types should? A task on each kind of host shows it; this changes something.

::

    from gpu_constructs.account.calls import clients_of
    from gpu_constructs.account.self_test import Request, run_self_test

    end = run_self_test(clients_of(None), Request(cluster="demo", capacity=("L4",)))
    for check in end.checks:
        print(check.name, check.about, check.passed, check.text)
    print("left behind:", *end.left)

Tasks start, end, and are judged by their logs; whatever happens, they are stopped.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from gpu_constructs.account.answers import (
    Thing,
    UnansweredError,
    answers,
    number,
    policy,
    short_name,
    text,
    texts,
    thing,
    things,
)
from gpu_constructs.account.calls import Calls, Clients
from gpu_constructs.account.live.hosts import RegisteredHost, registered_hosts
from gpu_constructs.account.live.self_test import (
    CONTAINER,
    END,
    FAMILY,
    Request,
    Target,
    judged,
    read_self_test,
    targets_of,
    task_definition,
)
from gpu_constructs.account.live.subjects import why_stopped
from gpu_constructs.account.live.verified import Look
from gpu_constructs.account.live_cluster import hosts_of
from gpu_constructs.errors import QUOTE, GpuConstructsError, InvalidValueError, brief, counted
from gpu_constructs.facts.budget import BYTES, LABEL
from gpu_constructs.facts.values import dataclass

__all__ = ["POLICY", "Request", "SelfTestEnd", "run_self_test"]

_READS = (
    "autoscaling:DescribeAutoScalingGroups",
    "cloudformation:ListStackResources",
    "ec2:DescribeLaunchTemplateVersions",
    "ecs:DescribeCapacityProviders",
    "ecs:DescribeClusters",
    "ecs:DescribeContainerInstances",
    "ecs:DescribeTasks",
    "ecs:ListContainerInstances",
    "ecs:ListTasks",
)
_GROUP = f"arn:aws:logs:*:*:log-group:{FAMILY}"
POLICY: Final[Mapping[str, object]] = policy(
    {
        "*": (*_READS, "ecs:DeregisterTaskDefinition", "ecs:RegisterTaskDefinition"),
        f"arn:aws:ecs:*:*:task-definition/{FAMILY}:*": ("ecs:RunTask",),
        "arn:aws:ecs:*:*:task/*": ("ecs:StopTask",),
        _GROUP: ("logs:CreateLogGroup", "logs:PutRetentionPolicy"),
        f"{_GROUP}:*": ("logs:CreateLogGroup", "logs:GetLogEvents", "logs:PutRetentionPolicy"),
    }
)
"""The least policy of IAM that it needs."""

_NAME = "self-test"
_POLL_SECONDS = 10
_LOG_SECONDS = 60
"""Seconds that the last lines of a log may take to arrive."""

_DAYS_KEPT = 7
_IF_DENIED = "gpu-constructs run-self-test --policy prints the policy"
_NEEDED = frozenset({"ecs:ListContainerInstances", "ecs:DescribeContainerInstances"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestEnd:
    """How a self-test ended.

    Attributes:
        checks: What was found on each host; the one named ``self-test`` is None where a host was not tested.
        left: What is left behind in the account, in words.
    """

    checks: tuple[Look, ...]
    left: tuple[str, ...]

    @property
    def succeeded(self) -> bool:
        """Whether every test ran, and no check failed; some may not have been checked, such as NCCL."""
        return all(each.passed or (each.passed is None and each.name != _NAME) for each in self.checks)


def run_self_test(
    clients: Clients,
    request: Request,
    *,
    tell: Callable[[str], object] = lambda _: None,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> SelfTestEnd:
    """Runs a task on each kind of host that is asked for, waits for their ends, and judges their logs.

    Its tasks are stopped and its task definitions deregistered however it ends, an interruption included.

    Args:
        clients: Clients of boto3, with a long enough life of their credentials.
        request: What is asked for.
        tell: Gets a line for each step, and what is left behind after an error or an interruption.
        sleep: Waits for some seconds.
        clock: Seconds that pass.

    Raises:
        InvalidValueError: There is nothing to test.
        GpuConstructsError: AWS did not answer, or the credentials do not suffice.
    """
    found = hosts_of(clients, cluster=request.cluster, region=request.region)
    if missing := _NEEDED & set(found.denied):
        raise GpuConstructsError(f"the credentials may not call {' or '.join(sorted(missing))}", fix=_IF_DENIED)
    run = _Run(
        request=request, calls=Calls(clients, request.region, if_denied=_IF_DENIED), tell=tell, sleep=sleep, clock=clock
    )
    run.hosts = {each.arn: each for each in registered_hosts(found)}
    try:
        targets = targets_of(found, request)
    except InvalidValueError as unknown:
        if not found.denied:
            raise
        problem = f"{unknown.problem}: the credentials may not call {' or '.join(found.denied)}"
        raise GpuConstructsError(problem, argument=unknown.argument, fix=_IF_DENIED) from unknown
    try:
        checks = tuple(run.tested(targets))
    except BaseException:
        for each in run.ended():
            tell(each)
        raise
    return SelfTestEnd(checks=checks, left=run.ended())


@dataclass(slots=True, kw_only=True)
class _Test:
    """One task, and how far it is."""

    target: Target
    definition: str
    task: str = ""
    state: str = "waits for a host"


@dataclass(slots=True, kw_only=True)
class _Run:
    """The tasks of one run, which a name of their own marks."""

    request: Request
    calls: Calls
    tell: Callable[[str], object]
    sleep: Callable[[float], object]
    clock: Callable[[], float]
    name: str = field(default_factory=lambda: f"{FAMILY}-{uuid.uuid4().hex[:12]}")
    hosts: dict[str, RegisteredHost] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)
    over: set[str] = field(default_factory=set)
    made_group: bool = False

    def tested(self, targets: Sequence[Target]) -> Iterator[Look]:
        """Starts the tasks and waits for them."""
        self._make_group()
        waiting = [_Test(target=each, definition=self._definition(each)) for each in targets]
        end = self.clock() + self.request.minutes * 60
        while waiting:
            tasks = self.calls.tasks(self.request.cluster, [each.task for each in waiting if each.task])
            seen = {text(each, "taskArn"): each for each in tasks}
            for test in tuple(waiting):
                if not test.task:
                    self._start(test)
                elif text(seen.get(test.task, {}), "lastStatus") == "STOPPED":
                    waiting.remove(test)
                    self.over.add(test.task)
                    yield from self._judged(test, seen[test.task])
                elif test.task in seen:
                    self._note(test, _state(seen[test.task], self.hosts))
            if waiting and self.clock() >= end:
                yield from (self._not_tested(each) for each in waiting)
                return
            if waiting:
                self.sleep(_POLL_SECONDS)

    def ended(self) -> tuple[str, ...]:
        """Stops what runs, and says what is left behind."""
        left = [*self._stopped()]
        for definition in self.definitions.values():
            problem = self.calls.problem("ecs:DeregisterTaskDefinition", taskDefinition=definition)
            still = f"still active: {problem}" if problem else "inactive"
            left.append(f"task definition {short_name(definition)}, which is {still}")
        if self.made_group:
            left.append(f"log group {FAMILY}, which keeps logs for {_DAYS_KEPT} days")
        elif self.started:
            left.append(f"logs of {counted(len(self.started), 'task')} in log group {FAMILY}")
        if self.request.capacity and self.started:
            left.append("hosts that managed scaling started for it, until it ends them")
        return tuple(left)

    def _stopped(self) -> Iterator[str]:
        if not self.definitions:
            return
        running = dict.fromkeys(each for each in self.started if each not in self.over)
        try:
            # One that was started as the interruption came is known by its name alone.
            found = self.calls.ask("ecs:ListTasks", cluster=self.request.cluster, startedBy=self.name)
            running |= dict.fromkeys(texts(found, "taskArns"))
        except GpuConstructsError as problem:
            yield f"tasks that {self.name} started, if any still run: {problem}"
        for task in running:
            why = self.calls.problem(
                "ecs:StopTask", cluster=self.request.cluster, task=task, reason="the self-test has ended"
            )
            if why:
                yield f"task {short_name(task)}, which may still run: {why}"

    def _make_group(self) -> None:
        try:
            self.calls.ask("logs:CreateLogGroup", logGroupName=FAMILY)
        except UnansweredError as problem:
            if problem.code != "ResourceAlreadyExistsException":
                raise
            return
        self.made_group = True
        self.calls.ask("logs:PutRetentionPolicy", logGroupName=FAMILY, retentionInDays=_DAYS_KEPT)

    def _definition(self, target: Target) -> str:
        kind = str(target.kind)
        if kind not in self.definitions:
            written = task_definition(target.kind, self.request.image, region=self.calls.region_name())
            made = thing(self.calls.ask("ecs:RegisterTaskDefinition", **written), "taskDefinition")
            self.definitions[kind] = text(made, "taskDefinitionArn")
        return self.definitions[kind]

    def _start(self, test: _Test) -> None:
        target = test.target
        strategy = [{"capacityProvider": target.provider, "weight": 1}]
        how: dict[str, object] = {"capacityProviderStrategy": strategy} if target.provider else {"launchType": "EC2"}
        if target.expression:
            how["placementConstraints"] = [{"type": "memberOf", "expression": target.expression}]
        answer = self.calls.ask(
            "ecs:RunTask",
            cluster=self.request.cluster,
            taskDefinition=test.definition,
            count=1,
            startedBy=self.name,
            **how,
        )
        tasks = things(answer, "tasks")
        if tasks:
            test.task = text(tasks[0], "taskArn")
            self.started.append(test.task)
            self._note(test, _state(tasks[0], self.hosts))
        else:
            reasons = Counter(text(each, "reason") or "an unknown reason" for each in things(answer, "failures"))
            why = ", ".join(f"{reason} on {count}" for reason, count in reasons.most_common())
            self._note(test, f"waits until a host takes it ({brief(why, QUOTE)})")

    def _note(self, test: _Test, state: str) -> None:
        if state != test.state:
            test.state = state
            self.tell(f"{brief(test.target.about, LABEL)}: {state}")

    def _not_tested(self, test: _Test) -> Look:
        return Look(
            name=_NAME,
            about=test.target.about,
            passed=None,
            text=f"{test.state}; it did not end in {self.request.minutes:g} "
            f"minute{'' if self.request.minutes == 1 else 's'}",
            fix="--minutes for longer, or when less runs there; gpu-constructs why says what a waiting task waits for",
        )

    def _judged(self, test: _Test, task: Thing) -> Iterator[Look]:
        host = self._host(text(task, "containerInstanceArn"))
        about = test.target.about if host is None else str(host)
        ran = next((number(each, "exitCode") for each in things(task, "containers")), None) == 0
        log = self._log(short_name(test.task), wait=ran)
        self.tell(f"{brief(about, LABEL)}: ended, {len(log.splitlines())} lines of log")
        yield Look(
            name=_NAME,
            about=about,
            passed=True if ran else False if host else None,
            text="ran to its end" if ran else why_stopped(task) or "it stopped without a reason",
            fix="" if ran else "what the reason says; gpu-constructs verify shows what else is wrong with the host",
        )
        if not ran and not log:
            return
        try:
            seen = read_self_test(log)
        except InvalidValueError:
            yield _unreadable(log, about)
            return
        kind = host.instance_type if host is not None and host.instance_type is not None else test.target.kind
        yield from judged(seen, kind, about)

    def _host(self, arn: str) -> RegisteredHost | None:
        if arn and arn not in self.hosts:
            found = self.calls.ask(
                "ecs:DescribeContainerInstances", cluster=self.request.cluster, containerInstances=[arn]
            )
            self.hosts |= {each.arn: each for each in registered_hosts(answers([found]))}
        return self.hosts.get(arn)

    def _log(self, task: str, *, wait: bool) -> str:
        """The log of a task; its last lines arrive some seconds after its end."""
        end = self.clock() + _LOG_SECONDS
        while True:
            log = "\n".join(self._events(f"{CONTAINER}/{CONTAINER}/{task}"))
            if END in log or not wait or self.clock() >= end:
                return log
            self.sleep(_POLL_SECONDS)

    def _events(self, stream: str) -> Iterator[str]:
        following: dict[str, Any] = {}
        size = 0
        for _ in range(100):
            token = following
            asked = {"logGroupName": FAMILY, "logStreamName": stream, "startFromHead": True, **token}
            try:
                answer = self.calls.ask("logs:GetLogEvents", **asked)
            except UnansweredError as problem:
                if problem.code != "ResourceNotFoundException":
                    raise
                return
            for event in things(answer, "events"):
                size += len(text(event, "message"))
                if size > BYTES:
                    return
                yield text(event, "message")
            following = {"nextToken": text(answer, "nextForwardToken")}
            if following == token or not following["nextToken"]:  # the end, as the API documents it
                return


def _state(task: Thing, hosts: Mapping[str, RegisteredHost]) -> str:
    status, arn = text(task, "lastStatus") or "of no status", text(task, "containerInstanceArn")
    return f"is {status}{f' on {hosts[arn]}' if arn in hosts else ''}"


def _unreadable(log: str, about: str) -> Look:
    lines = [each for each in log.splitlines() if each.strip() and each != END]
    return Look(
        name="log of the self-test",
        about=about,
        passed=False,
        text=f"shows no GPU; its last line is: {brief(lines[-1], QUOTE)}" if lines else "is empty",
        fix="nvidia-smi on the host shows whether the driver sees the GPUs"
        if lines
        else f"the role of the host may write to log group {FAMILY} with logs:CreateLogStream and logs:PutLogEvents",
    )
