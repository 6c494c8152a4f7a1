"""One host as a drawing: its accelerators as slots, the tasks on them, and what they take of vCPUs and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpu_constructs.budget import DRAWN_ROWS
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.host_layout import Bar, Devices, HostLayout, LaidTask, PoolLayout, Slot, SlotUse
from gpu_constructs.planning.page.markup import hidden, items, key_of, name, text
from gpu_constructs.values import dataclass

_COLUMNS = 8
_COLOURS = 8
_LONG_NAME = 80
_SHORT = {
    SlotUse.FREE: "free",
    SlotUse.STRANDED: "idle",
    SlotUse.DAEMONS: "dmn",
    SlotUse.NOT_KNOWN: "?",
}
_WORDS = {
    Devices.GPU: ("GPU", "GPUs"),
    Devices.GPU_PART: ("part of a GPU", "parts of a GPU"),
    Devices.NEURON: ("Neuron device", "Neuron devices"),
    Devices.OTHER: ("device that ECS does not hand out", "devices that ECS does not hand out"),
}


@dataclass(frozen=True, slots=True)
class _Unit:
    """A resource of a host in numbers for people.

    Attributes:
        title: What it is.
        of_one: How much of what is counted makes one.
        word: What one is called.
    """

    title: str
    of_one: int
    word: str

    def number(self, amount: int) -> str:
        """An amount as a number, with one place after the point where it is small."""
        value = amount / self.of_one
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"  # noqa: PLR2004 - readable


_VCPUS = _Unit("vCPUs", CPU_UNITS_PER_VCPU, "vCPU")
_MEMORY = _Unit("Memory", 1024, "GiB")
_INTERFACES = _Unit("Interfaces", 1, "network interfaces")


def key(place: int, label: str = "") -> str:
    """The mark of a task: its letters in its colour."""
    return f'<span class="key t{place % _COLOURS}">{key_of(place)}{label}</span>'


def amounts(task: LaidTask, devices: Devices | None) -> str:
    """What one copy of a task takes, in markup."""
    need = task.need
    if need is None:
        return ""
    gpus, part, cpu, memory, interfaces = need.units
    many = _WORDS[devices or Devices.GPU][1]
    said = [
        f"{gpus} {'GPU' if gpus == 1 else 'GPUs'}" if gpus else "",
        f"{_MEMORY.number(need.shared_mib)} GiB of a GPU" if need.shared_mib else "",
        "a part of a GPU" if part else "",
        f"all {many}" if devices is Devices.NEURON and need.ports and any(not port for port, _ in need.ports) else "",
        f"{_VCPUS.number(cpu)} {'vCPU' if cpu == CPU_UNITS_PER_VCPU else 'vCPUs'}" if cpu else "",
        f"{_MEMORY.number(memory)} GiB" if memory else "",
        f"{interfaces} network {'interface' if interfaces == 1 else 'interfaces'}" if interfaces else "",
    ]
    parts = [f'<span class="whole">{text(each)}</span>' for each in said if each]
    return ", ".join(parts) or "nothing that a host could run out of"


def host(drawn: HostLayout, pool: PoolLayout, types: str, price: str) -> str:
    """Hosts that look the same, as one item of a list."""
    many = drawn.hosts > 1
    count = f'<span class="times">{drawn.hosts:,} &times;</span> ' if many else ""
    devices = f", {_counted(len(drawn.slots), pool.devices)}" if drawn.slots and pool.devices else ""
    spoken = hidden(f"{drawn.hosts:,} hosts, each: " if many else "One host: ")
    return "".join(
        [
            f'<li class="host{" many" if many else ""}">',
            f'<h4>{spoken}<span aria-hidden="true">{count}</span>{text(types)}</h4>',
            f'<p class="price">{text(price)}{" each" if many else ""}{devices}</p>',
            _slots(drawn, pool),
            items(_on_host(drawn, pool), "on"),
            '<div class="bars">',
            *(_bar(bar, unit) for bar, unit in _bars(drawn)),
            "</div></li>",
        ]
    )


def _slots(drawn: HostLayout, pool: PoolLayout) -> str:
    if not drawn.slots or pool.devices is None:
        return ""
    slots = drawn.slots[: DRAWN_ROWS + 4]
    columns = min(_COLUMNS, len(slots))
    cells = [_slot(slots, place) for place in range(len(slots))]
    label = text(f"{_counted(len(drawn.slots), pool.devices)} of one host: {_spoken(drawn, pool)}")
    return f'<div class="slots n{columns}" role="img" aria-label="{label}">{"".join(cells)}</div>'


def _slot(slots: Sequence[Slot], place: int) -> str:
    slot = slots[place]
    if slot.use is SlotUse.HELD:
        (held,) = slot.copies
        # Slots of one copy that follow each other in one row hang together.
        after = place + 1 < len(slots) and (place + 1) % _COLUMNS and slots[place + 1] == slot
        before = place % _COLUMNS and slots[place - 1] == slot
        joined = f"{' jl' if before else ''}{' jr' if after else ''}"
        return f'<span class="slot t{held.load % _COLOURS}{joined}">{key_of(held.load)}{slot.copy}</span>'
    if slot.use is SlotUse.SHARED:
        marks = "".join(
            f'<span class="t{each.load % _COLOURS}">{key_of(each.load)}{_times(each.number)}</span>'
            for each in slot.copies[:_COLUMNS]
        )
        free = '<span class="left">free</span>' if slot.free_mib else ""
        return f'<span class="slot shared">{marks}{free}</span>'
    return f'<span class="slot {slot.use.name.lower()}">{_SHORT[slot.use]}</span>'


def _times(number: int) -> str:
    return f"&times;{number:,}" if number > 1 else ""


def _counted(number: int, devices: Devices) -> str:
    one, many = _WORDS[devices]
    return f"{number} {one if number == 1 else many}"


def _spoken(drawn: HostLayout, pool: PoolLayout) -> str:
    """The slots of a host for a screen reader."""
    held = Counter(slot.copies[0].load for slot in drawn.slots if slot.use is SlotUse.HELD)
    shared = [slot for slot in drawn.slots if slot.use is SlotUse.SHARED]
    said = [f"{number} held by {pool.tasks[load].name[:_LONG_NAME]}" for load, number in sorted(held.items())]
    for slot in shared[:_COLUMNS]:
        of = listed(f"{each.number} of {pool.tasks[each.load].name[:_LONG_NAME]}" for each in slot.copies)
        said.append(f"1 shared by {of}")
    said += [f"{number} {words}" for number, words in _not_held(drawn)]
    return "; ".join(said)


def _not_held(drawn: HostLayout) -> Iterator[tuple[int, str]]:
    uses = Counter(slot.use for slot in drawn.slots)
    words: Mapping[SlotUse, str] = {
        SlotUse.FREE: "free",
        SlotUse.STRANDED: f"idle, because {listed(drawn.lacking)} {'is' if len(drawn.lacking) == 1 else 'are'} used up",
        SlotUse.DAEMONS: "kept by daemons",
        SlotUse.NOT_KNOWN: "not handed out by ECS, so who uses them is not known",
    }
    for use, said in words.items():
        if uses[use]:
            yield uses[use], said


def _on_host(drawn: HostLayout, pool: PoolLayout) -> Iterator[str]:
    """The tasks of a host, and what becomes of the slots that they leave."""
    for each in drawn.copies:
        task = pool.tasks[each.load]
        times = (
            f' <span class="copies">&times;{each.number:,}{hidden(" copies" if each.number > 1 else " copy")}</span>'
        )
        yield f"{key(each.load)} {name(task.name, _LONG_NAME)}{times}"
    if not drawn.copies:
        yield '<span class="quiet">no task</span>'
    if pool.devices is None:
        return
    if shared := [slot.free_mib for slot in drawn.slots if slot.use is SlotUse.SHARED]:
        free = f"{_MEMORY.number(sum(shared))} GiB of {'its' if len(shared) == 1 else 'their'} memory free"
        yield f'<span class="quiet">{_counted(len(shared), pool.devices)} shared, {free}</span>'
    for number, words in _not_held(drawn):
        style = "warn" if words.startswith("idle") else "quiet"
        yield f'<span class="{style}">{_counted(number, pool.devices)} {text(words)}</span>'


def _bars(drawn: HostLayout) -> Iterator[tuple[Bar, _Unit]]:
    yield drawn.vcpus, _VCPUS
    yield drawn.memory, _MEMORY
    if drawn.interfaces is not None:
        yield drawn.interfaces, _INTERFACES


def _bar(bar: Bar, unit: _Unit) -> str:
    """A bar with what is taken, beside its numbers."""

    def width(amount: int) -> float:
        return round(1000 * min(1, amount / (bar.total or 1)), 1)

    x, parts = 0.0, []
    for each in bar.parts:
        parts.append(f'<rect class="t{each.load % _COLOURS}" x="{x:g}" width="{width(each.number):g}" height="8"/>')
        x += width(each.number)
    if bar.kept:
        parts.append(f'<rect class="kept" x="{1000 - width(bar.kept):g}" width="{width(bar.kept):g}" height="8"/>')
    kept = f", {unit.number(bar.kept)} kept" if bar.kept else ""
    word = "" if unit is _VCPUS else f" {unit.word}" if unit is _MEMORY else ""
    numbers = f"{unit.number(bar.taken)} of {unit.number(bar.total)}{word}{kept}"
    return (
        f'<p class="bar"><span class="what">{unit.title}</span> <span class="sum">{numbers}</span>'
        f'<svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg></p>'
    )
