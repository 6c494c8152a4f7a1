"""A rule: one question to a fleet or to a part of it, with what its answer rests on, and what rules look at."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import EXISTS, UNKNOWN, Container, Fleet, Origin, Pool, Task, Workload
from gpu_constructs.placement.destinations import all_routes, assignments, gpu_workloads
from gpu_constructs.placement.proof import Proof
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.reach import tasks_of
from gpu_constructs.placement.route import Assignment, Route
from gpu_constructs.rules.finding import Finding, Severity, Way, Ways, joined

if TYPE_CHECKING:
    from gpu_constructs.template import Files
    from gpu_constructs.template.model import Resource
    from gpu_constructs.template.resources.index import Index
    from gpu_constructs.template.resources.section import Section


_Derived = TypeVar("_Derived")


class Context:
    """A fleet with what several rules ask about it.

    Attributes:
        now: The time of the check, for rules about what may have ended; without one they are silent.
        files: What the fleet was read from, for rules about how resources refer to each other; without it they are
            silent. Constructs have none.
    """

    def __init__(self, fleet: Fleet, now: dt.datetime | None = None, files: Files | None = None) -> None:
        self.fleet = fleet
        self.now = now
        self.files = files
        self._known: dict[object, object] = {}

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every task once, including tasks that only a workload names."""
        return tasks_of(self.fleet)

    @cached_property
    def runs(self) -> tuple[tuple[Task, Task, Task | Workload], ...]:
        """Every task with what each thing that runs or submits it asks for instead; with itself where nothing does."""
        asked_by = ((each.task or each.defined, each) for each in self.fleet.workloads)
        runs = grouped((asked.name, (asked, by)) for asked, by in asked_by if asked is not None)
        return tuple(
            (task, asked, by)
            for task in self.tasks
            for asked, by in (*runs.get(task.name, ()), *((each, each) for each in task.submissions)) or ((task, task),)
        )

    @cached_property
    def tasks_as_run(self) -> tuple[tuple[Task, Task | Workload], ...]:
        """Every task as its runs leave it, once for all that are alike, with what asks for its devices."""
        found: dict[object, tuple[Task, Task | Workload]] = {}
        for task, asked, by in self.runs:
            run = by if isinstance(by, Task) else as_run(task, by, asked)
            key = (task.name, *((each.requirements, each.command, each.environment) for each in run.containers))
            is_own = [each.requirements for each in run.containers] == [each.requirements for each in task.containers]
            found.setdefault(key, (run, task if is_own else by))
        return tuple(found.values())

    def section(self, thing: Pool | Task | Workload) -> Section | None:
        """The properties of the resource that defines a thing; None where no file that was read does."""
        return None if self.files is None else self.files.section(thing)

    def resource(self, thing: Pool | Task | Workload) -> Resource | None:
        """The resource that defines a thing; None where no file that was read does."""
        return None if self.files is None else self.files.resource(thing)

    def exists(self, thing: Pool | Task | Workload) -> bool:
        """Whether what defines a thing certainly exists already, so that it is not to be created."""
        found = self.resource(thing)
        return found is not None and found.own_metadata.get(EXISTS) is True

    def is_exposed(self, thing: Pool | Task | Workload) -> bool:
        """Whether an output or a parameter hands a thing on to stacks or scripts that these files do not show."""
        found = self.resource(thing)
        return found is not None and found.reference in self.index.others.exposed_to_stacks

    def launch(self, pool: Pool) -> Section | None:
        """What the hosts of a pool are made from; None where no file that was read says it."""
        return self._launches.get(pool.name)

    @property
    def launched(self) -> Iterator[tuple[Pool, Section]]:
        """The pools of which the files say what their hosts are made from, with that."""
        return ((pool, data) for pool in self.fleet.pools if (data := self.launch(pool)) is not None)

    @cached_property
    def _launches(self) -> Mapping[str, Section | None]:
        return {} if self.files is None else {each.name: self.files.launch(each) for each in self.fleet.pools}

    def may_have_images(self, pool: Pool) -> bool:
        """Whether hosts may have images that they did not pull, such as on a volume from a snapshot."""
        data = self.launch(pool)
        disks = () if data is None else data.sections("BlockDeviceMappings")
        return not pool.never_sets(_PULLS) or any(each.section("Ebs").has("SnapshotId") for each in disks)

    def written(self, task: Task, container: Container) -> Section | None:
        """A container of a task definition as the files have it, also where a run asks for other devices of it."""
        section = self.section(task)
        listed = () if section is None else section.sections("ContainerDefinitions")
        its = (each for each in listed if each.origin == container.origin or each.get("Name") == container.name)
        return next(its, None)

    def has_unknown_variables(self, task: Task, container: Container) -> bool:
        """Whether a container gets variables from files, or some whose names are not known."""
        written = self.written(task, container)
        if written is None:
            return False
        named = (*written.sections("Environment"), *written.sections("Secrets"))
        return written.has("EnvironmentFiles") or any(not isinstance(each.get("Name"), str) for each in named)

    def group(self, pool: Pool) -> Resource | None:
        """The Auto Scaling group of a pool; None where it has none, or no file that was read defines it."""
        return None if self.files is None else self.files.group(pool)

    @cached_property
    def index(self) -> Index:
        """Every resource of the files; none where there are no files."""
        from gpu_constructs.template.resources.index import Index  # noqa: PLC0415 - constructors read no files

        return Index(()) if self.files is None else self.files.index

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """The workloads that have pools, with the pools that their tasks may go to."""
        return assignments(self.fleet)

    @cached_property
    def proof(self) -> Proof:
        """Whether all workloads have room together at their desired counts."""
        return prove(self.fleet)

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Every way to hosts: of each workload, and of each task that no workload runs."""
        return all_routes(self.fleet)

    @cached_property
    def gpu_workloads(self) -> Mapping[str, tuple[Workload | Task, ...]]:
        """Workloads, and GPU tasks without one, whose copies certainly go to a pool, by the name of the pool."""
        return gpu_workloads(self.fleet)

    def routed(self, suspect: Callable[[Task], bool]) -> Iterator[Route]:
        """The routes of tasks of a kind; without such a task nothing is placed to find them."""
        if any(map(suspect, self.tasks)):
            yield from (each for each in self.routes if suspect(each.task))

    def awaited(self, suspect: Callable[[Pool], bool]) -> Iterator[tuple[Pool, tuple[Workload | Task, ...]]]:
        """Pools of a kind to which copies of GPU tasks certainly go, with the workloads."""
        for pool in self.fleet.pools:
            if suspect(pool) and (waiting := self.gpu_workloads.get(pool.name)):
                yield pool, waiting

    def of_files(self, derive: Callable[[Index], _Derived]) -> _Derived:
        """What a function works out about all resources of the files; it is called the first time only."""
        if derive not in self._known:
            self._known[derive] = derive(self.index)
        return cast("_Derived", self._known[derive])

    def once(self, derive: Callable[[Context], _Derived]) -> _Derived:
        """What a function works out about this context; the function is called the first time only."""
        if derive not in self._known:
            self._known[derive] = derive(self)
        return cast("_Derived", self._known[derive])


def as_run(task: Task, run: Workload, asked: Task) -> Task:
    """A task with the devices that a run asks for, and unknown commands and variables where it overrides these."""
    variables = dict.fromkeys((of, name) for of, name, _ in run.variables)
    containers = tuple(
        replace(
            each,
            requirements=its.requirements,
            command=(UNKNOWN,) if each.name in run.commands else each.command,
            environment=(*each.environment, *((name, UNKNOWN) for of, name in variables if of == each.name)),
        )
        for each, its in zip(task.containers, asked.containers, strict=False)
    )
    is_changed = bool(run.commands or variables) or containers != task.containers
    return replace(task, containers=containers) if is_changed else task


_PULLS = "ECS_IMAGE_PULL_BEHAVIOR"

Subject = type[Pool] | type[Task] | type[Workload] | type[Context]
"""What a rule looks at: each pool, task or workload alone, or everything at once."""

_SUBJECTS: Mapping[Subject, Callable[[Context], Iterable[Any]]] = {
    Pool: lambda context: context.fleet.pools,
    Task: lambda context: context.tasks,
    Workload: lambda context: context.fleet.workloads,
    Context: lambda context: (context,),
}


class _Named(Protocol):
    """Anything that a fleet has, and where it was written."""

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> Origin | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule found, before it is signed with the rule's id.

    Attributes:
        about: What it is about, or its name alone; by default the pool, task or workload that the rule looks at.
        message: What was asked for, what exists, and why they do not go together: lower case, no full stop. A `Text`
            where a constructor that asks the rule has other words for some of it; so are `fix`, `allowed`, `ways`.
        fix: The smallest change that would do, where none of `ways` does; empty where only the user can know.
        ways: Changes with concrete values, which are tried before they are shown; or what makes them then, because one
            thing may have thousands of mistakes.
        property_name: The property to change, in the words of CloudFormation, such as ``MaxSize``.
        one_value: Whether `value` is wrong by itself, whatever the others are.
        is_shortage: Whether hosts have less of something than is asked for.
        origin: Where it was written; by default where `about` was.
        changes: The property that has to be changed there, where it is not `property_name`.
        is_certain: Whether it cannot work, where the rule is about an error; else it is a warning.
        involves: Other pools, tasks and workloads that take part in the cause. A rule that yields to another one is
            silent where both are about one of these things.
    """

    message: str
    about: _Named | str = ""
    fix: str = ""
    ways: Ways | Callable[[], Ways] = ()
    property_name: str = ""
    value: object = None
    allowed: str = ""
    one_value: bool = False
    is_shortage: bool = False
    origin: Origin | None = None
    changes: str = ""
    container: Container | None = None
    is_certain: bool = True
    involves: tuple[Pool | Task | Workload, ...] = ()

    @property
    def subjects(self) -> frozenset[int]:
        """Ids of the things that it is about."""
        return frozenset({id(each) for each in (self.about, *self.involves)})


