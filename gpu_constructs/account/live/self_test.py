"""Which hosts a self-test is for, the task that runs there, and what it printed against what the type should give.

The task prints ``nvidia-smi -q -x``, then ``nvidia-smi topo -m`` and ``all_reduce_perf`` of nccl-tests where it has
them, in any order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from gpu_constructs.account.answers import Answers, text
from gpu_constructs.account.live.as_template import capacity_template
from gpu_constructs.account.live.hosts import RegisteredHost, registered_hosts
from gpu_constructs.account.live.subjects import is_of_construct
from gpu_constructs.account.live.verified import Look
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import QUOTE, InvalidValueError, UnknownNameError, brief, shown
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import BYTES, NAME
from gpu_constructs.facts.drivers import most_gpu_memory_mib
from gpu_constructs.facts.names import SELF_TEST
from gpu_constructs.facts.values import dataclass
from gpu_constructs.placement.pool_profile import expected_shareable_mib
from gpu_constructs.rules.finding import and_list

FAMILY = SELF_TEST
"""The family of its task definition, and its log group."""

CONTAINER = "self-test"
"""Its container, and the prefix of its log streams."""

IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"
"""An image with a shell and nothing else: the driver and ``nvidia-smi`` come from the host."""

END = "gpu-constructs: the self-test has ended"
"""The last line of a log that is complete."""

_SCRIPT = """\
nvidia-smi -q -x
nvidia-smi topo -m
command -v python3 >/dev/null && python3 -c \
'import torch; print(f"cuda devices: {torch.cuda.device_count()}")'
command -v all_reduce_perf >/dev/null && all_reduce_perf -b 256M -e 2G -f 2 -g GPUS
echo "END"
"""

_MEMORY = re.compile(r"<fb_memory_usage>\s*<total>(\d{1,8}) MiB</total>")
_LINKS = re.compile(r"^GPU\d{1,3}\t(.+)$", re.MULTILINE)
_PAIR = 2
_MEMORY_MIB = 4096
_SHARED_MIB = 1024
_CUDA = re.compile(r"^cuda devices: (\d{1,3})$", re.MULTILINE)
_NUMBER = r"\d{1,12}(?:\.\d{1,6})?"
_WRONG = r"\d{1,6}(?:\.\d{1,5})?(?:e\+\d\d)?|N/A"  # "%6g", src/util.cu of nccl-tests
_REDUCED = re.compile(
    rf"^ *\d+ +\d+ +\w+ +\w+ +-?\d+ +{_NUMBER} +{_NUMBER} +(?P<out>{_NUMBER}) +(?P<wrong>{_WRONG})"
    rf" +{_NUMBER} +{_NUMBER} +(?P<into>{_NUMBER}) +(?P<wrong_in>{_WRONG})\b",
    re.MULTILINE,
)
_FAILED = re.compile(r"Test (?:NCCL|CUDA) failure .{1,300}")  # src/common.h of nccl-tests
_BANDWIDTH = re.compile(r"(?P<amount>[\d.]+) ?(?P<unit>GB|TB)/s")

_MOST_NAMES = 3
_LEAST_PART = 0.5
"""The part of one direction of NVLink below which the bandwidth is in doubt.

