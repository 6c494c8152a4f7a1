"""``gpu-constructs explain``: host by host, whether a task fits, why not, and the smallest change that would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.check.pool_answers import PoolAnswer, found_by, pools_of_task
from gpu_constructs.cli.inputs import add_inputs, reviewed
from gpu_constructs.cli.options import add_format
from gpu_constructs.cli.output import Line, fix_lines, hanging, headed, pieces, write_report
from gpu_constructs.errors import UnknownNameError, brief, counted
from gpu_constructs.facts.budget import LABEL, MESSAGE
from gpu_constructs.facts.prices import on_demand_price
from gpu_constructs.fleet import Fleet, Task, Unknown, Workload
from gpu_constructs.fleet.workload import find_task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import answer_of, routes_of
from gpu_constructs.placement.fit import alternatives
from gpu_constructs.placement.reach import tasks_of
from gpu_constructs.placement.route import Answer, Elsewhere, Route
from gpu_constructs.rules import Finding, Severity, rules_without
from gpu_constructs.rules.finding import and_list, or_list
from gpu_constructs.rules.scaling.managed_scaling import has_a_first_host
from gpu_constructs.rules.tasks.images import recent_driver, still_compiled

_YES, _NO, _OPEN = "fits", "does not fit", "not known"
_STYLES = {_YES: "good", _NO: "error", _OPEN: "warning"}

EXAMPLES = """\
examples:
  gpu-constructs explain Chat cdk.out
  gpu-constructs explain Demo/Chat template.yaml --region eu-west-1
  aws ecs describe-task-definition --task-definition chat | gpu-constructs explain chat - template.yaml

exit codes:
  0 it certainly runs wherever it is sent, 1 it does not or may not, 2 wrong usage or a file that cannot be read
"""


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK",
        help="name, logical id, family or construct path of a task definition, or of what runs it",
    )
    add_inputs(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explains where a task fits.

    Returns:
        0 if it certainly fits wherever it is sent, something starts a host for it, its images run there, and nothing
        else keeps it from running, else 1.
    """
    configuration = found_configuration(arguments.config, arguments.paths)
    report = reviewed(arguments, configuration, rules=rules_without(configuration.ignore))
    fleet = report.fleet
    task = _task_called(fleet, arguments.task)
    routes = routes_of(fleet, task)
    senders = {each.workload.name for each in routes if each.workload is not None}
    waits = found_by(fleet, has_a_first_host, about=senders)
    fails = found_by(fleet, recent_driver, still_compiled, about={task.name})
    answer, pools = answer_of(routes), pools_of_task(fleet, task, routes)
    # A pool without room for it matters only where no other pool is enough.
    meant = (each for each in pools if each.counts and (each.destination.answer is True or not each.is_aside))
    about = {task.name, *senders, *(each.destination.pool.name for each in meant)}
    told = {each.rule for each in (*waits, *fails)}
    known = [each for each in report.findings if each.subject in about and each.rule not in told]
    errors = [each for each in known if each.severity is Severity.ERROR]
    elsewhere = tuple(dict.fromkeys(each for route in routes for each in route.elsewhere))
    asks = "; ".join((_asked(task), *_overridden(task, routes)))
    others = errors if answer is True else []
    write_report(
        arguments,
        lambda: {
            **_facts(task, answer, pools, elsewhere),
            "no_first_host": [each.message for each in waits],
            "image_fails": [each.message for each in fails],
            "errors": [f"{each.rule} {each.message}" for each in errors],
        },
        lambda width: _lines(
            task, asks, answer, pools, elsewhere, width=width, waits=waits, fails=fails, others=others
        ),
    )
    return 0 if answer is True and not waits and not fails and not errors else 1


def _task_called(fleet: Fleet, name: str) -> Task:
    """The task definition of a name, or the one that a service or a job of that name runs."""
    try:
        return find_task(tasks_of(fleet), name, argument="TASK")
    except UnknownNameError:
        run = {each.task.name: each.task for each in fleet.workloads if each.task is not None and _is_part(each, name)}
        if len(run) != 1:
            raise
        return next(iter(run.values()))


def _is_part(workload: Workload, name: str) -> bool:
    """Whether what runs a task is called so, or is part of the construct of a name."""
    if workload.origin is None:
        return name == workload.name
    path = workload.origin.construct_path
    is_inside = path is not None and f"/{name}/" in f"/{path.rpartition('/')[0]}/"
    return is_inside or name in {workload.name, workload.origin.resource}


def _overridden(task: Task, routes: Sequence[Route]) -> Iterator[str]:
    """What it asks for where something runs it with other sizes."""
    for each in routes:
        if each.workload is not None and _asked(each.task) != _asked(task):
            yield f"{_asked(each.task)} where {brief(each.workload.name, LABEL)} runs it"