Problems: TypeAlias = Iterator[Problem]
"""What a rule finds."""


class Causes:
    """What the problems of one rule are about, so that those of another are looked up and not compared with all."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._containers: set[int] = set()
        self._of_containers: set[int] = set()
        self._of_others: set[int] = set()
        for each in problems:
            if each.container is None:
                self._of_others |= each.subjects
            else:
                self._containers.add(id(each.container))
                self._of_containers |= each.subjects

    def include(self, problem: Problem) -> bool:
        """Whether one of them is about the same thing as a problem of another rule, or about the same container."""
        subjects = problem.subjects
        if not subjects.isdisjoint(self._of_others):
            return True
        if problem.container is not None:
            return id(problem.container) in self._containers
        return not subjects.isdisjoint(self._of_containers)


@dataclass(frozen=True, slots=True)
class Rule:
    """One question; a call gives it the function that asks, whose parameter says what the rule is about.

    Attributes:
        severity: Of what it finds; of a problem that is not certain a warning at most.
        id: Stable, such as ``GPU001``; never given to another rule, never used again.
        about: What it looks at. A rule about a pool, a task or a workload is decided on it alone, so that constructors
            can ask it as well.
        question: What it asks, as a question that a good fleet answers with yes.
        because: What happens otherwise, and by which mechanism.
        softer: When what an error finds is only a warning, such as ``where other hosts may join the cluster``; empty
            where it never is.
        stops_work: Whether what it finds keeps work from running, even where it is a warning.
        source: The AWS page or public source that says so; ``UNCONFIRMED: …`` never stands under an error.
        unless: Ids of rules that name the cause better: where one of them finds something about the same thing, this
            rule is silent.
        changes: The property that has to be changed, where that is not the `property_name` of what it finds: the name
            may be too short for a place, or stand for an argument of a constructor.
        in_fleet: Asks the same of the whole fleet, such as where a task is sent; None where one subject says it all.
    """

    severity: Severity
    id: str
    _: KW_ONLY
    about: Subject = Context
    question: str
    because: str
    source: str
    unless: tuple[str, ...] = ()
    changes: str = ""
    ask: Callable[[Any], Iterable[Problem]] = lambda _: ()
    in_fleet: Callable[[Context], Iterable[Problem]] | None = None
    softer: str = ""
    stops_work: bool = False

    def __call__(self, ask: Callable[[Any], Iterable[Problem]]) -> Rule:
        """The rule with the function that it decorates."""
        parameter = next(iter(ask.__annotations__.values()))
        return replace(self, ask=ask, about=next(each for each in _SUBJECTS if parameter in {each, each.__name__}))

    @property
    def reason(self) -> str:
        """What happens otherwise, and when it is only a warning."""
        return f"{self.because}; only a warning {self.softer}" if self.softer else self.because

    def problems(self, context: Context) -> Iterator[Problem]:
        """What it finds, before rules that it yields to are asked."""
        for each in _SUBJECTS[self.about](context):
            for found in self.ask(each):
                yield found if found.about else replace(found, about=each)
        if self.in_fleet is not None:
            yield from self.in_fleet(context)

    def signed(self, problem: Problem, ways: tuple[Way, ...] = ()) -> Finding:
        """A problem as a finding of this rule, with what of its ways works."""
        is_softer = self.severity is Severity.ERROR and not problem.is_certain
        about = None if isinstance(problem.about, str) else problem.about.origin
        of_container = None if problem.container is None else problem.container.origin
        return Finding(
            rule=self.id,
            severity=Severity.WARNING if is_softer else self.severity,
            subject=problem.about if isinstance(problem.about, str) else problem.about.name,
            message=problem.message,
            fix=joined(", or ", (each.text for each in ways)) or problem.fix,
            ways=ways,
            otherwise=problem.fix,
            property_name=problem.property_name,
            value=problem.value,
            allowed=problem.allowed,
            one_value=problem.one_value,
            is_shortage=problem.is_shortage,
            stops_work=self.stops_work,
            origin=problem.origin or of_container or about,
            changes=problem.changes or self.changes or problem.property_name,
            about=about if problem.origin is not None else None,
        )


error, warning, info = (partial(Rule, severity) for severity in Severity)
"""Decorators of functions that ask, by the severity of what these find; the catalogue finds rules in their modules."""
