"""What is said of a task on each pool that it may come to: whether it fits, why not, the smallest change that helps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.prices import on_demand_price
from gpu_constructs.fleet import Fleet, PlacementConstraint, Pool, Task, Unknown
from gpu_constructs.placement import ObstacleKind, alternatives, demand_of, profile_of
from gpu_constructs.placement.destinations import by_hand
from gpu_constructs.placement.fit import fit_demand
from gpu_constructs.placement.reach import beside
from gpu_constructs.placement.route import Destination, Route
from gpu_constructs.rules import Finding, Rule, check
from gpu_constructs.rules.evidence.fixes import asking_less, of_types, without_type_lists
from gpu_constructs.rules.finding import Way
from gpu_constructs.rules.hosts.images import drives, made_for
from gpu_constructs.rules.words import or_list

_MOST_NAMES = 3


@dataclass(frozen=True, kw_only=True)
class PoolAnswer:
    """What is said about a pool.

    Attributes:
        destination: The pool, and whether the task fits there.
        services: What places the task there.
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
    def other_images(self) -> tuple[str, ...]:
        """Machine images with which it would certainly run on the types that there are."""
        return self._working(self.images)

    @property
    def less(self) -> tuple[str, ...]:
        """What it may ask for at most, to run for certain on the hosts as they are."""
        here = self.destination
        return self._working(asking_less(here.task, here.pool, here.fit))

    def _working(self, ways: Sequence[Way]) -> tuple[str, ...]:
        here = self.destination
        if here.answer is True or self.is_aside:
            return ()
        return tuple(each.text for each in ways if _works(here, each))

    @cached_property
    def instead(self) -> tuple[InstanceType, ...]:
        """Instance types that would do, the smallest first; only where none of its own does for certain."""
        here = self.destination
        if here.answer is True or self.is_aside or self.other_images:
            return ()
        able = [each for each in alternatives(here.task, like=here.pool) if _runs(here, each)]
        return _with_one_image(here.pool, able)

    @cached_property
    def instead_if_listed(self) -> tuple[InstanceType, ...]:
        """Those that would do if the placement constraints named them."""
        here = self.destination
        if here.answer is True or self.is_aside or self.other_images or self.instead:
            return ()
        task = replace(here.task, constraints=without_type_lists(here.task.constraints))
        free = replace(here, task=task, constraints=without_type_lists(here.constraints))
        return _with_one_image(here.pool, [each for each in alternatives(task, like=here.pool) if _runs(free, each)])


def _runs(here: Destination, instance_type: InstanceType) -> bool:
    """Whether a task certainly runs on a pool if that has one instance type."""
    return _works(here, Way(text="", things=(of_types(here.pool, (instance_type,)),)))


def _works(here: Destination, way: Way) -> bool:
    """Whether a task certainly runs on a pool once something is changed."""
    things = way.made()
    task = next((each for each in things if isinstance(each, Task)), here.task)
    pool = next((each for each in things if isinstance(each, Pool)), here.pool)
    offer = beside(profile_of(pool), here.offer.daemons)
    found = fit_demand(demand_of(task, here.constraints), offer)
    changed = replace(here, task=task, pool=pool, offer=offer, fit=found)
    return bool(things) and changed.answer is True


def _with_one_image(pool: Pool, types: Sequence[InstanceType]) -> tuple[InstanceType, ...]:
    """Those that the pool's own image drives; all that one other image drives where it drives none."""
    images = [of_types(pool, (each,)).image for each in types]
    kept = pool.image if pool.image in images else next(iter(images), None)
    return tuple(each for each, image in zip(types, images, strict=True) if image == kept)


def pools_of_task(fleet: Fleet, task: Task, routes: Sequence[Route]) -> list[PoolAnswer]:
    """Pools that the task is sent to, then the others that could take it, those that do first."""
    services: dict[tuple[str, tuple[PlacementConstraint, ...]], list[str]] = {}
    found: dict[tuple[str, tuple[PlacementConstraint, ...]], Destination] = {}
    for route in routes:
        for each in route.destinations:
            key = each.pool.name, each.constraints
            found.setdefault(key, each)
            services.setdefault(key, []).extend([] if route.workload is None else [route.workload.name])
    reached = {name for name, _ in found}
    others = [each for each in by_hand(fleet, task).destinations if each.pool.name not in reached]
    fits = any(each.answer is True for each in (*found.values(), *others))
    needed = {(each.pool.name, each.constraints) for route in routes for each in route.unsettled}
    about = {each.pool.name for each in (*found.values(), *others)}
    images = {each.subject: each.ways for each in found_by(fleet, drives, made_for, about=about)}
    answers = [
        *(
            PoolAnswer(
                destination=each,
                services=tuple(services[key]),
                counts=True,
                is_aside=fits and key not in needed,
                images=images.get(each.pool.name, ()),
            )
            for key, each in found.items()
        ),
        *(
            PoolAnswer(
                destination=each, services=(), counts=False, is_aside=fits, images=images.get(each.pool.name, ())
            )
            for each in others
        ),
    ]
    return sorted(answers, key=lambda each: (not each.counts, each.destination.answer is not True))


def found_by(fleet: Fleet, *rules: Rule, about: Collection[str]) -> tuple[Finding, ...]:
    """What rules about more than room say of a task, or of what sends it."""
    return tuple(each for each in check(fleet, rules=rules) if each.subject in about)


def fix_of(found: PoolAnswer) -> str:
    """The smallest changes that would do, on either side; empty where none would."""
    return ", or ".join((*found.other_images, *_launching(found), *found.less))


def _launching(found: PoolAnswer) -> Iterator[str]:
    pool, types = found.destination.pool, found.instead or found.instead_if_listed
    apart = any(each.kind is ObstacleKind.ZONE for each in found.destination.fit.obstacles)
    if types and not apart:
        image = of_types(pool, types[:1]).image
        driven = "" if image == pool.image or isinstance(image, Unknown) else f" with image {image.image.name}"
        listed = "" if found.instead else ", and allow it in the placement constraint"
        yield f"launch {names_of(_cheapest_first(types, pool))}{driven}{listed}"


def _cheapest_first(types: Sequence[InstanceType], pool: Pool) -> list[InstanceType]:
    """Those of the pool's own families first, then current generations, by their price."""
    families = {each.family for each in pool.instance_types}

    def rank(each: InstanceType) -> tuple[bool, bool, float]:
        price = on_demand_price(each.name, pool.region)
        return (
            each.family not in families,
            each.current_generation is not True,
            inf if price is None else price.usd_per_hour,
        )

    return sorted(types, key=rank)


def names_of(types: Sequence[InstanceType]) -> str:
    """The first of some instance types, to choose from."""
    return or_list(types[:_MOST_NAMES])
