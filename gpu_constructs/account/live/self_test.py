"""What a test task printed on a host, held against what its instance type should give.

The task prints ``nvidia-smi -q -x``, then ``nvidia-smi topo -m`` and ``all_reduce_perf`` of nccl-tests where it has
them, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpu_constructs.account.live.verified import Check
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import BYTES
from gpu_constructs.facts.drivers import most_gpu_memory_mib
from gpu_constructs.facts.values import dataclass
from gpu_constructs.placement.pool_profile import expected_shareable_mib
from gpu_constructs.rules.words import and_list

FAMILY = "gpu-constructs-self-test"
"""The family of its task definition, and the log group that is taken where none is named."""

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

_GPU = "<gpu id="
_MEMORY = re.compile(r"<fb_memory_usage>\s*<total>(\d{1,8}) MiB</total>")
_LINKS = re.compile(r"^GPU\d{1,3}\t(.+)$", re.MULTILINE)
_ITSELF = "X"
_PAIR = 2
_MEMORY_MIB = 4096
_SHARED_MIB = 1024
_CUDA = re.compile(r"^cuda devices: (\d{1,3})$", re.MULTILINE)
_NUMBER = r"\d{1,12}(?:\.\d{1,6})?"
_WRONG = r"\d{1,12}|N/A"
_REDUCED = re.compile(
    rf"^ *\d+ +\d+ +\w+ +\w+ +-?\d+ +{_NUMBER} +{_NUMBER} +(?P<out>{_NUMBER}) +(?P<wrong>{_WRONG})"
    rf" +{_NUMBER} +{_NUMBER} +(?P<into>{_NUMBER}) +(?P<wrong_in>{_WRONG})\b",
    re.MULTILINE,
)
_BANDWIDTH = re.compile(r"(?P<amount>[\d.]+) ?(?P<unit>GB|TB)/s")

_LEAST_PART = 0.5
"""The part of one direction of NVLink below which the bandwidth is in doubt.

