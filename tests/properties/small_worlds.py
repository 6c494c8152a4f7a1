"""Whole worlds at random, as their author knows them: files with clusters, hosts and what runs tasks on them.

What `small_fleets` leaves out: hosts that are elsewhere or described by hand, several files of one call, parameters
with allowed values, tasks that rules, schedules and state machines start; and with it daemons, zones, attributes and
Capacity Reservations as files have them. `small_world` draws one, `Design.world` is
the same for the oracle, and `written_worlds` has its templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias

from tests.properties.oracle import Job, Kind, Provider, World

__all__ = ["KINDS", "Design", "Hosts", "Knob", "Work", "small_world"]

# GPUs, GPU memory in MiB, vCPUs, memory in MiB, network interfaces without the host's own:
# https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html
# A host registers less than its memory: a MiB at least and 7.5 % at most are held back of it, 6 % with NVIDIA GPUs.
_DOCUMENTED = {
    "g4dn.xlarge": (1, 15_360, 4, 16_384, 2),
    "g4dn.12xlarge": (4, 15_360, 48, 196_608, 7),
    "g6.xlarge": (1, 22_888, 4, 16_384, 3),
    "g6.12xlarge": (4, 22_888, 48, 196_608, 7),
    "c7i.xlarge": (0, 0, 4, 8_192, 3),
}
KINDS: Mapping[str, Kind] = {
    name: Kind(
        gpus=gpus,
        gpu_memory=(memory_of_gpu, memory_of_gpu),
        cpu=1024 * vcpus,
        memory=(int(memory * (0.94 if gpus else 0.925)), memory - 1),
        interfaces=interfaces,
    )
    for name, (gpus, memory_of_gpu, vcpus, memory, interfaces) in _DOCUMENTED.items()
}

_TYPES = ("g4dn.xlarge", "g6.xlarge", "g6.12xlarge", "g6.12xlarge", "g4dn.12xlarge", "c7i.xlarge")

TEAMS = ("red", "blue")
"""Values of a custom attribute; tasks ask for the first."""

ZONES = ("us-east-1a", "us-east-1b")

Starter: TypeAlias = Literal["service", "rule", "schedule", "machine", "nothing", "daemon"]
Way: TypeAlias = Literal["strategy", "EC2", "none"]
Where: TypeAlias = Literal["here", "elsewhere", "described"]


@dataclass(frozen=True)
class Hosts:
    """An Auto Scaling group.

    Attributes:
        types: Its instance types; one alone is in the launch template.
        least: MinSize.
        most: MaxSize.
        has_provider: Whether a capacity provider with managed scaling has it.
        zones: Those of its subnets; empty where no file says so.
        team: The value of a custom attribute; empty where user data gives none.
        reserved: Hosts of the Capacity Reservation that they start in; None without one.
    """

    types: tuple[str, ...]
    least: int
    most: int
    has_provider: bool = True
    zones: tuple[str, ...] = ()
    team: str = ""
    reserved: int | None = None


@dataclass(frozen=True)
class Work:
    """A task definition and what runs it.

    Attributes:
        starter: What runs it.
        way: How it says where.
        copies: How many it wants.
        gpus: What its container asks for; ``ALL``, or None for none.
        cpu: CPU units.
        memory: MiB.
        awsvpc: Whether each copy has a network interface.
        port: A host port, or 0.
        distinct: Whether copies are on different hosts.
        strategy: Number of the group, base and weight of each item.
        zone: The zone that it asks for; empty for none.
        has_team: Whether it asks for the first of `TEAMS`.
    """

    starter: Starter
    way: Way
    copies: int
    gpus: str | None
    cpu: int
    memory: int
    awsvpc: bool = False
    port: int = 0
    distinct: bool = False
    strategy: tuple[tuple[int, int, int], ...] = ()
    zone: str = ""
    has_team: bool = False

    @property
    def is_sent(self) -> bool:
        """Whether a strategy says where copies go; nothing does of a task that somebody runs by hand."""
        return self.way == "strategy" and self.starter != "nothing"


@dataclass(frozen=True)
class Knob:
    """A parameter: one number or name of the design, and the values that are allowed; the first is the default.

    Attributes:
        thing: ``hosts`` or ``work``.
        number: Which of them.
        attribute: What of it.
        values: Each as the attribute has it.
    """

    thing: Literal["hosts", "work"]
    number: int
    attribute: Literal["types", "most", "copies", "gpus", "memory"]
    values: tuple[object, ...]

    @property
    def name(self) -> str:
        """Of the parameter."""
        return f"{self.thing}{self.number}{self.attribute}".title()

    def written(self, value: object) -> str:
        """A value as the parameter has it."""
        return value[0] if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class Design:
    """A world as its author drew it.

    Attributes:
        where: Whether the files have hosts; if not, whether they are described by hand.
        hosts: Groups, or what is described: as many hosts as `Hosts.most`.
        works: Tasks.
        imported: Whether the cluster is of other files.
        partial: Whether the user says that there is more.
        apart: Whether tasks are in a file of their own.
        named: Whether files refer to each other by literal names, and not by exports.
        knobs: Parameters.
        daemons: What runs on every host.
    """

    where: Where
    hosts: tuple[Hosts, ...]
    works: tuple[Work, ...]
    imported: bool
    partial: bool
    apart: bool
    named: bool
    knobs: tuple[Knob, ...] = ()
    daemons: tuple[Work, ...] = ()

    def turned(self, knob: Knob, value: object) -> Design:
        """The same with another value of a parameter."""
        if knob.thing == "hosts":
            hosts = list(self.hosts)
            hosts[knob.number] = replace(hosts[knob.number], **{knob.attribute: value})  # type: ignore[arg-type] # as drawn
            return replace(self, hosts=tuple(hosts))
        works = list(self.works)
        works[knob.number] = replace(works[knob.number], **{knob.attribute: value})  # type: ignore[arg-type] # as drawn
        return replace(self, works=tuple(works))

    @property
    def described(self) -> dict[str, int]:
        """How many hosts of each type the user describes."""
        return {each.types[0]: each.most for each in self.hosts} if self.where == "described" else {}

    @property
    def is_open(self) -> bool:
        """Whether there may be hosts that nobody described."""
        return self.where == "elsewhere" or (self.where == "here" and (self.imported or self.partial))

    @property
    def world(self) -> World:
        """The same for the oracle: a job for each task, and one copy of what runs now and then or by hand.

        RunTask with a strategy waits for room, so that only whether one copy has some can be said.
        """
        jobs = tuple(map(self._job, self.works))
        providers = () if self.where == "elsewhere" else tuple(map(self._provider, self.hosts))
        return World(providers=providers, jobs=jobs, is_open=self.is_open)

    def _provider(self, each: Hosts) -> Provider:
        return Provider(
            kinds=tuple(KINDS[one] for one in each.types),
            most_hosts=each.most if each.reserved is None else min(each.most, each.reserved),
            daemons=tuple(map(self._job, self.daemons)),
            zones=each.zones or ("",),
            least_hosts=each.least,
            is_scaled=self.where == "here" and each.has_provider,
        )

    def _job(self, each: Work) -> Job:
        kinds = [(number, kind) for number, group in enumerate(self.hosts) for kind in range(len(group.types))]
        teams = [group.team for group in self.hosts] if each.has_team else []
        return Job(
            copies=each.copies if each.starter == "service" else 1,
            gpus=int(each.gpus) if each.gpus not in {None, "ALL"} else 0,
            all_gpus=each.gpus == "ALL",
            cpu=each.cpu,
            memory=each.memory,
            interfaces=int(each.awsvpc),
            ports=frozenset({each.port}) if each.port else frozenset(),
            distinct=each.distinct,
            strategy=each.strategy if each.is_sent and self.where == "here" else (),
            barred=frozenset(one for one in kinds if teams and teams[one[0]] == TEAMS[1]),
            may_bar=frozenset(one for one in kinds if teams and not teams[one[0]]),
            zone=each.zone,
        )


def small_world(random: Random) -> Design:
    """A world of at most two groups of three hosts, and six copies.

    Args:
        random: Where it is from.
    """
    where: Where = random.choice(("here",) * 8 + ("elsewhere", "described"))
    is_zoned = where == "here" and random.random() < 0.2
    hosts = _hosts(random, where, is_zoned=is_zoned)
    scaled = [number for number, each in enumerate(hosts) if each.has_provider]
    works: list[Work] = []
    copies = random.choice((1, 1, 2, 3, 4, 6))
    while copies > 0:
        some = random.randint(1, copies)
        copies -= some
        works.append(_placed(random, _work(random, some, scaled), where, is_zoned=is_zoned))
    # A described host is of every cluster that has a name, and the target of a rule has an ARN.
    has_daemons = where != "described" or all(each.starter in {"service", "nothing"} for each in works)
    design = Design(
        where=where,
        hosts=hosts,
        works=tuple(works),
        imported=where != "here" or random.random() < 0.1,
        partial=where == "here" and random.random() < 0.08,
        apart=random.random() < 0.4,
        named=random.random() < 0.5,
        daemons=tuple(_daemon(random, where) for _ in range(random.choice((0, 0, 0, 1, 1, 2)) if has_daemons else 0)),
    )
    return replace(design, knobs=_knobs(random, design))


def _hosts(random: Random, where: Where, *, is_zoned: bool) -> tuple[Hosts, ...]:
    if where == "described":
        described = random.sample(sorted(KINDS), random.choice((1, 1, 2)))
        return tuple(Hosts(types=(each,), least=(number := random.randint(1, 2)), most=number) for each in described)
    found = []
    for _ in range(random.choice((1, 1, 2))):
        types: tuple[str, ...] = (random.choice(_TYPES),)
        if random.random() < 0.2:
            types = tuple(random.sample(["g6.xlarge", "g6.12xlarge", "g4dn.xlarge"], 2))
        most = random.randint(1, 3 if len(types) == 1 else 2)
        group = Hosts(
            types=types,
            least=random.choice((0, 0, 0, 1)),
            most=most,
            has_provider=random.random() < 0.88,
            zones=tuple(random.sample(ZONES, random.choice((1, 1, 2)))) if is_zoned else (),
            team=random.choice((*TEAMS, "", "")),
        )
        if len(types) == 1 and len(group.zones) < 2 and random.random() < 0.15:
            group = replace(group, reserved=random.randint(1, 3))
        found.append(group)
    return tuple(found)


def _work(random: Random, copies: int, scaled: list[int]) -> Work:
    starters: tuple[Starter, ...] = ("service", "service", "service", "rule", "schedule", "machine", "nothing")
    starter = random.choice(starters)
    ways: tuple[Way, ...] = ("strategy", "strategy", "strategy", "EC2", "none") if scaled else ("EC2", "none")
    way = random.choice(ways)
    chosen = random.sample(scaled, random.randint(1, len(scaled))) if way == "strategy" else []
    with_base, base = random.choice(chosen or [0]), random.choice((0, 0, 1, 2, 4))
    awsvpc = random.random() < 0.25
    return Work(
        starter=starter,
        way=way,
        copies=copies,
        gpus=random.choice(("1", "1", "1", "1", "2", "4", "ALL", None, None)),
        cpu=random.choice((0, 512, 1024, 1024, 2048, 3000, 5000)),
        memory=random.choice((512, 512, 2048, 3000, 7800, 12_000, 15_800, 60_000)),
        awsvpc=awsvpc,
        port=0 if awsvpc else random.choice((0, 0, 0, 8080)),
        distinct=starter == "service" and random.random() < 0.15,
        strategy=tuple((each, base if each == with_base else 0, random.choice((1, 1, 2, 3))) for each in chosen),
    )


def _placed(random: Random, work: Work, where: Where, *, is_zoned: bool) -> Work:
    """The same with placement constraints on what files say of hosts."""
    return replace(
        work,
        zone=random.choice(ZONES) if is_zoned and random.random() < 0.4 else "",
        has_team=where == "here" and random.random() < 0.15,
    )


def _daemon(random: Random, where: Where) -> Work:
    return Work(
        starter="daemon",
        way=random.choice(("EC2", "none")),
        copies=0,
        gpus=random.choice((None, None, None, "1")),
        cpu=random.choice((0, 512, 1024, 2048)),
        memory=random.choice((128, 512, 3000)),
        port=random.choice((0, 0, 8080)),
        has_team=where == "here" and random.random() < 0.15,
    )


def _knobs(random: Random, design: Design) -> tuple[Knob, ...]:
    if random.random() < 0.65:
        return ()
    number = random.randrange(len(design.works))
    work = design.works[number]
    possible = [Knob("work", number, "memory", (work.memory, *random.sample([1024, 9000, 15_000, 100_000], 2)))]
    if work.gpus not in {None, "ALL"}:
        possible.append(Knob("work", number, "gpus", tuple(dict.fromkeys((work.gpus, "1", "3")))))
    if work.starter == "service":
        possible.append(Knob("work", number, "copies", tuple(dict.fromkeys((work.copies, 1, 3, 5)))))
    if design.where == "here":
        at = random.randrange(len(design.hosts))
        group = design.hosts[at]
        possible.append(Knob("hosts", at, "most", tuple(dict.fromkeys((group.most, 1, 2, 3)))))
        if len(group.types) == 1 and group.reserved is None:
            types = [each for each in sorted(KINDS) if bool(KINDS[each].gpus) is bool(KINDS[group.types[0]].gpus)]
            possible.append(
                Knob("hosts", at, "types", tuple(dict.fromkeys([group.types, *((each,) for each in types)])))
            )
    return tuple(
        each for each in random.sample(possible, min(len(possible), random.choice((1, 1, 2)))) if len(each.values) > 1
    )
