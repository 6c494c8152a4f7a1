"""Where something of a fleet was written and is deployed, the subnets of hosts and tasks, and the way out of these."""

from __future__ import annotations

import re
from dataclasses import field, replace
from enum import Enum

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is deployed to: a name of one place may be that of something else in another.

    Attributes:
        region: The region; None where that is only known at deploy time.
        account: The id of the account, likewise.
    """

    region: str | None = None
    account: str | None = None

    def may_be(self, other: Place) -> bool:
        """Whether both may be the same region of the same account."""
        return _may_be(self.region, other.region) and _may_be(self.account, other.account)


def _may_be(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """The line of a CDK app that made a construct.

    Attributes:
        file: The file, as the stack trace names it; below the working directory without the way to that.
        line: Its line, from 1.
        column: Its column, from 1; None where the trace has none, as in Python.
    """

    file: str
    line: int
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The place that a finding points at; it is not part of what was asked for, so two fleets compare without it.

    Attributes:
        resource: Logical id in the template, or the construct's path where no template exists yet.
        file: The file as the user named it; None where there is none.
        construct_path: Path of the CDK construct, from the template's ``aws:cdk:path``; None where it is not written.
        path: Keys and indexes from the top of the file to the value, ``("Resources", "Task", "Properties")``.
        line: Line in the file, from 1; None where it is not known.
        column: Column in that line, from 1; None where it is not known.
        source: The line of the CDK app behind it; None where the app has no stack traces.
        stack: Name of its stack in `place`; None where nothing says.
    """

    resource: str
    file: str | None = None
    construct_path: str | None = None
    path: tuple[str | int, ...] = ()
    line: int | None = None
    column: int | None = None
    source: SourceLine | None = None
    place: Place = field(default=Place(), hash=False)  # for speed: the rest tells most origins apart
    stack: str | None = field(default=None, compare=False)

    @property
    def property_name(self) -> str:
        """The property of the resource, as ``LaunchTemplateData.NetworkInterfaces[0].Groups``; empty for all of it."""
        steps = self.path[2:] if self.path[:1] == ("Resources",) else self.path
        steps = steps[1:] if steps[:1] == ("Properties",) else steps
        return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in steps).removeprefix(".")

    def at(self, *path: str | int, line: int | None = None) -> Origin:
        """A place further down in the same resource, by keys and indexes; its line is by default this one's."""
        return replace(self, path=(*self.path, *path), line=self.line if line is None else line)


# What CDK writes until its command line has looked the zones up: ``dummy1a`` and so on (aws-cdk-lib/core/lib/stack.ts).
_NOT_LOOKED_UP = "dummy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet that hosts are launched in, as far as the files say which.

    Attributes:
        id: Its id, such as ``subnet-0a1b2c3d``, of one that exists; None where that is not written.
        zone: Its Availability Zone, such as ``eu-west-1a``; None where that is not written.
        zone_index: Which zone of those that ``Fn::GetAZs`` gives it takes, from 0; None where it takes none of them.
            Only templates say so.
    """

    id: str | None = None
    zone: str | None = None
    zone_index: int | None = field(default=None, compare=False)

    def is_apart(self, other: Subnet) -> bool:
        """Whether both certainly are in different zones."""
        pairs = (self.zone, other.zone), (self.zone_index, other.zone_index)
        return any(one is not None and two is not None and one != two for one, two in pairs)


class Blocked(Enum):
    """What keeps everything in some subnets from leaving their VPC."""

    NO_ROUTE = "route"
    NO_PUBLIC_ADDRESS = "address"
    NAT_GATEWAY = "gateway"
    NETWORK_ACL = "acl"
    NO_DNS = "dns"


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """The way from some subnets to AWS and the internet, as far as the files show their network.

    Attributes:
        blocked_by: Why nothing leaves their VPC; None where something may. A route to an internet gateway needs a
            public address, and a NAT gateway may lead nowhere, a network ACL have no entries, or a VPC no DNS.
        blocker: The name of what does so, of a NAT gateway, a network ACL or a VPC.
        missing_endpoints: What is then not reached of ECS, ECR, S3 and CloudWatch Logs, by the names of endpoints.
        may_be_opened: Whether others may do so: stacks to which the network is exported, or DNS of theirs.
        lacks_public_address: Whether hosts are in a public subnet without such an address; only the constructs know.
    """

    blocked_by: Blocked | None = None
    blocker: str = ""
    missing_endpoints: tuple[str, ...] = ()
    may_be_opened: bool = False
    lacks_public_address: bool | Unknown = field(default=UNKNOWN, compare=False)


def written_subnet_id(text: object) -> str | None:
    """The id of a subnet as written; None for anything else, such as what stands for one until it is looked up."""
    return text if isinstance(text, str) and re.fullmatch(r"subnet-[0-9a-f]{8,17}", text) else None


def written_zone(text: object) -> str | None:
    """An Availability Zone as written; None where that is only known at deploy time or once it was looked up."""
    return text if isinstance(text, str) and not text.startswith(_NOT_LOOKED_UP) else None