NCCL gets 370 of the 450 GB/s of an H100, and up to 480 where the switch reduces
(https://github.com/NVIDIA/nccl-tests/issues/212). No source says it of other GPUs, so that less never fails a host.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """What the task saw.

    Attributes:
        memory_mib: Memory of each GPU in MiB, as the driver shows it.
        cuda: Devices that CUDA sees; None where it was not asked.
        links: What joins each pair of GPUs, such as ``NV18`` or ``PHB``; empty where it was not asked.
        bus_gbps: The highest bus bandwidth of an all-reduce in GB/s; None where none was run.
        wrong: Values that an all-reduce got wrong.
    """

    memory_mib: tuple[int, ...]
    cuda: int | None
    links: tuple[str, ...]
    bus_gbps: float | None
    wrong: int


def read_self_test(log: str) -> SelfTest:
    """What a log says.

    Raises:
        InvalidValueError: It has nothing of ``nvidia-smi -q -x``, or is too long.
    """
    if len(log) > BYTES:
        raise InvalidValueError(f"the log has more than {BYTES >> 20} MiB", fix="give the log of the one task")
    gpus = log.split(_GPU)[1:]
    memory = [int(found[1]) for each in gpus if (found := _MEMORY.search(each.partition("</gpu>")[0]))]
    if not memory:
        raise InvalidValueError("the log has no GPU of nvidia-smi -q -x", fix="run nvidia-smi -q -x in the task")
    rows = tuple(_REDUCED.finditer(log))
    cuda = _CUDA.search(log)
    return SelfTest(
        memory_mib=tuple(memory),
        cuda=int(cuda[1]) if cuda else None,
        links=tuple(_links(log, len(memory))),
        bus_gbps=max((float(each[name]) for each in rows for name in ("out", "into")), default=None),
        wrong=sum(int(each[name]) for each in rows for name in ("wrong", "wrong_in") if each[name] != "N/A"),
    )


def _links(log: str, gpus: int) -> Iterator[str]:
    """What joins each GPU to each other; the columns after those of the GPUs are network cards and processors."""
    for row in _LINKS.findall(log):
        cells = [each.strip() for each in row.split("\t")[:gpus]]
        yield from (each for each in cells if each and each != _ITSELF)


def task_definition(
    instance_type: InstanceType,
    image: str = IMAGE,
    *,
    log_options: Mapping[str, str] | None = None,
    execution_role: str | None = None,
) -> dict[str, object]:
    """A task definition of the test, as ``aws ecs register-task-definition --cli-input-json`` takes it.

    Args:
        instance_type: The host that it tests, with all of its GPUs.
        image: An image with a shell; with PyTorch and nccl-tests it tests CUDA and NCCL as well.
        log_options: Options of the log driver ``awslogs``. By default the host makes the log group.
        execution_role: The role that pulls the image and writes the log. By default that of the host does.

    Raises:
        InvalidValueError: The type has no whole GPU.
    """
    if not instance_type.gpus:
        raise InvalidValueError(f"{instance_type} has no whole NVIDIA GPU to test", allowed="such as g6.xlarge")
    return {
        "family": FAMILY,
        **({"executionRoleArn": execution_role} if execution_role else {}),
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
                        **(log_options or {"awslogs-group": FAMILY, "awslogs-create-group": "true"}),
                        "awslogs-stream-prefix": CONTAINER,
                    },
                },
            }
        ],
    }


def judged(seen: SelfTest, instance_type: InstanceType) -> tuple[Check, ...]:
    """What the task saw, held against its instance type."""
    return tuple(_checks(seen, instance_type))


def _checks(seen: SelfTest, kind: InstanceType) -> Iterator[Check]:
    about, gpus = str(kind), len(seen.memory_mib)
    devices = kind.accelerators
    yield Check(
        name="GPUs of the driver", about=about, passed=gpus == kind.gpus, text=f"nvidia-smi shows {gpus} of {kind.gpus}"
    )
    yield Check(
        name="devices of CUDA",
        about=about,
        passed=None if seen.cuda is None else seen.cuda == kind.gpus,
        text="not asked" if seen.cuda is None else f"CUDA sees {seen.cuda} of {kind.gpus}",
    )
    most, nominal = most_gpu_memory_mib(kind), kind.gpu_memory_mib
    least = None if nominal is None else expected_shareable_mib(nominal)
    yield Check(
        name="memory of each GPU",
        about=about,
        passed=None if least is None or most is None else all(least <= each <= most for each in seen.memory_mib),
        text=f"{and_list(f'{each} MiB' for each in sorted(set(seen.memory_mib)))}; {least} to {most} MiB are expected",
    )
    if kind.gpus < _PAIR or devices is None:
        return
    pairs = [each for each in seen.links if not each.startswith("NV")]
    yield Check(
        name="NVLink",
        about=about,
        passed=None if not seen.links or not devices.has_nvlink else not pairs,
        text=f"{len(seen.links) - len(pairs)} of {len(seen.links)} connections are NVLink; the type has "
        f"{devices.interconnect or 'an unknown interconnect'}",
    )
    expected = _least_gbps(devices.interconnect or "")
    enough = seen.bus_gbps is not None and expected is not None and seen.bus_gbps >= expected
    yield Check(
        name="bandwidth of NCCL",
        about=about,
        passed=False if seen.wrong else enough or None,
        text=f"{'no all-reduce was run' if seen.bus_gbps is None else f'{seen.bus_gbps:g} GB/s'}"
        + (f"; in doubt below {expected:g} GB/s" if expected is not None else "")
        + (f"; {seen.wrong} values are wrong" if seen.wrong else ""),
    )


def _least_gbps(interconnect: str) -> float | None:
    """The bandwidth below which there is doubt; None where AWS states none."""
    found = _BANDWIDTH.search(interconnect)
    if found is None:
        return None
    both_ways = float(found["amount"]) * (1000 if found["unit"] == "TB" else 1)
    return both_ways / 2 * _LEAST_PART
