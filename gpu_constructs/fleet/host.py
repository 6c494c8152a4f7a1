"""How the hosts of a pool are set up: user data, network interfaces with Elastic Fabric Adapters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import field
from enum import Enum

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet.unknown import Unknown

NAME_OF_DEPLOY = "…"
"""Stands in the text of user data for a name or an id that the deploy makes."""

PIECE = "\ue000"
"""Stands in the text of user data for a piece of which nothing is known."""

_LEAST_ROOM = 2  # on a network card, with the primary interface


def without_comments(text: str) -> str:
    """A text without the lines that are comments."""
    return re.sub(r"(?m)^[ \t]*#.*$", "", text)


class UserDataFormat(Enum):
    """The form of a user data text; each operating system reads one of them."""

    NONE = "none"
    SHELL = "shell script"
    CLOUD_CONFIG = "cloud-config"
    MIME = "MIME multi-part"
    TOML = "TOML"
    OTHER = "not recognized"


class LocalDiskUse(Enum):
    """What user data prepares the disks of the instance store for."""

    NONE = "nothing"
    SCRATCH = "scratch data"
    IMAGES = "container images"


class HostAction(Enum):
    """What hosts may do once they have started, because user data or Systems Manager has them do it."""

    SIGNALS = "signal CloudFormation"
    COMPLETES_HOOKS = "complete lifecycle actions"
    INSTALLS = "install programs"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserData:
    """The user data of hosts, as far as it matters for placement.

    Attributes:
        format: Its form; unknown if the text is only known at deploy time.
        agent: Settings of the ECS agent by the names of its variables, in order of name, whatever form they were
            written in: ``(("ECS_CLUSTER", "gpu"), ("ECS_RESERVED_MEMORY", "256"))``.
        complete: Whether all of the text was known, so that a setting that is missing is not there.
        local_disks: What it prepares the instance store for, as far as its text says so.
        text: What is written in it, with `NAME_OF_DEPLOY` and `PIECE` for what only the deploy knows; only templates
            have it.
        scripts: The shell scripts in it: the text itself, or parts of an archive; only templates have them.
        never_run: The first line of a part that is declared a shell script and has no ``#!``; empty without one.
        actions_never_taken: What its hosts certainly do not do; only templates say so.
    """

    format: UserDataFormat | Unknown = UserDataFormat.NONE
    agent: tuple[tuple[str, str | Unknown], ...] = ()
    complete: bool = True
    local_disks: LocalDiskUse = LocalDiskUse.NONE
    text: str = field(default="", compare=False, repr=False)
    scripts: tuple[str, ...] = field(default=(), compare=False, repr=False)
    never_run: str = field(default="", compare=False)
    actions_never_taken: frozenset[HostAction] = field(default=frozenset(), compare=False)

    def get(self, variable: str) -> str | Unknown | None:
        """The value of an agent variable such as ``ECS_ENABLE_GPU_SUPPORT``; None if it is not set."""
        return dict(self.agent).get(variable)

    @property
    def commands(self) -> str:
        """Its text without comments."""
        return without_comments(self.text)

    @property
    def names_proxy(self) -> bool:
        """Whether it speaks of a proxy, through which its hosts reach what they have no route to."""
        return re.search(r"(?i)https?[_-]proxy", self.text) is not None

    def lacks_attribute(self, name: str) -> bool:
        """Whether it certainly does not set a custom attribute, which only a call of PutAttributes may then."""
        written = self.get(INSTANCE_ATTRIBUTES) or ""
        return self.complete and isinstance(written, str) and f'"{name}"' not in written

    def turns_off(self, variable: str) -> bool:
        """Whether it gives an agent variable a value that the ECS agent takes for false."""
        value = self.get(variable)
        return isinstance(value, str) and value.strip().lower() in {"false", "0", "f"}


NO_USER_DATA = UserData()

GPU_SUPPORT = "ECS_ENABLE_GPU_SUPPORT"
"""The agent variable with which the agent registers the GPUs of its host."""

INSTANCE_ATTRIBUTES = "ECS_INSTANCE_ATTRIBUTES"
"""The agent variable with the custom attributes of a host, a JSON object of names and values."""


TASK_INTERFACES = "ECS_ENABLE_TASK_ENI"
"""The agent variable with which the agent gives tasks in network mode ``awsvpc`` their network interfaces."""

RESERVED_TCP, RESERVED_UDP = "ECS_RESERVED_PORTS", "ECS_RESERVED_PORTS_UDP"
"""The agent variables with the ports of a host that it keeps from tasks, each a JSON list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterface:
    """One network interface of a launch template.

    Attributes:
        type: ``interface``, ``efa``, ``efa-only``, or whatever else was written.
    """

    card: int | Unknown = 0
    device: int | Unknown = 0
    type: str | Unknown = "interface"
    public_address: bool | Unknown = False

    @property
    def is_efa(self) -> bool:
        """Whether it certainly is an Elastic Fabric Adapter, with or without IP traffic."""
        return self.type in {"efa", "efa-only"}


