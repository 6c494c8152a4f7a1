"""What the driver, the ECS agent and the kernel said on real hosts is read, and nothing that is said can do harm."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs.cluster.monitoring.events import METRICS
from gpu_constructs.cluster.monitoring.readings import MOST_BYTES, Unreadable, gpus_of_agent, gpus_of_driver, xids_in
from tests.examples import times

RECORDED = Path(__file__).with_name("recorded")
MIB = 1024 * 1024


def recorded(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "bus", "uncorrected", "values"),
    [
        ("t4.xml", "0:00:1e", 0, (0, 100 * 1032 / 15360, 1032 * MIB, 26.78, 40)),
        ("a100_in_mig_mode.xml", "0:01:00", 0, (None, 100 * 50 / 81920, 50 * MIB, 67.03, 27)),
        ("blackwell.xml", "0:61:00", None, (0, 100 * 65720 / 97887, 65720 * MIB, 3.97, 24)),
    ],
)
def test_what_nvidia_smi_prints(name: str, bus: str, uncorrected: int | None, values: tuple[float | None, ...]) -> None:
    (gpu,) = gpus_of_driver(recorded(name)).gpus
    names = ("GPUUtilization", "GPUMemoryUtilization", "GPUMemoryUsed", "GPUPowerDraw", "GPUTemperature")
    expected = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    assert (gpu.index, gpu.bus, gpu.uncorrected, gpu.values) == (0, bus, uncorrected, expected)
    assert gpu.uuid.startswith("GPU-00000000-")
    assert expected.keys() <= METRICS.keys()


def test_what_the_agent_shares() -> None:
    reading = gpus_of_agent(recorded("agent.json"))
    (gpu,) = reading.gpus
    assert (reading.stamp, reading.unhealthy, reading.application) == ("2026-06-15T23:00:14Z", None, 0)
    assert gpu.values == {
        "GPUUtilization": 0,
        "GPUMemoryUtilization": 0,
        "GPUMemoryUsed": 0,
        "GPUPowerDraw": 9.815,
        "GPUTemperature": 34,
    }


def test_the_kernel_log_names_the_gpu_and_the_number() -> None:
    assert list(xids_in(recorded("kernel.log").decode())) == [
        ("0:03:00", 14),
        ("0:00:1e", 43),
        ("0:00:1e", 31),
        ("0:00:1e", 94),
        ("0:43:00", 13),
        ("0:cb:00", 109),
        ("0:dc:00", 45),
        ("0:44:00", 79),
    ]


def test_the_kernel_log_names_parts_of_a_gpu_in_mig_mode() -> None:
    # kernel_rc.c of https://github.com/NVIDIA/open-gpu-kernel-modules: " GPU-I:%02u GPU-CI:%02u"
    text = "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 95, pid=1\nNVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 31, pid=1"
    assert list(xids_in(text)) == [("0:01:00", 95), ("0:01:00", 31)]


BILLION_LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<nvidia_smi_log><gpu id="0:0:0"><uuid>&b;</uuid></gpu></nvidia_smi_log>"""
A_FILE = b"""<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log [<!ENTITY file SYSTEM "file:///etc/passwd">]>
<nvidia_smi_log><gpu id="0:0:0"><uuid>&file;</uuid></gpu></nvidia_smi_log>"""


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (BILLION_LAUGHS, "declares entities"),
        (A_FILE, "declares entities"),
        (b"", "no XML"),
        (b"Failed to initialize NVML: Driver/library version mismatch", "no XML"),
        (recorded("t4.xml")[:900], "no XML"),
        (b"<a>" * 100, "more than it should"),
        (b"<l>" + b"<gpu/>" * 100 + b"</l>", "more than it should"),
        (b"<l>" + b"x" * MOST_BYTES + b"</l>", f"more than {MOST_BYTES} bytes"),
        (b"\xff\xfe\x00", "no XML"),
    ],
    ids=range(9),
)
def test_output_that_is_not_as_it_should_be_is_said(document: bytes, why: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unreadable, match=why):
        gpus_of_driver(document)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "lists no GPUs"),
        (b'{"gpus": "GPU-1"}', "lists no GPUs"),
        (b'{"gpus": [1]}', "lists no GPUs"),
        (json.dumps({"gpus": [{}] * 100}).encode(), "lists no GPUs"),
        (b'{"gpus": [], "connection_lost": true}', "lost its connection"),
        (b" " * (MOST_BYTES + 1), f"more than {MOST_BYTES} bytes"),
    ],
    ids=range(8),
)
def test_a_file_that_is_not_as_it_should_be_is_said(document: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        gpus_of_agent(document)


@pytest.mark.parametrize("value", ["12", None, True, [], {}, float("nan"), float("inf"), 10**400, -1e30])
def test_values_that_cloudwatch_does_not_take_are_left_out(value: object) -> None:
    row = {"gpu_uuid": value, "gpu_utilization_percent": value, "restart_app_xid_count": value}
    reading = gpus_of_agent(json.dumps({"gpus": [row]}).encode())
    assert (reading.gpus[0].values, reading.application) == ({}, 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: (
        st.lists(each)
        | st.dictionaries(
            st.sampled_from(["gpus", "healthy", "timestamp", "gpu_uuid", "unhealthy_reason", "restart_app_xid_count"]),
            each,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=times(25))
@given(json_values | st.dictionaries(st.just("gpus"), st.lists(json_values)))
def test_any_json_is_read_or_refused(value: object) -> None:
    with suppress(Unreadable):
        gpus_of_agent(json.dumps(value).encode())


@settings(max_examples=times(25))
@given(st.binary(max_size=400) | st.text(alphabet='<>gpu/ id="&;!-', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(document: bytes) -> None:
    for text in (document, b"<l><gpu id='1'>" + document + b"</gpu></l>"):
        with suppress(Unreadable):
            gpus_of_driver(text)
