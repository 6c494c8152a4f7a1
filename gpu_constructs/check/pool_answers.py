"""What is said of a task on each pool that it may come to: whether it fits, why not, the smallest change that helps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property

from gpu_constructs.facts.prices import Price, dollars, on_demand_price
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Fleet, PlacementConstraint, Pool, Task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import by_hand
from gpu_constructs.placement.fit import fit_demand
from gpu_constructs.placement.pool_profile import profile_of
from gpu_constructs.placement.reach import beside
from gpu_constructs.placement.route import Destination, Route
from gpu_constructs.rules import Finding, Rule, check
from gpu_constructs.rules.evidence.fixes import asking_less, hosts_for
from gpu_constructs.rules.finding import Way, and_list
from gpu_constructs.rules.hosts.images import drives, made_for


@dataclass(frozen=True, kw_only=True)
class PoolAnswer:
    """What is said about a pool.

    Attributes:
        counts: Whether it may be placed there.
        is_aside: Whether it may stay as it is, because another pool is enough.
        images: What rules say to do about its machine image.
    """

    destination: Destination
    services: tuple[str, ...]
    counts: bool
    is_aside: bool
    images: tuple[Way, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """What keeps the task from a clear yes though some host is one."""
        of_types = {reason for each in self.destination.by_type for reason in each.reasons}
        return tuple(each for each in self.destination.reasons if each not in of_types)

    @cached_property
    def fix(self) -> str:
        """The smallest changes that would do, on either side: an image or other hosts, or asking for less."""
        here = self.destination
        if here.answer is True or self.is_aside:
            return ""
        images = [each for each in self.images if _works(here, each)]
        hosts = () if images else self._hosts[:1]
        less = (each for each in asking_less(here.task, here.pool, here.fit) if _works(here, each))
        return ", or ".join(each.text for each in (*images, *hosts, *less))

    @cached_property
    def _hosts(self) -> tuple[Way, ...]:
        here = self.destination
        return tuple(each for each in hosts_for(here.task, here.pool, "hosts of a type") if _works(here, each))

    @cached_property
    def considered(self) -> tuple[tuple[str, Price | None], ...]:
        """Types that would do in place of those that do not, with their prices; the first is the one of the fix."""
        if not self.fix or any(_works(self.destination, each) for each in self.images):
            return ()
        pools = (thing for each in self._hosts for thing in each.made() if isinstance(thing, Pool))
        names = (each.instance_types[0].name for each in pools)
        return tuple((each, on_demand_price(each, self.destination.pool.region)) for each in names)

    @property
    def choice(self) -> str:
        """Those types in words, and why the first of them is the one of the fix; empty where there is no other."""
        if len(self.considered) < 2:  # noqa: PLR2004 - a choice takes two
            return ""
        first, types = self.considered[0][0], self.destination.pool.instance_types
        is_kin = first.partition(".")[0] in {each.family for each in types}
        each_priced = (
            f"{name} {dollars(price.usd_per_hour) if price else '(price not known)'}" for name, price in self.considered
        )
        why = "of the same family" if is_kin else "that the task fits on"
        return f"{and_list(each_priced)} an hour; chosen: {first}, the smallest {why}"


def _works(here: Destination, way: Way) -> bool:
    """Whether a task certainly runs on a pool once something is changed."""
    things = way.made()
    task = next((each for each in things if isinstance(each, Task)), here.task)
    pool = next((each for each in things if isinstance(each, Pool)), here.pool)
    offer = beside(profile_of(pool), here.offer.daemons)
    found = fit_demand(demand_of(task, here.constraints), offer)
    changed = replace(here, task=task, pool=pool, offer=offer, fit=found)
    return bool(things) and changed.answer is True


def pools_of_task(fleet: Fleet, task: Task, routes: Sequence[Route]) -> list[PoolAnswer]:
    """Pools that the task is sent to, those which take it first; where one does not, others of its cluster."""
    services: dict[tuple[str, tuple[PlacementConstraint, ...]], list[str]] = {}
    found: dict[tuple[str, tuple[PlacementConstraint, ...]], Destination] = {}
    for route in routes:
        for each in route.destinations:
            key = each.pool.name, each.constraints
            found.setdefault(key, each)
            services.setdefault(key, []).extend([] if route.workload is None else [route.workload.name])
    reached = {name for name, _ in found}
    clusters = {each.workload.cluster for each in routes if each.workload is not None}
    others = [
        each
        for each in by_hand(fleet, task).destinations
        if each.pool.name not in reached and each.pool.cluster in clusters and each.answer is True
    ]
    others = [] if found and all(each.answer is True for each in found.values()) else others
    fits = any(each.answer is True for each in (*found.values(), *others))
    needed = {(each.pool.name, each.constraints) for route in routes for each in route.unsettled}
    about = {each.pool.name for each in (*found.values(), *others)}
    images = {each.subject: each.ways for each in found_by(fleet, drives, made_for, about=about)}
    places = [*found.items(), *(((each.pool.name, each.constraints), each) for each in others)]
    answers = [
        PoolAnswer(
            destination=each,
            services=tuple(services.get(key, ())),
            counts=key in found,
            is_aside=fits and key not in needed,
            images=images.get(each.pool.name, ()),
        )
        for key, each in places
    ]
    return sorted(answers, key=lambda each: (not each.counts, each.destination.answer is not True))


def found_by(fleet: Fleet, *rules: Rule, about: Collection[str]) -> tuple[Finding, ...]:
    """What rules about more than room say of a task, or of what sends it."""
    return tuple(each for each in check(fleet, rules=rules) if each.subject in about)
