"""Can a fix be made at its place, with all that shares it and with the other fixes? It is written there and read again.

A rule tries a fix on a pool or on a task; the value may stand in a parameter that others use too, or that allows few
values. So each is written into the files, those of the findings before it as well, and everything is judged once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import TypeAlias

from gpu_constructs.check.other_values import Place, place
from gpu_constructs.facts.catalogue import known_type
from gpu_constructs.fleet import Container, Fleet, HostImage, Origin, Pool, PoolKind, Scheduler, Task, Workload
from gpu_constructs.rules import Finding
from gpu_constructs.rules.evidence.fixes import of_types, priced
from gpu_constructs.rules.finding import Text, Way, joined
from gpu_constructs.template import Places
from gpu_constructs.template.documents.node import Node, Path

Spot: TypeAlias = "tuple[str, Path]"
"""A file, and the keys and indexes of a value in it."""

Changes: TypeAlias = Mapping[Spot, Node]
"""What is to stand in some places."""

Judge: TypeAlias = Callable[[Changes], "tuple[Finding, ...] | None"]
"""What is wrong with the files with some changes; None where they cannot be, or where there is no time to try them."""

_TYPES = frozenset({"instance_types", "has_unknown_types", "unknown_type_names", "requirements"})
_IMAGE = frozenset({"image", "image_written"})
_SIZES = {"max_instances": "MaxSize", "min_instances": "MinSize"}
_OF_CONTAINER = {"memory_limit_mib": "Memory", "memory_reservation_mib": "MemoryReservation", "cpu": "Cpu"}
_OF_TASK = {"memory_limit_mib": "Memory", "cpu_limit": "Cpu", "network_mode": "NetworkMode"}
_ANY = "attribute:ecs.instance-type =~ *"
"""What a constraint that names types is where it is to name others: one that all of them satisfy."""

_Written: TypeAlias = "tuple[Origin | None, str, object, Node]"
"""Where a thing was written, its property, what is written there and what is to be."""


def settled(findings: Iterable[Finding], fleet: Fleet, places: Places, judge: Judge) -> list[Finding]:
    """The findings with the fixes that can be made where they point, all first ones of them together."""
    found = list(findings)
    together = _Together(found, fleet, places, judge)
    together.try_at_once(found)
    ways = [together.of(each) if any(way.things for way in each.ways) else None for each in found]
    return [
        each if chosen is None else _with(each, (*map(together.final, chosen[:1]), *chosen[1:]))
        for each, chosen in zip(found, ways, strict=True)
    ]


def _with(finding: Finding, ways: tuple[Way, ...]) -> Finding:
    return replace(finding, ways=ways, fix=joined(", or ", (each.text for each in ways)) or finding.otherwise)


class _Together:
    """Fixes that are made one after the other."""

    def __init__(self, found: list[Finding], fleet: Fleet, places: Places, judge: Judge) -> None:
        self._writing = Writing(fleet, places)
        self._judge = judge
        self._taken: dict[Spot, Node] = {}
        self._ways: dict[Spot, Way] = {}
        self._settled: set[Place] = set()
        self._proved: dict[tuple[Finding, int], Way] = {}
        self._left, self._grave = _counted(found)

    def try_at_once(self, found: list[Finding]) -> None:
        """Tries the first changes of all findings in one reading, then all second ones, in place of one at a time.

        A rule has tried each of them by itself, so that together they mostly work. Those that write to a place that
        another finding writes to are left for later, and so are all of them if anything is left or comes up.
        """
        for number in range(max((len(each.ways) for each in found), default=0)):
            alone = self._alone(found, number)
            found = list(alone)
            union = {spot: value for _, changes in alone.values() for spot, value in changes.items()}
            kept, _, there = self._with(union) if len(found) > 1 else ({}, [], None)
            left, grave = _counted(there or ())
            if there is None or any(left[place(each)] for each in found) or self._is_worse(left, grave):
                return
            self._proved |= {(each, number): way for each, (way, _) in alone.items()}
            if not number:
                new = {spot: (way, value) for way, changes in alone.values() for spot, value in changes.items()}
                self._take(kept, new, left, grave)
                self._settled.update(map(place, found))

    def _alone(self, found: Iterable[Finding], number: int) -> dict[Finding, tuple[Way, Changes]]:
        """The first change of a group of each finding, where nothing else is to be written to its places."""
        firsts: dict[Finding, tuple[Way, Changes]] = {}
        for each in found:
            way = next(self._writing.instead(each.ways[number]), None) if each.ways[number:] else None
            changes = None if way is None else self._writing.changes(way)
            if way is not None and changes and all(map(self._writing.allows, changes, changes.values())):
                firsts[each] = way, changes
        writers = Counter(spot for _, changes in firsts.values() for spot in changes)
        writers.update(spot for spot, way in self._ways.items() if way not in self._proved.values())
        return {
            each: (way, changes)
            for each, (way, changes) in firsts.items()
            if all(
                writers[spot] == 1 and self._ways.get(spot) in {None, self._proved.get((each, 0))} for spot in changes
            )
        }

    def of(self, finding: Finding) -> tuple[Way, ...]:
        """The changes to show: of each group the first that can be made."""
        chosen: list[Way] = []
        if not self._left[place(finding)] and (finding, 0) not in self._proved:
            changed = (spot for way in finding.ways for spot in self._writing.changes(way) or ())
            if settling := next((self._ways[each] for each in changed if each in self._ways), None):
                return (settling,)
        for number, way in enumerate(finding.ways):
            first = self._proved.get((finding, number)) or next(
                (each for each in self._writing.instead(way) if self._works(each, finding, chosen)), None
            )
            if first is not None:
                chosen.append(first)
        return tuple(chosen)

    def final(self, way: Way) -> Way:
        """The change that is made in the same place in the end, so that one place gets one value."""
        changes = self._writing.changes(way) or {}
        if changes.items() <= self._taken.items():
            return way
        return next((self._ways[each] for each in changes if each in self._ways), way)

    def _works(self, way: Way, finding: Finding, chosen: list[Way]) -> bool:
        changes = self._writing.changes(way)
        if not changes:
            return True  # it is not one value of the files: that it works in the fleet is all that can be known
        if not all(map(self._writing.allows, changes, changes.values())):
            return False
        about = place(finding)
        if changes.items() <= self._taken.items():
            return not self._left[about]
        kept, undone, found = self._with(changes)
        if found is None:
            return not undone
        left, grave = _counted(found)
        if self._is_worse(left, grave) or left[about] >= max(1, self._left[about]):
            return False
        if not chosen:
            self._take(kept, {spot: (way, value) for spot, value in changes.items()}, left, grave)
            self._settled.add(about)
        return True

    def _with(self, changes: Changes) -> tuple[Changes, list[Way], tuple[Finding, ...] | None]:
        """What stays of the changes before, which of them are undone, and what is found with those that stay."""
        undone = [self._ways[each] for each, value in changes.items() if self._taken.get(each, value) != value]
        kept = {each: value for each, value in self._taken.items() if self._ways[each] not in undone}
        return kept, undone, self._judge({**kept, **changes})

    def _is_worse(self, left: Counter[Place], grave: Counter[Place]) -> bool:
        return any(left[each] > self._left[each] for each in self._settled) or any(
            count > self._grave[each] for each, count in grave.items()
        )

    def _take(
        self, kept: Changes, new: Mapping[Spot, tuple[Way, Node]], left: Counter[Place], grave: Counter[Place]
    ) -> None:
        self._ways = {spot: way for spot, (way, _) in new.items()} | {each: self._ways[each] for each in kept}
        self._taken = {**kept, **{spot: value for spot, (_, value) in new.items()}}
        self._left, self._grave = left, grave


def _counted(findings: Iterable[Finding]) -> tuple[Counter[Place], Counter[Place]]:
    found = list(findings)
    return Counter(map(place, found)), Counter(place(each) for each in found if each.is_grave)


class Writing:
    """Changes of a fleet as values in the files that it was read from."""

    def __init__(self, fleet: Fleet, places: Places) -> None:
        self._pools = {each.name: each for each in fleet.pools}
        self._tasks = {each.name: each for each in fleet.tasks}
        self._places = places

    def changes(self, way: Way) -> Changes | None:
        """The values that a change puts in place of others; None where it is more than that."""
        changes: dict[Spot, Node] = {}
        for new in way.made():
            for origin, name, was, value in (each or _NOWHERE for each in self._written(new)):
                spot = None if origin is None else self._places.spot(origin, name, was)
                if spot is None:
                    return None
                changes[spot] = self._as_declared(spot, value)
        return changes

    def _written(self, new: Pool | Task | Workload) -> Iterator[_Written | None]:
        if isinstance(new, Pool) and new.name in self._pools:
            return _of_pool(self._pools[new.name], new)
        if isinstance(new, Task) and new.name in self._tasks:
            return _of_task(self._tasks[new.name], new)
        return iter((None,))

    def instead(self, way: Way) -> Iterator[Way]:
        """A change and those that may do in its place: where a parameter allows few values or is shared, others."""
        spots = self.changes(way) or {}
        pool = next((each for each in way.made() if isinstance(each, Pool)), None)
        for file, path in spots if pool is not None else ():
            names = [str(each) for each in self._places.allowed((file, path))]
            types = [each for each in map(known_type, names) if each is not None]
            if pool is not None and types and len(types) == len(names):
                others = (each for each in types if each not in self._pools[pool.name].instance_types)
                for each in sorted(others, key=lambda one: (one.gpus, one.vcpus)):
                    text = Text(f"{path[1]} {each}{priced(each, pool.region)}")
                    yield replace(way, text=text, things=(of_types(pool, (each,)),), instead=())
                return
        shared = "" if pool is None else self._shared_parameter(pool)
        yield from () if shared and not spots else (way, *way.instead)
        if shared:
            yield Way(text=f"{way.text}, in an ImageId of its own, because {shared} is of other hosts too")

    def _shared_parameter(self, new: Pool) -> str:
        """The parameter with the image that hosts are to lose, where it holds that of other hosts too; else empty."""
        old, spot = self._pools.get(new.name), self._images.get(new.name)
        is_kept = old is None or old.image == new.image
        if spot is None or is_kept or [*self._images.values()].count(spot) == 1:
            return ""
        _, path = spot
        return str(path[1]) if path[0] == "Parameters" else ""

    @cached_property
    def _images(self) -> Mapping[str, Spot | None]:
        pools = {name: each.origin for name, each in self._pools.items() if each.origin is not None}
        return {name: self._places.spot(at, "ImageId", _image_of(self._pools[name])) for name, at in pools.items()}

    def allows(self, spot: Spot, value: Node) -> bool:
        """Whether a parameter allows a value; any other place does."""
        allowed = self._places.allowed(spot)
        return not allowed or str(value) in map(str, allowed)

    def _as_declared(self, spot: Spot, value: Node) -> Node:
        """A value as a parameter takes it: the name alone of what is stored."""
        if isinstance(value, str) and self._places.is_stored(spot):
            return value.removeprefix("{{resolve:ssm:").removesuffix("}}")
        return value


_NOWHERE: _Written = (None, "", None, None)


def _changed(old: Pool | Task | Container, new: Pool | Task | Container) -> frozenset[str]:
    return frozenset(each.name for each in fields(old) if getattr(old, each.name) != getattr(new, each.name))


def _image_of(pool: Pool) -> str | None:
    return pool.image.ssm_parameter if isinstance(pool.image, HostImage) else pool.image_written


def _of_pool(old: Pool, new: Pool) -> Iterator[_Written | None]:
    """What is to be written for another pool, None for what cannot be."""
    names = _changed(old, new)
    if names & _TYPES:
        were = [*map(str, old.instance_types), *old.unknown_type_names]
        gone = [each for each in were if each not in map(str, new.instance_types)]
        come = [str(each) for each in new.instance_types if str(each) not in were]
        name = "InstanceTypes" if old.kind is PoolKind.BATCH else "InstanceType"
        is_one = old.requirements is None and len(gone) == len(come) == 1
        yield (old.origin, name, gone[0], come[0]) if is_one else None
    if names & _IMAGE:
        image = new.image
        is_one = isinstance(image, HostImage) and not image.is_own and old.kind is PoolKind.AUTO_SCALING_GROUP
        now = image.ssm_parameter if isinstance(image, HostImage) else ""
        yield (old.origin, "ImageId", _image_of(old), f"{{{{resolve:ssm:{now}}}}}") if is_one else None
    for each in sorted(names - _TYPES - _IMAGE):
        size = getattr(new, each)
        yield (old.origin, _SIZES[each], getattr(old, each), size) if each in _SIZES else None


def _of_task(old: Task, new: Task) -> Iterator[_Written | None]:
    """What is to be written for another task, None for what cannot be."""
    if old == new:
        return
    if old.scheduler is Scheduler.BATCH or len(old.containers) != len(new.containers):
        yield None
        return
    for name in sorted(_changed(old, new) - {"containers", "constraints"}):
        yield (old.origin, _OF_TASK[name], getattr(old, name), getattr(new, name)) if name in _OF_TASK else None
    if old.constraints != new.constraints:
        named = [each for each in old.constraints if each not in new.constraints]
        is_one = len(named) == 1 and all("ecs.instance-type" in str(each.expression) for each in named)
        yield (old.origin, "PlacementConstraints.Expression", named[0].expression, _ANY) if is_one else None
    for one, other in zip(old.containers, new.containers, strict=True):
        for name in sorted(_changed(one, other) - {"requirements"}):
            known = _OF_CONTAINER.get(name)
            yield (one.origin, known, getattr(one, name), getattr(other, name)) if known else None
        if one.requirements != other.requirements:
            yield from _of_requirements(one, other)


def _of_requirements(old: Container, new: Container) -> Iterator[_Written | None]:
    if len(old.requirements) != 1 or len(new.requirements) != 1:
        yield None
        return
    was, now = old.requirements[0], new.requirements[0]
    if now != replace(was, type=now.type, value=now.value):
        yield None
    for name, before, after in (("Type", was.type, now.type), ("Value", was.value, now.value)):
        if before != after:
            yield (old.origin, name, before, after) if isinstance(after, str) and before else None
