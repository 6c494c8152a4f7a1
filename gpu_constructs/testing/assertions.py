"""What a test can say about the GPUs of a template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpu_constructs.check.report import Report
from gpu_constructs.errors import InvalidValueError, UnknownNameError, argument_named, shown
from gpu_constructs.facts import InstanceType, family, image, instance_type, may_exist
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES, for_one_check
from gpu_constructs.fleet import Fleet, HostImage, Pool, PoolKind, Task, Unknown
from gpu_constructs.fleet.workload import find_task, most_alike
from gpu_constructs.placement.destinations import routes_of
from gpu_constructs.placement.route import Elsewhere, Route
from gpu_constructs.rules import Finding, Severity, known_id
from gpu_constructs.rules.other_ids import id_now, what_became_of


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
        _name_of(name, "name")
        if gpus is not None and (not isinstance(gpus, int) or isinstance(gpus, bool) or gpus < 0):
            allowed = "a whole number, 0 or more"
            raise InvalidValueError(f"got {shown(gpus)}", argument="gpus", value=gpus, allowed=allowed)
        on = None if on is None else _names_in(on, "on")
        types = None if on is None else _types_named(on, "on", self.fleet.declared)
        tasks = _gpu_tasks(self.fleet)
        try:
            task = find_task(tasks, name, argument="name")
        except UnknownNameError:
            alike = most_alike(tasks, name)
            nearest = f"nearest: {alike[0]!r}" if alike else ""
        except InvalidValueError as error:
            raise AssertionError(_report(str(error), _task_table(self.fleet))) from None
        else:
            misses = self._misses(task, gpus, types)
            if not misses:
                return self
            nearest = f"nearest: {task.name!r} {' and '.join(misses)}"
        wanted = f"no GPU task {name!r}"
        wanted += "" if gpus is None else f" with gpus={gpus}"
        wanted += "" if on is None else f" on {', '.join(on)}"
        raise AssertionError(_report(wanted, nearest, _task_table(self.fleet), _pool_table(self.fleet)))

    def uses_image(self, name: str, *, release: str | None = None) -> GpuAssertions:
        """Every pool with accelerators runs this machine image.

        Args:
            name: Name of the image, such as ``al2023-gpu``.
            release: The release that it is pinned to.
        """
        __tracebackhide__ = True
        wanted = image(_name_of(name, "name"))
        release = None if release is None else _name_of(release, "release")
        text = f"image {name}" + ("" if release is None else f", release {release}")

        def reason(each: Pool) -> str | None:
            runs = each.image
            same = not isinstance(runs, Unknown) and runs.image.name == wanted.name and release in {None, runs.release}
            return None if same else f"runs {_image_of(runs)}"

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
        tasks = _gpu_tasks(self.fleet)
        misses = {task.name: self._unplaceable(task) for task in tasks}
        failed = {name: reasons for name, reasons in misses.items() if reasons}
        if failed or not tasks:
            wanted = f"{len(failed)} of {len(tasks)} GPU tasks cannot be placed for certain" if tasks else "no GPU task"
            lines = [f"task {name!r} {reason}" for name, reasons in failed.items() for reason in reasons]
            raise AssertionError(_report(wanted, *lines, _task_table(self.fleet), _pool_table(self.fleet)))
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
        named = tuple(map(known_id, _names_in(ignore, "ignore")))
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
            raise AssertionError(_report(wanted, _finding_lines(found), *what_became_of(named)))
        return self

    def _misses(self, task: Task, gpus: int | None, allowed: frozenset[str] | None) -> list[str]:
        reasons = []
        if gpus is not None and (task.gpus != gpus or task.gpu_part):
            reasons.append(f"asks for {_amount_of_gpus(task)} GPUs")
        if allowed is None:
            return reasons
        routes = routes_of(self.fleet, task)
        types = _types_reached(routes)
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
        pools = _gpu_pools(self.fleet)
        failed = [f"pool {each.name!r} {why}" for each in pools if (why := reason(each)) is not None]
        if failed or not pools:
            raise AssertionError(_report(failure, *failed, _pool_table(self.fleet)))
        return self


def _sent_to(elsewhere: Elsewhere) -> str:
    return f"is sent to {elsewhere.text}{f': {elsewhere.why}' if elsewhere.why else ' that is not here'}"


def _report(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _name_of(value: str, argument: str) -> str:
    """A name; an empty one would match everything."""
    if not isinstance(value, str) or not value:
        raise InvalidValueError(f"got {shown(value)}", argument=argument, value=value, allowed="a name")
    return value


def _types_named(names: Iterable[str], argument: str, declared: Iterable[InstanceType]) -> frozenset[str]:
    with for_one_check({each.name: each for each in declared}), argument_named(argument):
        return frozenset(each.name for name in names for each in _types_called(name))


def _types_called(name: str) -> tuple[InstanceType, ...]:
    if "." not in name:
        return family(name)
    try:
        return (instance_type(name),)
    except UnknownNameError as error:
        if error.fix is not None and may_exist(name):
            error.fix += f", and gpus(…, configuration={CONFIGURATION_FILES[0]!r}) for a test"
        raise


def _names_in(names: str | Iterable[str], argument: str) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (None,)
    if not all(isinstance(each, str) for each in found):
        raise InvalidValueError(
            f"got {shown(names)}", argument=argument, value=names, allowed="a name, or a list of names"
        )
    return tuple(str(each) for each in found)


_MOST_ROWS = 20
_MOST_NAMES = 4


def _gpu_tasks(fleet: Fleet) -> tuple[Task, ...]:
    return tuple(task for task in fleet.tasks if task.wants_gpu)


def _gpu_pools(fleet: Fleet) -> tuple[Pool, ...]:
    """Pools that may launch a type with accelerators; one whose types are not known is among them."""
    return tuple(
        pool
        for pool in fleet.pools
        if not pool.types_are_known or any(each.accelerators is not None for each in pool.instance_types)
    )


def _types_reached(routes: Iterable[Route]) -> tuple[InstanceType, ...]:
    """Types on which a task may come to run, each once; those that may or may not fit are among them."""
    pools = (each for route in routes for each in route.destinations if each.fit.answer is not False)
    return tuple(dict.fromkeys(host for each in pools for host in each.types))


def _task_table(fleet: Fleet) -> str:
    rows = [
        (task.name, _amount_of_gpus(task), _listed(_types_reached(routes_of(fleet, task)), "nowhere"))
        for task in _gpu_tasks(fleet)
    ]
    return _table("tasks with GPUs", ("name", "GPUs", "may run on"), rows)


def _pool_table(fleet: Fleet) -> str:
    rows = [
        (
            pool.name,
            _types_of(pool),
            f"{pool.min_instances} to {pool.max_instances}",
            _image_of(pool.image),
            str(pool.bought.option),
        )
        for pool in _gpu_pools(fleet)
    ]
    return _table("pools with accelerators", ("name", "instance types", "hosts", "image", "bought"), rows)


def _amount_of_gpus(task: Task) -> str:
    if task.takes_all_gpus:
        return "ALL of its host"
    if isinstance(task.gpus, Unknown):
        return str(task.gpus)
    if task.gpu_part:
        return f"{task.gpu_part:g}"
    return "a share through MPS" if not task.gpus and task.shares_gpu else str(task.gpus)


def _types_of(pool: Pool) -> str:
    listed = _listed((*(each.label for each in pool.instance_types), *pool.unknown_type_names), "")
    more = "types unknown at synth" if pool.has_unknown_types else ""
    return " and ".join(each for each in (listed, more) if each) or "none"


def _image_of(image: HostImage | Unknown) -> str:
    return str(image) if isinstance(image, Unknown) else f"{image.image.name} ({image.release or 'the newest'})"


def _finding_lines(findings: Iterable[Finding]) -> str:
    fixes = ((each, f"\n    fix: {each.fix}" if each.fix else "") for each in findings)
    return _cut([f"  {_place(each)}{each.severity} {each.rule}: {each.message}{fix}" for each, fix in fixes])


def _place(finding: Finding) -> str:
    origin = finding.origin
    if origin is None:
        return f"{finding.subject}: "
    line = "" if origin.line is None else f":{origin.line}"
    file = "" if origin.file in {None, "-"} else f"{origin.file}{line} "
    return f"{file}{finding.subject}: "


def _listed(names: Iterable[object], none: str) -> str:
    texts = [str(each) for each in names]
    more = f" and {len(texts) - _MOST_NAMES} more" if len(texts) > _MOST_NAMES else ""
    return ", ".join(texts[:_MOST_NAMES]) + more if texts else none


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return f"{title}: none"
    widths = [max(len(row[column]) for row in (head, *rows[:_MOST_ROWS])) for column in range(len(head))]
    lines = [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
    return f"{title}:\n{lines[0]}\n{_cut(lines[1:])}"


def _cut(lines: Sequence[str]) -> str:
    more = [f"  and {len(lines) - _MOST_ROWS} more"] if len(lines) > _MOST_ROWS else []
    return "\n".join([*lines[:_MOST_ROWS], *more])
