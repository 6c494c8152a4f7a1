"""From the resources of templates to the fleet that they ask for.

A template declares instance types in the metadata of whatever launches them::

    Metadata:
      gpu-constructs:
        InstanceTypes:
          g9.xlarge: {Vcpus: 4, MemoryMib: 16384, Gpus: 1, GpuModel: R200}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS, is_region
from gpu_constructs.facts.budget import ENTRIES, RESOURCES, work
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.declared import declared_type_of, instance_types_of_declarations
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    DECLARED_TYPES,
    METADATA_KEY,
    UNKNOWN,
    Fleet,
    PlacementConstraint,
    Pool,
    PoolKind,
    Remark,
    Task,
    Workload,
)
from gpu_constructs.template.model import STATE_MACHINES, Resource, Stack
from gpu_constructs.template.resources.batch_hosts import environments_in, launch_of_batch
from gpu_constructs.template.resources.calls import RUN_TASK, Call, calls_by_hand, calls_of_events, workload_of
from gpu_constructs.template.resources.clusters import Clusters, provider_key
from gpu_constructs.template.resources.groups import AUTO_SCALING_GROUP
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.launch import Launches, launch_data, says_all
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.networks import Networks
from gpu_constructs.template.resources.pools import FoundPool, ecs_pools, strays_of
from gpu_constructs.template.resources.section import Notes, Section, overrides_of
from gpu_constructs.template.resources.services import SERVICE, Services, scaled_services
from gpu_constructs.template.resources.state_machines import calls_of_states, steps_of
from gpu_constructs.template.resources.submissions import ENVIRONMENT, Submissions, batch_tasks, job_queues
from gpu_constructs.template.resources.tasks import TASK_DEFINITION, task_of

_LAUNCHED = frozenset({AUTO_SCALING_GROUP, "AWS::EC2::Instance"})


def declared_in(stacks: Sequence[Stack], notes: Notes) -> dict[str, InstanceType]:
    """The types that templates declare, by name; what is wrong is noted, and so is what differs from another."""
    found: dict[str, InstanceType] = {}
    for stack in stacks:
        for resource in stack.resources.values():
            written = resource.own_metadata.get(DECLARED_TYPES)
            if written is not None:
                section = Section({}, resource.origin, ("Metadata", METADATA_KEY, DECLARED_TYPES), notes)
                _add_declared(written, section, found)
    return found


def _add_declared(written: object, section: Section, found: dict[str, InstanceType]) -> None:
    if not isinstance(written, Mapping):
        section.note("expects instance types by name", written)
        return
    if len(found) + len(written) > ENTRIES:
        section.note(f"expects {ENTRIES} instance types at most", written)
        return
    for name, facts in written.items():
        keys = {str(key): value for key, value in facts.items()} if isinstance(facts, Mapping) else {}
        try:
            declared = declared_type_of(str(name), keys)
            with for_one_check(found):
                found.update(instance_types_of_declarations([declared]))
        except GpuConstructsError as error:
            section.note(str(error), facts, str(name), *(key for key in keys if key == error.argument))


STEPS_OF_CONSTRAINT, STEPS_OF_PATTERN = 1_800, 60
"""To ask a constraint for every instance type, and to compare each of its patterns, as measured."""

_Holder = TypeVar("_Holder", Task, Workload)
_MARK = "~"  # of `=~` and `!~`


def within_patterns(fleet: Fleet) -> Fleet:
    """The same fleet; with more patterns than there is work left for, expressions with some are unknown, as noted."""
    asked = [each.task for each in fleet.workloads if each.task is not None]
    written: list[Task | Workload] = [*fleet.tasks, *fleet.workloads]
    counts = [count for holder in written for each in holder.constraints if (count := _patterns(each))]
    count = sum(counts)
    if work().takes(STEPS_OF_CONSTRAINT * len(counts) + STEPS_OF_PATTERN * count):
        return fleet
    origin = next(each.origin for each in written if each.origin and any(map(_patterns, each.constraints)))
    text = f"{count} patterns in placement constraints are more than are judged: none of them is"
    tasks = {id(each): _unknown(each) for each in (*fleet.tasks, *asked)}
    return replace(
        fleet,
        tasks=tuple(tasks[id(each)] for each in fleet.tasks),
        workloads=tuple(replace(_unknown(each), task=tasks.get(id(each.task))) for each in fleet.workloads),
        remarks=(*fleet.remarks, Remark(text=text, origin=origin)),
    )


def _patterns(constraint: PlacementConstraint) -> int:
    return constraint.expression.count(_MARK) if isinstance(constraint.expression, str) else 0


def _unknown(holder: _Holder) -> _Holder:
    known = (replace(each, expression=UNKNOWN) if _patterns(each) else each for each in holder.constraints)
    return replace(holder, constraints=tuple(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """A fleet and the resources that it was read from, for rules about how resources refer to each other.

    Placement, cost and the constructs know nothing of load balancers, roles or schedules: a rule about these reads the
    properties of the resources itself.

    Attributes:
        resources: The resources that define pools, tasks and workloads, by the kind of thing and its name.
        groups: Auto Scaling groups, by the name of the pool.
        calls: What calls of ``RunTask`` are given, by the name of the workload.
    """

    fleet: Fleet
    index: Index
    clusters: Clusters
    names: Names
    resources: Mapping[tuple[type[Pool | Task | Workload], str], Resource]
    groups: Mapping[str, Resource]
    calls: Mapping[str, Section]

    def resource(self, thing: Pool | Task | Workload) -> Resource | None:
        """The resource that defines a thing of the fleet; None where no file that was read does."""
        return self.resources.get((type(thing), thing.name))

    def section(self, thing: Pool | Task | Workload) -> Section | None:
        """The properties of that resource, or what it gives ``RunTask``.

        What is odd about them was noted when the fleet was read.
        """
        if isinstance(thing, Workload) and thing.name in self.calls:
            return self.calls[thing.name]
        found = self.resource(thing)
        return None if found is None else Section.of(found, [])

    def group(self, pool: Pool) -> Resource | None:
        """The Auto Scaling group of a pool; None where it has none, or no file that was read defines it."""
        return self.groups.get(pool.name)

    def weights(self, pool: Pool) -> frozenset[object]:
        """The weights that the group of a pool gives instance types."""
        found = self.group(pool)
        overrides = () if found is None else overrides_of(Section.of(found, []))
        written = (each for each in overrides if each.has("WeightedCapacity"))
        return frozenset(each.integer("WeightedCapacity") for each in written)

    def launch(self, pool: Pool) -> Section | None:
        """What the hosts of a pool are made from: of its launch template, configuration, instance or environment."""
        found = self.group(pool) or self.resource(pool)
        if found is not None and found.type == ENVIRONMENT:
            return launch_of_batch(found, self.index)
        data = None if found is None or found.type not in _LAUNCHED else launch_data(found, self.index)
        return data if data is not None and says_all(data) else None

    def missing_providers(self, workload: Workload) -> tuple[str, ...]:
        """Capacity providers that the strategy of a workload names, and that its cluster certainly does not have."""
        section = self.section(workload)
        written = () if section is None else section.sections("CapacityProviderStrategy")
        found: dict[str, None] = {}
        for each, item in zip(written, workload.strategy, strict=False):
            key, pool = provider_key(each.get("CapacityProvider"), self.index, each.resource.place), item.pool
            # Those of Managed Instances name their cluster themselves, and references to what is no provider are open.
            is_known = isinstance(key, str) if pool is None else pool.kind is not PoolKind.MANAGED_INSTANCES
            is_ours = is_known and key not in FARGATE_PROVIDERS
            if key is not None and is_ours and self.clusters.lacks(key, workload.cluster):
                found[str(key) if pool is None else pool.provider_name] = None
        return tuple(found)


def fleet_of(stacks: Sequence[Stack], *, tasks: Sequence[Resource] = (), remarks: Sequence[Remark] = ()) -> Fleet:
    """The fleet alone, see `files_of`."""
    return files_of(stacks, tasks=tasks, remarks=remarks).fleet


def files_of(stacks: Sequence[Stack], *, tasks: Sequence[Resource] = (), remarks: Sequence[Remark] = ()) -> Files:
    """Reads everything that was asked for; what cannot be read is unknown or left out, with a remark.

    Names are unique in the fleet, see `gpu_constructs.template.resources.names`. Where a stack does not say where it is
    deployed to, the region of its containers' logs does, if it is the same for all of them.
    """
    notes: Notes = []
    declared = declared_in(stacks, notes)
    with for_one_check(declared):
        read = _read(stacks, tasks, remarks, notes)
        fleet = within_patterns(read.fleet)
        return replace(read, fleet=replace(fleet, declared=tuple(declared.values())))


def _read(stacks: Sequence[Stack], tasks: Sequence[Resource], remarks: Sequence[Remark], notes: Notes) -> Files:
    index = Index(stacks, tasks, {each.name: each.region or _hinted_region(each) for each in stacks})
    names = Names(stacks)
    clusters = Clusters(index, names, notes)

    found_tasks = [(each, "", task_of(each, each.logical_id, notes)) for each in index.all(TASK_DEFINITION)]
    found_tasks += batch_tasks(index, notes)
    task_names = names.unique([(resource, suffix) for resource, suffix, _ in found_tasks])
    launches = Launches(index, notes, clusters.named)
    found = list(ecs_pools(index, clusters, launches, notes))
    environments = list(environments_in(index, launches, notes))
    found += [each for each in environments if isinstance(each, FoundPool)]
    own = [each for each in found if not each.is_stray]
    pools = [
        each._replace(pool=replace(each.pool, name=name, region=resource.origin.place.region))
        for each, (resource, name) in zip(own, names.named(each.resource for each in own), strict=True)
    ]
    found_services, calls = tuple(index.all(SERVICE)), _calls(index, notes, may_run_tasks=bool(found_tasks))
    called = names.unique([*((each, "") for each in found_services), *((each.resource, each.suffix) for each in calls)])
    service_names, names_of_calls = called[: len(found_services)], called[len(found_services) :]
    named_calls = list(zip(names_of_calls, calls, strict=True))
    submissions = Submissions(index, named_calls, {each.resource.reference: each.pool.name for each in pools})
    named_tasks = [
        (resource, submissions.with_submissions(replace(task, name=name), resource.reference, suffix))
        for (resource, suffix, task), name in zip(found_tasks, task_names, strict=True)
    ]
    services = Services(
        index=index,
        networks=Networks(index),
        clusters=clusters,
        pools={each.provider: each.pool for each in pools if each.provider is not None},
        tasks={resource.reference: task for resource, task in named_tasks},
        scaling=scaled_services(index, notes),
        notes=notes,
    )
    runs = [(name, each) for name, each in named_calls if each.action == RUN_TASK]
    workloads = (
        *map(services.workload, found_services, service_names),
        *(workload_of(each, name, services) for name, each in runs),
    )
    queues = dict(job_queues(index, names))
    all_submissions = tuple(submissions.all(services.tasks, queues))
    resources: dict[tuple[type[Pool | Task | Workload], str], Resource] = {
        **{(Pool, each.pool.name): each.resource for each in pools},
        **{(Task, task.name): resource for resource, task in named_tasks},
        **{(Workload, name): each for each, name in zip(found_services, service_names, strict=True)},
        **{(Workload, name): each.resource for name, each in runs},
    }
    fleet = Fleet(
        pools=tuple(each.pool for each in pools),
        tasks=tuple(task for _, task in named_tasks),
        workloads=workloads,
        provider_lists=clusters.provider_lists,
        environments=tuple(each for each in environments if not isinstance(each, FoundPool)),
        strays=strays_of(
            index,
            clusters,
            found=[each for each in found if each.is_stray],
            pools=[each.pool for each in pools],
            providers=services.pools,
            workloads=workloads,
        ),
        queues=tuple(queues.values()),
        steps=tuple(steps_of(named_calls, all_submissions, services.task)),
        submissions=all_submissions,
        remarks=(*remarks, *dict.fromkeys(notes)),
    )
    return Files(
        fleet=fleet,
        index=index,
        clusters=clusters,
        names=names,
        resources=resources,
        groups={each.pool.name: each.group for each in pools if each.group is not None},
        calls={name: each.request for name, each in runs},
    )


def _calls(index: Index, notes: Notes, *, may_run_tasks: bool) -> tuple[Call, ...]:
    """Everything that runs tasks or submits jobs, up to as many as there may be resources."""
    states = (calls_of_states(each, notes, may_run_tasks=may_run_tasks) for each in index.all(*STATE_MACHINES))
    return tuple(islice(chain(calls_of_events(index, notes), calls_by_hand(index, notes), *states), RESOURCES))


def _hinted_region(stack: Stack) -> str | None:
    """The one region to which containers of the stack send their logs."""
    hints: set[str] = set()
    for resource in stack.resources.values():
        if resource.type == TASK_DEFINITION and isinstance(resource.properties, Mapping):
            for container in Section.of(resource, []).sections("ContainerDefinitions"):
                region = container.section("LogConfiguration").section("Options").text("awslogs-region")
                if isinstance(region, str) and is_region(region):
                    hints.add(region)
    return hints.pop() if len(hints) == 1 else None
