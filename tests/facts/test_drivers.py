"""Which version of the NVIDIA driver drives which GPU."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import (
    DRIVER_SUPPORT,
    Accelerators,
    Drivers,
    Vendor,
    accelerated,
    driver_support,
    drives,
    instance_type,
)
from gpu_constructs.facts.drivers import cuda_memory_mib, most_gpu_memory_mib


def a_gpu(model: str, capability: tuple[int, int]) -> Accelerators:
    return Accelerators(vendor=Vendor.NVIDIA, model=model, count=1, logical_count=1, compute_capability=capability)


def answers(gpu: Accelerators, *texts: str) -> list[bool | None]:
    support = driver_support(gpu)
    assert support is not None
    return [drives(Drivers.of(each), support) for each in texts]


@pytest.mark.parametrize(
    ("model", "capability", "some", "none", "unknown"),
    [
        ("K520", (3, 0), "340 367.134", "471 550 580", "390.157 470 470.256.02"),
        ("K80", (3, 7), "470", "535 595", ""),
        ("M60", (5, 2), "550 580 580.178.04", "590", ""),
        ("V100", (7, 0), "470 580", "590 595.58.03", ""),
        ("T4", (7, 5), "418.87.00 470 580 595", "390.157", ""),
        ("T4g", (7, 5), "470.82.01 580 595", "418.87.00 450 470.57.02", "470"),
        ("A100", (8, 0), "450 450.80.02 470 595", "418.87.00 440", ""),
        ("A10G", (8, 6), "470 550 595", "450 460.106.00", ""),
        ("L4", (8, 9), "525 550 595", "470.256.02 515", "520.61.05"),
        ("L40S", (8, 9), "535 550 595", "470.256.02 515", "520.61.05 525"),
        ("H100", (9, 0), "530 550 595", "418.87.00 470 515", "525.60.13"),
        ("H200", (9, 0), "550 580 595", "470", "535.183.01"),
        ("B200", (10, 0), "570.86.15 570.195.03 575 580 595", "550 565.57.01 570.86.10", "570"),
        ("GB200", (10, 0), "570.133.20 580", "565 570.86.15 570.124.06", "570"),
        ("RTX PRO Server 6000", (12, 0), "575.57.08 580 595", "570 570.195.03 575.51.03", "575"),
        ("B300", (10, 3), "580.82.07 580.178.04 590 595", "570 575 580.65.06", "580"),
        (
            "RTX PRO 4500",
            (12, 0),
            "580.142 580.178.04 595.58.03 610",
            "570 580.126.16 590.48.01 595.45.04",
            "580 590 595",
        ),
    ],
)
def test_a_driver_drives_a_gpu_or_not(
    model: str, capability: tuple[int, int], some: str, none: str, unknown: str
) -> None:
    """NVIDIA's lists of its open kernel modules name the GPUs of each version, from which these rows were written."""
    gpu = a_gpu(model, capability)
    for expected, texts in ((True, some), (False, none), (None, unknown)):
        assert answers(gpu, *texts.split()) == [expected] * len(texts.split()), texts


def test_what_a_driver_may_be_is_judged_by_what_is_certain() -> None:
    support = driver_support(a_gpu("B300", (10, 3)))
    assert support is not None
    assert drives(Drivers(lowest=(560, 35, 3), highest=(580, 65, 6)), support) is False
    assert drives(Drivers(lowest=(560, 35, 3), highest=(580, 95, 5)), support) is None
    assert drives(Drivers(lowest=(580, 95, 5)), support) is True
    assert drives(Drivers(), support) is None


@pytest.mark.parametrize(
    ("drivers", "text"),
    [
        (Drivers.of("580.95.05"), "driver 580.95.05"),
        (Drivers.of("580"), "driver branch 580"),
        (Drivers(lowest=(535, 183, 1), highest=(550, 144, 3)), "a driver from 535.183.01 to 550.144.03"),
        (Drivers(lowest=(580, 178, 4)), "driver 580.178.04 or later"),
        (Drivers(highest=(470, 182, 3)), "driver 470.182.03 or earlier"),
        (Drivers(), "a driver of any version"),
    ],
)
def test_a_driver_says_what_is_known_of_it(drivers: Drivers, text: str) -> None:
    assert str(drivers) == text


@pytest.mark.parametrize("capability", [(2, 1), (4, 0), (13, 0), (99, 0)])
def test_an_unknown_gpu_has_no_row(capability: tuple[int, int]) -> None:
    assert driver_support(a_gpu("R200", capability)) is None


def test_the_table_knows_the_gpus_of_every_type() -> None:
    for each in accelerated():
        if each.accelerators is not None and each.accelerators.compute_capability is not None:
            assert driver_support(each.accelerators) is not None, each


def test_rows_of_all_models_do_not_overlap() -> None:
    for row, following in pairwise(each for each in DRIVER_SUPPORT if not each.models):
        assert row.lowest <= row.highest < following.lowest
    models = [model for each in DRIVER_SUPPORT for model in each.models]
    assert len(models) == len(set(models))
    assert all(row.source and list(row.since) == sorted(row.since) for row in DRIVER_SUPPORT)


_VERSIONS = st.tuples(st.integers(400, 640), st.integers(0, 200), st.integers(0, 20))


@given(st.sampled_from(DRIVER_SUPPORT), _VERSIONS, _VERSIONS, _VERSIONS)
def test_a_certain_answer_holds_for_every_version_between(
    row: object, one: tuple[int, ...], two: tuple[int, ...], three: tuple[int, ...]
) -> None:
    assert isinstance(row, type(DRIVER_SUPPORT[0]))
    low, inside, high = sorted((one, two, three))
    answer = drives(Drivers(lowest=low, highest=high), row)
    assert answer is None or row.has(inside) is answer


def test_programs_find_no_more_memory_than_a_driver_shows() -> None:
    assert cuda_memory_mib(instance_type("g6.xlarge")) == 22_559  # EC2 reports 22,888, the driver 23,034
    assert all((cuda_memory_mib(each) or 0) <= (most_gpu_memory_mib(each) or 0) for each in accelerated())
