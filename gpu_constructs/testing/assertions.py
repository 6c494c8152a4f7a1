"""What a test can say about the GPUs of a template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpu_constructs.check.report import Report
from gpu_constructs.errors import InvalidValueError, UnknownNameError
from gpu_constructs.facts import image
from gpu_constructs.fleet import Fleet, Pool, PoolKind, PurchaseOption, Task, Unknown
from gpu_constructs.fleet.workload import all_called, find_task, most_alike
from gpu_constructs.placement.destinations import routes_of
from gpu_constructs.placement.route import Elsewhere
from gpu_constructs.rules import Finding, Severity, known_id
from gpu_constructs.rules.retired import id_now, what_became_of
from gpu_constructs.testing.tables import (
    amount_of_gpus,
    count,
    finding_lines,
    gpu_pools,
    gpu_tasks,
    host_numbers,
    image_of,
    name_of,
    names_in,
    one_of,
    pool_table,
    task_table,
    types_named,
    types_of,
    types_reached,
)


class GpuAssertions:
    """Assertions about one fleet; made by `gpus`. Each returns the same object, so that they can be strung together.

    Every one of them raises an ``AssertionError`` that says what was looked for, the nearest miss and what there is. A
    value that is only known at deploy time satisfies none of them.

    Args:
        found: What was read.
    """

    def __init__(self, found: Report) -> None:
        self._review = found

    @property
    def fleet(self) -> Fleet:
        """Pools, tasks and services as values, for what no assertion here says."""
        return self._review.fleet

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules found, without what the template acknowledges."""
        return self._review.findings

    def has_gpu_task(
        self, name: str, *, gpus: int | None = None, on: str | Iterable[str] | None = None
    ) -> GpuAssertions:
        """There is a task that asks for GPUs.

        Args:
            name: Its construct id or the end of its path, its family or its logical id.
            gpus: Whole GPUs of all its containers together.
            on: Instance types or families (``g6``); it may come to run on these and on no other.

        Raises:
            AssertionError: There is no such task.
            InvalidValueError: An argument is not a name or not a number.
            UnknownNameError: No instance type or family is called so.
        """
        __tracebackhide__ = True
        name_of(name, "name")
        gpus = None if gpus is None else count(gpus, "gpus")
        on = None if on is None else names_in(on, "on")
        allowed = types_named(on, "on", self.fleet.declared)
        tasks = gpu_tasks(self.fleet)
        try:
            task = find_task(tasks, name, argument="name")
            misses = {task.name: self._misses(task, gpus, allowed)}
        except UnknownNameError:
            misses = {}
        except InvalidValueError as error:
            raise AssertionError(_report(str(error), task_table(self.fleet))) from None
        if all(misses.values()):
            wanted = f"no GPU task {name!r}"
            wanted += "" if gpus is None else f" with gpus={gpus}"
            wanted += "" if on is None else f" on {', '.join(on)}"
            nearest = _nearest(misses) or _otherwise(most_alike(tasks, name))
            raise AssertionError(_report(wanted, nearest, task_table(self.fleet), pool_table(self.fleet)))
        return self

    def has_pool(
        self,
        name: str,
        *,
        instance_types: str | Iterable[str] | None = None,
        purchase: PurchaseOption | str | None = None,
        min_instances: int | None = None,
        max_instances: int | None = None,
    ) -> GpuAssertions:
        """There is a capacity provider, Auto Scaling group or compute environment.

        Args:
            name: Its construct id or the end of its path, the name of its provider or its logical id.
            instance_types: Instance types or families; it launches these and no other.
            purchase: How its hosts are bought, such as ``spot``.
            min_instances: Hosts that are always there.
            max_instances: Hosts at most.

        Raises:
            AssertionError: There is no such pool.
            InvalidValueError: `purchase` is not a way of buying, or another argument is not a name or not a number.
            UnknownNameError: No instance type or family is called so.
        """
        __tracebackhide__ = True
        name_of(name, "name")
        min_instances = None if min_instances is None else count(min_instances, "min_instances")
        max_instances = None if max_instances is None else count(max_instances, "max_instances")
        instance_types = None if instance_types is None else names_in(instance_types, "instance_types")
        allowed, bought = (
            types_named(instance_types, "instance_types", self.fleet.declared),
            None if purchase is None else one_of(PurchaseOption, purchase, "purchase"),
        )
        misses: dict[str, list[str]] = {}
        for pool in all_called(self.fleet.pools, name):
            reasons = misses[pool.name] = []
            if allowed is not None and not _launches_only(pool, allowed):
                reasons.append(f"launches {types_of(pool)}")
            if bought is not None and pool.bought.option is not bought:
                reasons.append(f"is bought {pool.bought.option}")
            if min_instances not in {None, pool.min_instances} or max_instances not in {None, pool.max_instances}:
                reasons.append(f"has {host_numbers(pool)} hosts")
        if all(misses.values()):
            wanted = {"purchase": bought, "min_instances": min_instances, "max_instances": max_instances}
            asked = [f"{key}={value}" for key, value in wanted.items() if value is not None]
            asked += [] if instance_types is None else [f"instance_types={', '.join(instance_types)}"]
            text = " with ".join([f"no pool {name!r}", *([", ".join(asked)] if asked else [])])
            nearest = _nearest(misses) or _otherwise(most_alike(self.fleet.pools, name))
            raise AssertionError(_report(text, nearest, pool_table(self.fleet)))
        return self

    def uses_image(self, name: str, *, release: str | None = None, pool: str | None = None) -> GpuAssertions:
        """Every pool with accelerators runs this machine image.

        Args:
            name: Name of the image, such as ``al2023-gpu``.
            release: The release that it is pinned to.
            pool: This pool only, see `has_pool`.

        Raises:
            AssertionError: One of them runs another, or there is none.
            UnknownNameError: No image is called so.
        """
        __tracebackhide__ = True
        wanted = image(name_of(name, "name"))
        release = None if release is None else name_of(release, "release")
        text = f"image {name}" + ("" if release is None else f", release {release}")

        def reason(each: Pool) -> str | None:
            runs = each.image
            same = not isinstance(runs, Unknown) and runs.image.name == wanted.name and release in {None, runs.release}
            return None if same else f"runs {image_of(runs)}"

        return self._every_pool(f"not every pool runs {text}", pool, reason)

    def scales_to_zero(self, *, pool: str | None = None) -> GpuAssertions:
        """No pool with accelerators keeps a host that no task needs.

        Args:
            pool: This pool only, see `has_pool`.

        Raises:
            AssertionError: One of them does, or there is none.
        """
        __tracebackhide__ = True

        def reason(each: Pool) -> str | None:
            if each.kind is PoolKind.INSTANCE:
                return "is an instance, which nothing stops"
            if each.min_instances != 0:
                return f"keeps {each.min_instances} hosts"
            if each.kind is PoolKind.AUTO_SCALING_GROUP and not each.is_scaled_by_ecs:
                return "has no managed scaling that would stop its hosts"
            return None

        return self._every_pool("not every pool scales to zero", pool, reason)

    def launches_at_most(self, instances: int, *, pool: str | None = None) -> GpuAssertions:
        """All pools with accelerators together launch no more hosts.

        Args:
            instances: The most.
            pool: This pool only, see `has_pool`.

        Raises:
            AssertionError: There may be more, or the number is not known.
            InvalidValueError: `instances` is not a number.
        """
        __tracebackhide__ = True
        count(instances, "instances")
        pools = self._pools(pool)
        most = [each.max_instances for each in pools]
        open_ended = [each.name for each in pools if isinstance(each.max_instances, Unknown)]
        total = sum(each for each in most if not isinstance(each, Unknown))
        if open_ended or total > instances:
            unknown = f", and as many as is only known at deploy time on {', '.join(open_ended)}" if open_ended else ""
            raise AssertionError(
                _report(
                    f"more than {instances} hosts with accelerators: up to {total}{unknown}", pool_table(self.fleet)
                )
            )
        return self

    def every_gpu_task_is_placeable(self) -> GpuAssertions:
        """There are tasks that ask for GPUs, and each fits every pool that gets some by its services' strategies.

        A task that no service runs, or one with a launch type, fits one pool at least. Whatever can only be known at
        deploy time, or on a running host, counts as no fit.

        Raises:
            AssertionError: One may not be placed, or there is none.
        """
        __tracebackhide__ = True
        tasks = gpu_tasks(self.fleet)
        misses = {task.name: self._unplaceable(task) for task in tasks}
        failed = {name: reasons for name, reasons in misses.items() if reasons}
        if failed or not tasks:
            wanted = f"{len(failed)} of {len(tasks)} GPU tasks cannot be placed for certain" if tasks else "no GPU task"
            lines = [f"task {name!r} {reason}" for name, reasons in failed.items() for reason in reasons]
            raise AssertionError(_report(wanted, *lines, task_table(self.fleet), pool_table(self.fleet)))
        return self

    def has_no_findings(
        self, *, at_least: Severity | str = Severity.WARNING, ignore: str | Iterable[str] = ()
    ) -> GpuAssertions:
        """The rules have nothing to say.

        Args:
            at_least: The least severity that counts: ``error``, ``warning`` or ``info``.
            ignore: Ids of rules that do not count, such as ``GPU002``. One that is part of another rule now stands for
                what that finds and is no error.

        Raises:
            AssertionError: They have.
            InvalidValueError: `at_least` is not a severity, or `ignore` is not a list of names.
            UnknownNameError: No rule has such an id.
        """
        __tracebackhide__ = True
        least = one_of(Severity, at_least, "at_least")
        named = tuple(map(known_id, names_in(ignore, "ignore")))
        parts = set(map(id_now, named))
        found = [
            each
            for each in self.findings
            if each.severity.rank <= least.rank
            and each.rule not in named
            and (each.rule not in parts or each.severity is Severity.ERROR)
        ]
        if found:
            wanted = f"{len(found)} findings of {least} or worse"
            raise AssertionError(_report(wanted, finding_lines(found), *what_became_of(named)))
        return self

    def _misses(self, task: Task, gpus: int | None, allowed: frozenset[str] | None) -> list[str]:
        reasons = []
        if gpus is not None and (task.gpus != gpus or task.gpu_part):
            reasons.append(f"asks for {amount_of_gpus(task)} GPUs")
        if allowed is None:
            return reasons
        routes = routes_of(self.fleet, task)
        types = types_reached(routes)
        if not types or not {each.name for each in types} <= allowed:
            reasons.append(f"may run on {', '.join(each.name for each in types) or 'nothing that is known'}")
        reasons += [
            f"may run on {each.pool.name}, whose instance types are not known"
            for route in routes
            for each in route.destinations
            if each.fit.answer is not False and not each.pool.types_are_known
        ]
        return reasons + [_sent_to(each) for route in routes for each in route.elsewhere]

    def _unplaceable(self, task: Task) -> list[str]:
        reasons = []
        for route in routes_of(self.fleet, task):
            reasons += [_sent_to(each) for each in route.elsewhere if each.answer is not True]
            if not route.destinations and not route.elsewhere:
                reasons.append("has no pool to run on")
            reasons += [
                f"{'does not fit' if each.answer is False else 'may not fit'} on {each.pool.name}: "
                f"{'; '.join(each.reasons)}"
                for each in route.unsettled
            ]
        return reasons

    def _pools(self, name: str | None) -> tuple[Pool, ...]:
        __tracebackhide__ = True
        if name is None:
            return gpu_pools(self.fleet)
        pools = all_called(self.fleet.pools, name_of(name, "pool"))
        if not pools:
            nearest = _otherwise(most_alike(self.fleet.pools, name))
            raise AssertionError(_report(f"no pool {name!r}", nearest, pool_table(self.fleet)))
        return pools

    def _every_pool(self, failure: str, name: str | None, reason: Callable[[Pool], str | None]) -> GpuAssertions:
        __tracebackhide__ = True
        pools = self._pools(name)
        failed = [f"pool {each.name!r} {why}" for each in pools if (why := reason(each)) is not None]
        if failed or not pools:
            raise AssertionError(_report(failure, *failed, pool_table(self.fleet)))
        return self


def _launches_only(pool: Pool, allowed: frozenset[str]) -> bool:
    return pool.types_are_known and {each.name for each in pool.instance_types} <= allowed


def _sent_to(elsewhere: Elsewhere) -> str:
    return f"is sent to {elsewhere.text}{f': {elsewhere.why}' if elsewhere.why else ' that is not here'}"


def _otherwise(nearest: Sequence[str]) -> str:
    return f"nearest: {nearest[0]!r}" if nearest else ""


def _nearest(misses: dict[str, list[str]]) -> str:
    """The one that has least wrong with it."""
    if not misses:
        return ""
    name = min(misses, key=lambda each: len(misses[each]))
    return f"nearest: {name!r} {' and '.join(misses[name])}"


def _report(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