NCCL gets 370 of the 450 GB/s of an H100, and up to 480 where the switch reduces
(https://github.com/NVIDIA/nccl-tests/issues/212). No source says it of other GPUs, so that less never fails a host.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be tested, and how.

    Args:
        cluster: Name or ARN of the cluster.
        capacity: Capacity providers that are tested with one task each, for which managed scaling starts a host where
            none is free.
        hosts: Instances that are tested. Where neither is given, one host of each type is tested, of those that are
            there.
        image: An image with a shell; with PyTorch and nccl-tests it tests CUDA and NCCL as well.
        minutes: How many minutes it waits for all tests together.
        region: Where the cluster is; None for the one that the AWS CLI takes.
    """

    cluster: str
    capacity: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    image: str = IMAGE
    minutes: float = 20
    region: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.minutes < math.inf:
            raise InvalidValueError(
                f"expects a time above 0, got {self.minutes:g} minutes", argument="minutes", value=self.minutes
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One task of the test, and where it goes.

    Attributes:
        about: The host, the type or the capacity provider.
        kind: The type whose GPUs it asks for, all of them.
        provider: The capacity provider that it goes to; None for hosts that are there.
        expression: The placement constraint that its host meets; None where its provider alone decides.
    """

    about: str
    kind: InstanceType
    provider: str | None = None
    expression: str | None = None


def targets_of(answers: Answers, request: Request) -> tuple[Target, ...]:
    """The tasks of a test.

    Raises:
        UnknownNameError: There is no such host or capacity provider.
        InvalidValueError: Its GPUs are not known, or there is nothing to test.
    """
    managed = {text(each, "name") for each in answers.of("capacityProviders") if "managedInstancesProvider" in each}
    # Their tasks require the compatibility MANAGED_INSTANCES, and those of other hosts EC2.
    hosts = [each for each in registered_hosts(answers) if each.provider not in managed]
    if not request.hosts and not request.capacity:
        kinds = {each.type_name: each.instance_type for each in hosts if each.status == "ACTIVE"}
        found = tuple(
            Target(about=str(kind), kind=kind, expression=f"attribute:ecs.instance-type == {kind}")
            for kind in kinds.values()
            if kind is not None and kind.gpus
        )
        if not found:
            raise InvalidValueError(
                f"cluster {brief(request.cluster, NAME)} has no host with a whole NVIDIA GPU",
                fix="--capacity names a capacity provider that starts one",
            )
        return found
    return (*_of_hosts(request.hosts, hosts), *_of_capacity(request.capacity, answers, hosts))


def _of_hosts(names: Sequence[str], hosts: Sequence[RegisteredHost]) -> Iterator[Target]:
    known = {each.instance_id: each for each in hosts}
    for name in dict.fromkeys(names):
        host = known.get(name)
        if host is None:
            raise UnknownNameError(
                f"no host of the cluster is {shown(name)}",
                argument="--host",
                value=name,
                nearest=tuple(brief(each, NAME) for each in known)[:_MOST_NAMES],
            )
        kind = _with_gpus([host.instance_type] if host.instance_type else [], str(host), "--host")
        yield Target(about=str(host), kind=kind, expression=f"ec2InstanceId == {name}")


def _of_capacity(names: Sequence[str], answers: Answers, hosts: Sequence[RegisteredHost]) -> Iterator[Target]:
    known = [text(each, "name") for each in answers.of("capacityProviders")]
    pools = {each.name: each for each in check_files([capacity_template(answers)], rules=()).fleet.pools}
    for name in dict.fromkeys(_provider_called(each, known) for each in names):
        types = list(pools[name].instance_types) if name in pools else []
        types = types or [each.instance_type for each in hosts if each.provider == name and each.instance_type]
        yield Target(about=name, kind=_with_gpus(types, name, "--capacity"), provider=name)


def _provider_called(name: str, known: Sequence[str]) -> str:
    """The capacity provider of a name, of a capacity, or of a part of the name that CloudFormation made."""
    if not known or name in known:
        return name
    made: list[str] = []
    for part in (f"{name}Provider", name):  # the first one is what `add_capacity` leads to
        made = made or [each for each in known if is_of_construct(each, part)]
    if len(made) == 1:
        return made[0]
    raise UnknownNameError(
        f"{shown(name)} may be several capacity providers"
        if made
        else f"the cluster has no capacity provider {shown(name)}",
        argument="--capacity",
        value=name,
        nearest=tuple(brief(each, NAME) for each in made or known)[:_MOST_NAMES],
    )


def _with_gpus(types: Sequence[InstanceType], name: str, argument: str) -> InstanceType:
    """One of the types, which all have the same number of GPUs: a task asks for all of its host."""
    numbers = sorted({each.gpus for each in types})
    if len(numbers) != 1 or not numbers[0]:
        has = " or ".join(map(str, numbers)) if numbers else "an unknown number of"
        fix = "--host tests one host" if argument == "--capacity" else None
        raise InvalidValueError(f"{brief(name, NAME)} has {has} whole NVIDIA GPUs", argument=argument, fix=fix)
    return types[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """What the task saw.

    Attributes:
        memory_mib: Memory of each GPU in MiB, as the driver shows it.
        cuda: Devices that CUDA sees; None where it was not asked.
        links: What joins each pair of GPUs, such as ``NV18`` or ``PHB``; empty where it was not asked.
        bus_gbps: The highest bus bandwidth of an all-reduce in GB/s; None where none was run.
        wrong: Values that an all-reduce got wrong.
        failure: How an all-reduce failed; empty where none did.
    """

    memory_mib: tuple[int, ...]
    cuda: int | None
    links: tuple[str, ...]
    bus_gbps: float | None
    wrong: int
    failure: str = ""


def read_self_test(log: str) -> SelfTest:
    """What a log says.

    Raises:
        InvalidValueError: It has nothing of ``nvidia-smi -q -x``, or is too long.
    """
    if len(log) > BYTES:
        raise InvalidValueError(f"the log has more than {BYTES >> 20} MiB", fix="give the log of the one task")
    gpus = log.split("<gpu id=")[1:]
    memory = [int(found[1]) for each in gpus if (found := _MEMORY.search(each.partition("</gpu>")[0]))]
    if not memory:
        raise InvalidValueError("the log has no GPU of nvidia-smi -q -x", fix="run nvidia-smi -q -x in the task")
    rows = tuple(_REDUCED.finditer(log))
    cuda = _CUDA.search(log)
    # The columns after those of the GPUs are network cards and processors.
    cells = (each.strip() for row in _LINKS.findall(log) for each in row.split("\t")[: len(memory)])
    return SelfTest(
        memory_mib=tuple(memory),
        cuda=int(cuda[1]) if cuda else None,
        links=tuple(each for each in cells if each and each != "X"),
        bus_gbps=max((float(each[name]) for each in rows for name in ("out", "into")), default=None),
        wrong=sum(int(float(each[name])) for each in rows for name in ("wrong", "wrong_in") if each[name] != "N/A"),
        failure=found[0] if (found := _FAILED.search(log)) else "",
    )


def task_definition(instance_type: InstanceType, image: str = IMAGE, *, region: str | None = None) -> dict[str, object]:
    """A task definition of the test, as ``aws ecs register-task-definition --cli-input-json`` takes it.

    It takes all GPUs of its host, and writes its log where that is if no region is given.

    Raises:
        InvalidValueError: The type has no whole GPU.
    """
    if not instance_type.gpus:
        raise InvalidValueError(f"{instance_type} has no whole NVIDIA GPU to test", allowed="such as g6.xlarge")
    return {
        "family": FAMILY,
        "requiresCompatibilities": ["EC2"],
        "containerDefinitions": [
            {
                "name": CONTAINER,
                "image": image,
                "memory": _MEMORY_MIB * instance_type.gpus,
                "essential": True,
                "command": ["sh", "-c", _SCRIPT.replace("GPUS", str(instance_type.gpus)).replace("END", END)],
                "resourceRequirements": [{"type": "GPU", "value": str(instance_type.gpus)}],
                "linuxParameters": {"sharedMemorySize": _SHARED_MIB},
                "logConfiguration": {
                    "logDriver": "awslogs",
                    "options": {
                        "awslogs-group": FAMILY,
                        "awslogs-stream-prefix": CONTAINER,
                        **({"awslogs-region": region} if region else {}),
                    },
                },
            }
        ],
    }


def judged(seen: SelfTest, kind: InstanceType, about: str = "") -> Iterator[Look]:
    """What the task saw of its host, held against the instance type."""
    gpus, devices = len(seen.memory_mib), kind.accelerators
    yield Look("GPUs of the driver", about, gpus == kind.gpus, f"nvidia-smi shows {gpus} of {kind.gpus}")
    cuda = "not asked" if seen.cuda is None else f"CUDA sees {seen.cuda} of {kind.gpus}"
    yield Look("devices of CUDA", about, None if seen.cuda is None else seen.cuda == kind.gpus, cuda)
    most, nominal = most_gpu_memory_mib(kind), kind.gpu_memory_mib
    least = None if nominal is None else expected_shareable_mib(nominal)
    is_right = None if least is None or most is None else all(least <= each <= most for each in seen.memory_mib)
    sizes = and_list(f"{each} MiB" for each in sorted(set(seen.memory_mib)))
    yield Look("memory of each GPU", about, is_right, f"{sizes}; {least} to {most} MiB are expected")
    if kind.gpus < _PAIR or devices is None:
        return
    pairs = [each for each in seen.links if not each.startswith("NV")]
    joined = f"{len(seen.links) - len(pairs)} of {len(seen.links)} connections are NVLink"
    has = devices.interconnect or "an unknown interconnect"
    is_joined = None if not seen.links or not devices.has_nvlink else not pairs
    yield Look("NVLink", about, is_joined, f"{joined}; the type has {has}")
    expected = _least_gbps(devices.interconnect or "")
    enough = seen.bus_gbps is not None and expected is not None and seen.bus_gbps >= expected
    said = "no all-reduce ended" if seen.bus_gbps is None else f"{seen.bus_gbps:g} GB/s"
    said += f"; in doubt below {expected:g} GB/s" if expected is not None else ""
    said += f"; {seen.wrong} values are wrong" if seen.wrong else ""
    said += f"; {brief(seen.failure, QUOTE)}" if seen.failure else ""
    yield Look("bandwidth of NCCL", about, False if seen.wrong or seen.failure else enough or None, said)


def _least_gbps(interconnect: str) -> float | None:
    """The bandwidth below which there is doubt; None where AWS states none."""
    found = _BANDWIDTH.search(interconnect)
    if found is None:
        return None
    both_ways = float(found["amount"]) * (1000 if found["unit"] == "TB" else 1)
    return both_ways / 2 * _LEAST_PART