def efa_layout(instance_type: InstanceType) -> tuple[NetworkInterface, ...]:
    """The interfaces of a host that uses all of its Elastic Fabric Adapters, the primary one first.

    The primary interface carries IP traffic only (``interface``); each card that takes EFA has an ``efa-only``
    interface, at device 1 of card 0 and at device 0 of the others
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html). Where card 0 has room for two, the
    primary one carries both (``efa``), which leaves the other place to the interface of a task: no page says to which
    card ECS attaches it, and AWS's own template of p5 hosts for multi-node jobs leaves that place free as well
    (https://github.com/aws-samples/awsome-distributed-training, 1.architectures/3.aws-batch).

    Returns:
        The interfaces; empty where the type supports no EFA or its network cards are not recorded.
    """
    network = instance_type.network
    cards = network.efa_only_cards[: network.max_efa_interfaces or 0]
    if not cards:
        return ()
    is_narrow = network.max_interfaces_card_0 == _LEAST_ROOM and 0 in cards and 0 in network.efa_cards
    adapters = (
        NetworkInterface(card=card, device=1 if card == 0 else 0, type="efa-only")
        for card in cards
        if card != 0 or not is_narrow
    )
    return (NetworkInterface(type="efa" if is_narrow else "interface"), *adapters)


def require_one_efa_layout(
    instance_types: Iterable[InstanceType], *, argument: str, fix: Callable[[int], str] = lambda _: ""
) -> tuple[NetworkInterface, ...]:
    """The layout that types with EFA share; refuses types of which one launch template cannot use every adapter."""
    types = tuple(instance_types)
    layouts = grouped((efa_layout(each), each) for each in types)
    if () in layouts:
        names = [each.name for each in layouts[()]]
        silent = [each.name for each in layouts[()] if each.declared and each.network.efa_supported is None]
        raise IncompatibleError(
            f"the network cards of {', '.join(names)} are not recorded, and a launch template places each Elastic "
            "Fabric Adapter on one of them",
            argument=argument,
            value=names,
            fix=f"state efa_cards in the declaration of {', '.join(silent)}"
            if silent
            else "a type whose cards are known, such as p5en.48xlarge",
        )
    if len(layouts) > 1:
        groups = "; ".join(f"{', '.join(map(str, each))}: {_described(layout)}" for layout, each in layouts.items())
        raise IncompatibleError(
            "one launch template places the Elastic Fabric Adapters of every host, and these types have them at "
            f"different network cards ({groups})",
            argument=argument,
            value=[each.name for each in types],
            allowed="types with the same network cards",
            fix=fix(len(layouts)),
        )
    return next(iter(layouts))


def _described(layout: tuple[NetworkInterface, ...]) -> str:
    cards = [each.card for each in layout if each.is_efa]
    where = f"card {cards[0]}" if len(cards) == 1 else f"cards {cards[0]} to {cards[-1]}"
    return f"{len(cards)} at {where}"
