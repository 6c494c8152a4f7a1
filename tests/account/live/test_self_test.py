"""What a test task prints is read, and held against the instance type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_constructs.account.live.self_test import SelfTest, judged, read_self_test, task_definition
from gpu_constructs.check.report import check_files
from gpu_constructs.facts import instance_type

T4 = Path(__file__).parent / "recorded" / "t4.xml"
# Written for this test in the columns of all_reduce_perf of nccl-tests, and of `nvidia-smi topo -m`; not recorded.
NCCL = """
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
          16             4     float     sum      -1    120.0    0.00    0.00      0    118.0    0.00    0.00      0
  1073741824     268435456     float     sum      -1   6000.0  178.96  313.17      0   6100.0  176.02  308.04      0
# Avg bus bandwidth    : 156.6
"""
P5 = SelfTest(memory_mib=(81_559,) * 8, cuda=8, links=("NV18",) * 56, bus_gbps=338.82, wrong=0)


def answers_of(seen: SelfTest, name: str) -> dict[str, bool | None]:
    return {each.name: each.passed for each in judged(seen, instance_type(name))}


def test_what_a_t4_printed_is_as_its_type_says() -> None:
    seen = read_self_test(T4.read_text())
    texts = [each.text for each in judged(seen, instance_type("g4dn.xlarge")) if each.passed]
    assert "15360 MiB; 15073 to 16384 MiB are expected" in texts
    failed = [each.text for each in judged(seen, instance_type("g4dn.12xlarge")) if each.passed is False]
    assert failed == ["nvidia-smi shows 1 of 4"]


def test_the_bandwidth_of_nccl_is_the_highest_that_it_printed() -> None:
    seen = read_self_test(T4.read_text() + NCCL)
    assert (seen.bus_gbps, seen.wrong) == (313.17, 0)


@pytest.mark.parametrize(
    ("seen", "failed"),
    [
        (P5, set()),
        (SelfTest(memory_mib=P5.memory_mib, cuda=7, links=P5.links, bus_gbps=338.82, wrong=0), {"devices of CUDA"}),
        (SelfTest(memory_mib=P5.memory_mib, cuda=8, links=("PHB",) * 56, bus_gbps=338.82, wrong=0), {"NVLink"}),
        (SelfTest(memory_mib=P5.memory_mib, cuda=8, links=P5.links, bus_gbps=338, wrong=3), {"bandwidth of NCCL"}),
        (SelfTest(memory_mib=(40_000,) * 8, cuda=8, links=P5.links, bus_gbps=338, wrong=0), {"memory of each GPU"}),
    ],
)
def test_a_host_that_gives_less_than_its_type_fails(seen: SelfTest, failed: set[str]) -> None:
    assert {name for name, passed in answers_of(seen, "p5.48xlarge").items() if passed is False} == failed


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (NCCL.replace("313.17      0", "313.17  1.3e+08"), "313.17 GB/s; in doubt below 225 GB/s; 130000000 v"),
        (
            "a: Test NCCL failure common.cu:961 'x'",
            "no all-reduce ended; in doubt below 225 GB/s; Test NCCL failure common",
        ),
    ],
)
def test_an_all_reduce_that_failed_or_was_wrong_fails_its_host(printed: str, said: str) -> None:
    looks = judged(read_self_test(T4.read_text() + printed), instance_type("p5.48xlarge"))
    (found,) = [each for each in looks if each.name == "bandwidth of NCCL"]
    assert (found.passed, found.text[: len(said)]) == (False, said)


def test_a_low_bandwidth_is_in_doubt() -> None:
    slow = SelfTest(memory_mib=P5.memory_mib, cuda=8, links=P5.links, bus_gbps=40, wrong=0)
    assert answers_of(slow, "p5.48xlarge")["bandwidth of NCCL"] is None


def test_what_was_not_run_is_not_checked() -> None:
    seen = SelfTest(memory_mib=(23_034,) * 4, cuda=None, links=(), bus_gbps=None, wrong=0)
    found = answers_of(seen, "g6.12xlarge")
    assert [found[each] for each in ("devices of CUDA", "NVLink", "bandwidth of NCCL")] == [None] * 3


def test_the_task_is_one_that_the_rules_accept() -> None:
    written = json.dumps(task_definition(instance_type("p5.48xlarge")))
    report = check_files(["-"], stdin=written.encode(), hosts={"p5.48xlarge": 1})
    assert [each.message for each in report.findings if each.severity.name == "ERROR"] == []


@pytest.mark.parametrize(
    "more",
    [
        "<gpu id=" * 200_000,
        " " * 500_000,
        "8 2 float sum -1 1.2.3 0 0 0 1 0 0 0\n",
        f"8 2 float sum -1 1 0 0 {'9' * 5000} 1 0 0 0\n",
        "GPU0\t" * 100_000,
    ],
)
def test_a_log_of_any_shape_is_read_in_time(more: str) -> None:
    assert read_self_test(T4.read_text() + "\n" + more).memory_mib == (15_360,)
