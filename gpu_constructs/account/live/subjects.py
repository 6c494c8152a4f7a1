"""The service or the task that is asked about, by any of its names: what it asks for, and how far it is."""

from __future__ import annotations

from difflib import get_close_matches

from gpu_constructs.account.answers import Answers, Thing, number, short_name, text, things, when
from gpu_constructs.errors import InvalidValueError, UnknownNameError, brief, shown
from gpu_constructs.facts.budget import MESSAGE, NAME
from gpu_constructs.facts.values import dataclass
from gpu_constructs.rules.finding import or_list

_MOST_NAMES = 3
_LEAST_LETTERS = 3
_ENDS = {"RUNNING": 1, "STOPPED": 2}
_COMPUTED = "computedDesiredCount"
_GONE = frozenset({"DRAINING", "INACTIVE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is asked about.

    Attributes:
        kind: ``service`` or ``task``.
        name: Its name, or the id of a task.
    """

    kind: str
    name: str
    described: Thing
    definition: Thing


def subject_called(answers: Answers, name: str) -> Subject:
    """The service or the task of a name: a name, an id, an ARN, or the family of a task definition."""
    described = described_as(answers, name)
    service = text(described, "serviceName")
    return Subject(
        kind="service" if service else "task",
        name=service or short_name(text(described, "taskArn")),
        described=described,
        definition=_definition(answers, definition_of(described)),
    )


def definition_of(described: Thing) -> str:
    """The ARN of the task definition of a service or a task."""
    return text(rolled_out(described), "taskDefinition") or text(described, "taskDefinitionArn")


def described_as(answers: Answers, name: str) -> Thing:
    """What the API says of the service or the task of a name.

    Raises:
        UnknownNameError: There is none, or it is deleted.
        InvalidValueError: There are several services.
    """
    wanted = short_name(name)
    services = [each for each in services_of(answers) if wanted == text(each, "serviceName")]
    tasks = [
        each
        for each in answers.of("tasks")
        if wanted in {short_name(text(each, "taskArn")), short_name(text(each, "taskDefinitionArn")).partition(":")[0]}
    ]
    if not services and not tasks:
        services = [each for each in services_of(answers) if is_of_construct(text(each, "serviceName"), wanted)]
    if not services and not tasks:
        for each in answers.of("services"):
            if text(each, "serviceName") == wanted and text(each, "status") in _GONE:
                raise UnknownNameError(
                    f"the service {shown(name)} is deleted: it is {text(each, 'status')}", argument="NAME", value=name
                )
        there = [text(each, "serviceName") for each in services_of(answers)]
        there += [short_name(text(each, "taskArn")) for each in answers.of("tasks")]
        there = [brief(each, NAME) for each in there if each]
        nearest = tuple(get_close_matches(name[:NAME], there[:1_000], n=_MOST_NAMES))
        raise UnknownNameError(
            f"no service and no task is called {shown(name)}",
            argument="NAME",
            value=name,
            nearest=nearest,
            otherwise="" if nearest or not there else f"name one that is there, such as {or_list(there[:_MOST_NAMES])}",
        )
    if len(services) > 1:
        names = " or ".join(sorted(text(each, "serviceName") for each in services))
        raise InvalidValueError(f"{shown(name)} may be several services", argument="NAME", value=name, allowed=names)
    return services[0] if services else max(tasks, key=_asked_about)


def _asked_about(task: Thing) -> tuple[int, float]:
    """Of the tasks of one family, one that waits is asked about, else one that runs, else the newest that stopped."""
    moment = when(task.get("createdAt"))
    return -_ENDS.get(text(task, "lastStatus"), 0), moment.timestamp() if moment else 0.0


def services_of(answers: Answers) -> tuple[Thing, ...]:
    """The services that are not deleted.

    DescribeServices still describes those that are (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteService.html).
    """
    return tuple(each for each in answers.of("services") if text(each, "status") not in _GONE)


def cluster_of(answers: Answers, described: Thing) -> str:
    """The name of the cluster of a service or a task; empty where that is not said."""
    names = (short_name(text(described, "clusterArn")), *(text(each, "clusterName") for each in answers.of("clusters")))
    return next(filter(None, names), "")


def is_of_construct(name: str, wanted: str) -> bool:
    """Whether a name that CloudFormation made has another in it: ``demo-ChatServiceD69D759B-68J0GRPN84V3``."""
    return len(wanted) >= _LEAST_LETTERS and wanted.lower() in name.lower()


def _definition(answers: Answers, arn: str) -> Thing:
    for each in answers.of("taskDefinition"):
        if text(each, "taskDefinitionArn") == arn:
            return each
    raise InvalidValueError(f"the task definition {shown(short_name(arn))} is not described")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a service is.

    Attributes:
        desired: Tasks that it wants; None where that is not said.
        running: Tasks that run, those of an older deployment among them; None where that is not said.
        new_desired: Tasks that its newest deployment wants; None where that is not said.
        new_running: Those of them that run.
        failed: Why its newest deployment failed; empty where it did not.
    """

    desired: int | None
    running: int | None
    pending: int
    new_desired: int | None
    new_running: int | None
    failed: str

    @property
    def missing(self) -> int:
        """Tasks that are still to run: of the service, or of its newest deployment where those are more."""
        pairs = ((self.desired, self.running), (self.new_desired, self.new_running))
        return max((0, *(wanted - has for wanted, has in pairs if wanted is not None and has is not None)))

    @property
    def is_there(self) -> bool | None:
        """Whether it runs all that it wants, from its newest deployment; None where that is not said."""
        if self.failed or self.missing:
            return False
        return None if self.desired is None or self.running is None else True

    def __str__(self) -> str:
        if self.desired is None or self.running is None:
            counts = "does not say how many tasks it wants and runs"
        else:
            counts = f"runs {self.running} of {self.desired} tasks"
        new = f"{self.new_running} of {self.new_desired} of its newest deployment"
        is_behind = self.new_running is not None and (self.new_desired or 0) > self.new_running
        return ", ".join(
            (
                counts,
                *([new] if is_behind and (self.new_running, self.new_desired) != (self.running, self.desired) else []),
                *([f"{self.pending} pending"] if self.pending else []),
                *(["and its newest deployment failed"] if self.failed else []),
            )
        )


def progress_of(service: Thing) -> Progress:
    """How far a service is, as it is described."""
    newest = _newest(service)
    failed = text(newest, "rolloutState") == "FAILED"
    return Progress(
        desired=number(service, "desiredCount"),
        running=number(service, "runningCount"),
        pending=number(service, "pendingCount") or 0,
        new_desired=number(newest, _COMPUTED if _COMPUTED in newest else "desiredCount"),
        new_running=number(newest, "runningCount"),
        failed=(text(newest, "rolloutStateReason") or "without a reason") if failed else "",
    )


def rolled_out(described: Thing) -> Thing:
    """A service as ECS places its tasks now: with what its newest deployment or task set says of them.

    A service whose deployments are those of CodeDeploy or of another controller has its task definition there alone.
    """
    newest = _newest(described)
    names = ("taskDefinition", "capacityProviderStrategy", "launchType")
    return {**described, **{name: newest[name] for name in names if newest.get(name)}}


def _newest(service: Thing) -> Thing:
    """The newest deployment of a service: of its task sets one that is not yet there, else the one in use."""
    deployments = [each for each in things(service, "deployments") if text(each, "status") == "PRIMARY"]
    sets = [each for each in things(service, "taskSets") if text(each, "status") in {"PRIMARY", "ACTIVE"}]
    behind = [each for each in sets if (number(each, _COMPUTED) or 0) > (number(each, "runningCount") or 0)]
    in_use = [each for each in sets if text(each, "status") == "PRIMARY"]
    return next(iter((*deployments, *behind, *in_use)), {})


def why_stopped(task: Thing) -> str:
    """Why a task stopped, in the words of ECS and of its containers; empty where none says it."""
    of_containers = [
        f"{text(each, 'name')}: {text(each, 'reason')}"
        if text(each, "reason")
        else f"{text(each, 'name')} exited {code}"
        for each in things(task, "containers")
        if (code := number(each, "exitCode")) or text(each, "reason")
    ]
    return brief("; ".join(filter(None, (text(task, "stoppedReason"), *of_containers))), MESSAGE)