def _lines(
    task: Task,
    asks: str,
    answer: Answer,
    pools: Sequence[PoolAnswer],
    elsewhere: Sequence[Elsewhere],
    *,
    width: int,
    waits: Sequence[Finding],
    fails: Sequence[Finding],
    others: Sequence[Finding],
) -> Iterator[Line]:
    yield from headed([(brief(task.name, LABEL), "title"), (f" asks for {asks}", "")], width=width)
    for found in pools:
        yield []
        yield from _of_pool(found, width)
    for each in elsewhere:
        aside = ", which is not in these files: " if isinstance(each.answer, Unknown) else ": "
        yield []
        word = _word(each.answer)
        yield from headed([(brief(each.text, LABEL), "title"), (aside, "aside"), (word, _STYLES[word])], width=width)
        if each.why:
            yield [(f"  {each.why}", "")]
    for finding in (*waits, *fails, *others):
        yield []
        yield from pieces(f"{finding.rule} " if finding in others else "", brief(finding.message, MESSAGE), width)
        yield from fix_lines(2, finding.fix, width)
    yield []
    if waits and all(each.destination.answer is True for each in pools if each.counts):
        yield [("it fits, and nothing starts a host for it", "error")]
        return
    if fails and answer is True:
        verb = "may not" if all(each.severity is Severity.WARNING for each in fails) else "does not"
        yield [(f"it fits, and its container image {verb} run there", "error")]
        return
    if others:
        yield [(f"there is room for it, and it does not run there: {and_list(each.rule for each in others)}", "error")]
        return
    if pools or elsewhere:
        yield [(_summary(answer, pools), _STYLES[_word(answer)])]
        return
    fitting = alternatives(task)
    yield [("no hosts are defined for it in what was read", "warning")]
    if fitting:
        yield [(f"instance types that it fits on: {or_list(fitting[:3])}", "")]


def _summary(answer: Answer, pools: Sequence[PoolAnswer]) -> str:
    if isinstance(answer, Unknown):
        return "it is not known before the deploy"
    if answer:
        return "it fits"
    fits_somewhere = any(each.counts and each.destination.answer is True for each in pools)
    return "it does not fit everywhere that it is sent" if fits_somewhere else "it fits nowhere that it may come to"


def _of_pool(found: PoolAnswer, width: int) -> Iterator[Line]:
    word = _word(found.destination.answer)
    verb = "places" if len(found.services) == 1 else "place"
    where = f", where {and_list(brief(each, LABEL) for each in found.services)} {verb} it" if found.services else ""
    aside = "" if found.counts else ", where no service places it"
    hosts = found.destination.by_type
    name = brief(found.destination.pool.name, LABEL)
    yield from headed([(name, "title"), (f"{where}{aside}: ", "aside"), (word, _STYLES[word])], width=width)
    if found.is_aside and found.destination.answer is not True:
        yield from pieces("  ", brief(next(iter(found.destination.reasons), "")), width, style="aside")
        return
    column = max((len(each.instance_type.label) for each in hosts), default=0)
    for host in hosts:
        answer = _word(host.answer)
        start = f"  {host.instance_type.label:<{column}}  "
        indent = len(start) + max(map(len, _STYLES)) + 2
        price = on_demand_price(host.instance_type.name, found.destination.pool.region)
        said = "; ".join(host.reasons) or str(price or "")
        head = [(start, ""), (answer, _STYLES[answer])]
        gap = " " * (indent - len(start) - len(answer))
        yield from hanging([*head, (gap, "")], brief(said, MESSAGE), width) if said else [head]
    for reason in found.reasons:
        yield from pieces("  ", brief(reason, MESSAGE), width)
    yield from fix_lines(2, found.fix, width)
    yield from pieces("  considered: ", found.choice, width, style="aside")


def _asked(task: Task) -> str:
    asked = [
        _gpus(task),
        f"{task.cpu} CPU units",
        f"{task.memory_mib} MiB of memory",
    ]
    if task.gpu_memory_mib is not None:
        asked.append(f"{task.gpu_memory_mib} MiB on each GPU")
    return and_list(asked)


def _gpus(task: Task) -> str:
    if task.takes_all_gpus:
        return "every GPU of its host"
    demand = demand_of(task)
    if task.shares_gpu:
        return f"{demand.shared_memory_mib} MiB of a shared GPU" if demand.shared_memory_mib else "a share of a GPU"
    if task.gpu_part:
        return "a part of a GPU"
    if demand.neuron or demand.neuron_devices:
        return counted(demand.neuron_devices, "Neuron device") if demand.neuron_devices else "Neuron devices"
    if not task.wants_gpu:
        return "no GPU"
    return f"{task.gpus} GPU{'' if task.gpus == 1 else 's'}"


def _word(answer: Answer) -> str:
    if isinstance(answer, Unknown):
        return _OPEN
    return _YES if answer else _NO


def _facts(
    task: Task, answer: Answer, pools: Sequence[PoolAnswer], elsewhere: Sequence[Elsewhere]
) -> dict[str, object]:
    """An answer is true, false, or null where it is not known."""
    return {
        "task": task.name,
        "fits": _json(answer),
        "pools": [
            {
                "pool": found.destination.pool.name,
                "services": list(found.services),
                "counts": found.counts,
                "fits": _json(found.destination.answer),
                "reasons": list(found.reasons),
                "fix": found.fix,
                "considered": [
                    {"instance_type": name, "usd_per_hour": None if price is None else price.usd_per_hour}
                    for name, price in found.considered
                ],
                "hosts": [
                    {
                        "instance_type": each.instance_type.name,
                        "declared": each.instance_type.declared,
                        "fits": _json(each.answer),
                        "reasons": list(each.reasons),
                    }
                    for each in found.destination.by_type
                ],
            }
            for found in pools
        ],
        "elsewhere": [{"where": each.text, "fits": _json(each.answer)} for each in elsewhere],
    }


def _json(answer: Answer) -> bool | None:
    return None if isinstance(answer, Unknown) else answer
