"""What the arguments of assertions stand for, and the tables under a failed one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpu_constructs.errors import InvalidValueError, UnknownNameError, argument_named, shown
from gpu_constructs.facts import InstanceType, family, instance_type, may_exist
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES, for_one_check
from gpu_constructs.fleet import Fleet, HostImage, Pool, Task, Unknown
from gpu_constructs.placement.destinations import routes_of
from gpu_constructs.placement.route import Route
from gpu_constructs.rules import Finding


def name_of(value: str, argument: str) -> str:
    """A name; an empty one would match everything."""
    if not isinstance(value, str) or not value:
        raise InvalidValueError(f"got {shown(value)}", argument=argument, value=value, allowed="a name")
    return value


def types_named(names: Iterable[str], argument: str, declared: Iterable[InstanceType]) -> frozenset[str]:
    """Names of all types of some types and families."""
    with for_one_check({each.name: each for each in declared}), argument_named(argument):
        return frozenset(each.name for name in names for each in _types_of(name))


def _types_of(name: str) -> tuple[InstanceType, ...]:
    if "." not in name:
        return family(name)
    try:
        return (instance_type(name),)
    except UnknownNameError as error:
        if error.fix is not None and may_exist(name):
            error.fix += f", and gpus(…, configuration={CONFIGURATION_FILES[0]!r}) for a test"
        raise


def names_in(names: str | Iterable[str], argument: str) -> tuple[str, ...]:
    """One name or several."""
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (None,)
    if not all(isinstance(each, str) for each in found):
        raise InvalidValueError(
            f"got {shown(names)}", argument=argument, value=names, allowed="a name, or a list of names"
        )
    return tuple(str(each) for each in found)


_MOST_ROWS = 20
_MOST_NAMES = 4


def gpu_tasks(fleet: Fleet) -> tuple[Task, ...]:
    """Tasks that ask for GPUs."""
    return tuple(task for task in fleet.tasks if task.wants_gpu)


def gpu_pools(fleet: Fleet) -> tuple[Pool, ...]:
    """Pools that may launch a type with accelerators; one whose types are not known is among them."""
    return tuple(
        pool
        for pool in fleet.pools
        if not pool.types_are_known or any(each.accelerators is not None for each in pool.instance_types)
    )


def types_reached(routes: Iterable[Route]) -> tuple[InstanceType, ...]:
    """Types on which a task may come to run, each once; those that may or may not fit are among them."""
    pools = (each for route in routes for each in route.destinations if each.fit.answer is not False)
    return tuple(dict.fromkeys(host for each in pools for host in each.types))


def task_table(fleet: Fleet) -> str:
    """Tasks with GPUs and where they may run."""
    rows = [
        (task.name, amount_of_gpus(task), _listed(types_reached(routes_of(fleet, task)), "nowhere"))
        for task in gpu_tasks(fleet)
    ]
    return _table("tasks with GPUs", ("name", "GPUs", "may run on"), rows)


def pool_table(fleet: Fleet) -> str:
    """Pools with accelerators and what they launch."""
    rows = [
        (pool.name, types_of(pool), host_numbers(pool), image_of(pool.image), str(pool.bought.option))
        for pool in gpu_pools(fleet)
    ]
    return _table("pools with accelerators", ("name", "instance types", "hosts", "image", "bought"), rows)


def amount_of_gpus(task: Task) -> str:
    """The GPUs that a task asks for, in words."""
    if task.takes_all_gpus:
        return "ALL of its host"
    if isinstance(task.gpus, Unknown):
        return str(task.gpus)
    if task.gpu_part:
        return f"{task.gpu_part:g}"
    return "a share through MPS" if not task.gpus and task.shares_gpu else str(task.gpus)


def types_of(pool: Pool) -> str:
    """The types of a pool, in words."""
    listed = _listed((*(each.label for each in pool.instance_types), *pool.unknown_type_names), "")
    more = "types unknown at synth" if pool.has_unknown_types else ""
    return " and ".join(each for each in (listed, more) if each) or "none"


def host_numbers(pool: Pool) -> str:
    """How many hosts a pool has, in words."""
    return f"{pool.min_instances} to {pool.max_instances}"


def image_of(image: HostImage | Unknown) -> str:
    """An image with its release, in words."""
    return str(image) if isinstance(image, Unknown) else f"{image.image.name} ({image.release or 'the newest'})"


def finding_lines(findings: Iterable[Finding]) -> str:
    """Findings with their place and fix, a line or two each."""
    return _cut([f"  {_place(each)}{each.severity} {each.rule}: {each.message}{_fix(each)}" for each in findings])


def _place(finding: Finding) -> str:
    origin = finding.origin
    if origin is None:
        return f"{finding.subject}: "
    line = "" if origin.line is None else f":{origin.line}"
    file = "" if origin.file in {None, "-"} else f"{origin.file}{line} "
    return f"{file}{finding.subject}: "


def _fix(finding: Finding) -> str:
    return f"\n    fix: {finding.fix}" if finding.fix else ""


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
