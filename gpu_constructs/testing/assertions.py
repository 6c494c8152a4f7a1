"""What a test can say about the GPUs of a template."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpu_constructs.check.report import Report
from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.facts import image
from gpu_constructs.fleet import Fleet, Pool, PoolKind, Task, Unknown
from gpu_constructs.fleet.workload import find_task, most_alike
from gpu_constructs.placement.destinations import routes_of
from gpu_constructs.placement.route import Elsewhere
from gpu_constructs.rules import Finding, Severity, known_id
from gpu_constructs.rules.retired import id_now, what_became_of
from gpu_constructs.testing.tables import (
    amount_of_gpus,
    finding_lines,
    gpu_pools,
    gpu_tasks,
    image_of,
    name_of,
    names_in,
    pool_table,
    task_table,
    types_named,
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
        """
        __tracebackhide__ = True
        name_of(name, "name")
        if gpus is not None and (not isinstance(gpus, int) or isinstance(gpus, bool) or gpus < 0):
            allowed = "a whole number, 0 or more"
            raise InvalidValueError(f"got {shown(gpus)}", argument="gpus", value=gpus, allowed=allowed)
        on = None if on is None else names_in(on, "on")
        types = None if on is None else types_named(on, "on", self.fleet.declared)
        tasks = gpu_tasks(self.fleet)
        try:
            task = find_task(tasks, name, argument="name")
        except UnknownNameError:
            alike = most_alike(tasks, name)
            nearest = f"nearest: {alike[0]!r}" if alike else ""
        except InvalidValueError as error:
            raise AssertionError(_report(str(error), task_table(self.fleet))) from None
        else:
            misses = self._misses(task, gpus, types)
            if not misses:
                return self
            nearest = f"nearest: {task.name!r} {' and '.join(misses)}"
        wanted = f"no GPU task {name!r}"
        wanted += "" if gpus is None else f" with gpus={gpus}"
        wanted += "" if on is None else f" on {', '.join(on)}"
        raise AssertionError(_report(wanted, nearest, task_table(self.fleet), pool_table(self.fleet)))

    def uses_image(self, name: str, *, release: str | None = None) -> GpuAssertions:
        """Every pool with accelerators runs this machine image.

        Args:
            name: Name of the image, such as ``al2023-gpu``.
            release: The release that it is pinned to.
        """
        __tracebackhide__ = True
        wanted = image(name_of(name, "name"))
        release = None if release is None else name_of(release, "release")
        text = f"image {name}" + ("" if release is None else f", release {release}")

        def reason(each: Pool) -> str | None:
            runs = each.image
            same = not isinstance(runs, Unknown) and runs.image.name == wanted.name and release in {None, runs.release}
            return None if same else f"runs {image_of(runs)}"

        return self._every_pool(f"not every pool runs {text}", reason)

    def scales_to_zero(self) -> GpuAssertions:
        """No pool with accelerators keeps a host that no task needs."""
        __tracebackhide__ = True

        def reason(each: Pool) -> str | None:
            if each.kind is PoolKind.INSTANCE:
                return "is an instance, which nothing stops"
            if each.min_instances != 0:
                return f"keeps {each.min_instances} hosts"
            if each.kind is PoolKind.AUTO_SCALING_GROUP and not each.is_scaled_by_ecs:
                return "has no managed scaling that would stop its hosts"
            return None

        return self._every_pool("not every pool scales to zero", reason)

    def every_gpu_task_is_placeable(self) -> GpuAssertions:
        """There are tasks that ask for GPUs, and each fits every pool that gets some by its services' strategies.

        A task that no service runs, or one with a launch type, fits one pool at least. Whatever can only be known at
        deploy time, or on a running host, counts as no fit.
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
        """
        __tracebackhide__ = True
        if at_least not in list(Severity):
            allowed = ", ".join(Severity)
            raise InvalidValueError(f"got {shown(at_least)}", argument="at_least", value=at_least, allowed=allowed)
        least = Severity(at_least)
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

    def _every_pool(self, failure: str, reason: Callable[[Pool], str | None]) -> GpuAssertions:
        __tracebackhide__ = True
        pools = gpu_pools(self.fleet)
        failed = [f"pool {each.name!r} {why}" for each in pools if (why := reason(each)) is not None]
        if failed or not pools:
            raise AssertionError(_report(failure, *failed, pool_table(self.fleet)))
        return self


def _sent_to(elsewhere: Elsewhere) -> str:
    return f"is sent to {elsewhere.text}{f': {elsewhere.why}' if elsewhere.why else ' that is not here'}"


def _report(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
