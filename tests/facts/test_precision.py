"""Number formats and the GPUs that compute in them."""

from __future__ import annotations

import pytest

from gpu_constructs.errors import InvalidValueError, UnknownNameError
from gpu_constructs.facts import accelerated
from gpu_constructs.facts.gpu_features import PRECISIONS, precision

# The first GPU of EC2 that has each, by NVIDIA's architecture whitepapers.
FIRST = {"tf32": "A100", "bf16": "A100", "fp8": "L4", "fp4": "B200", "int8": "V100", "mxfp4": "T4", "gptq": "V100"}
BEFORE = {"tf32": "T4", "bf16": "T4", "fp8": "A10G", "fp4": "H100", "int8": "M60", "mxfp4": "V100", "gptq": "M60"}


def capability(model: str) -> tuple[int, int]:
    return next(
        each.accelerators.compute_capability
        for each in accelerated()
        if each.accelerators and each.accelerators.model == model and each.accelerators.compute_capability
    )


@pytest.mark.parametrize("name", sorted(FIRST))
def test_the_first_gpu_that_has_a_format_has_it_and_the_one_before_does_not(name: str) -> None:
    assert capability(BEFORE[name]) < precision(name).lowest <= capability(FIRST[name])


@pytest.mark.parametrize(
    ("alias", "name"),
    [("BF16", "bf16"), (" fp8 ", "fp8"), ("bfloat16", "bf16"), ("e4m3", "fp8"), ("nvfp4", "fp4"), ("half", "fp16")],
)
def test_other_names_of_a_format_mean_the_same(alias: str, name: str) -> None:
    assert precision(alias).name == name


@pytest.mark.parametrize("name", ["fp3", "", "x" * 10_000])
def test_an_unknown_format_is_refused_in_few_words(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        precision(name)
    assert len(str(caught.value)) < 250
    assert "bf16" in str(caught.value)


def test_what_is_no_text_is_refused_with_the_formats() -> None:
    with pytest.raises(InvalidValueError, match="bf16"):
        precision(8)  # type: ignore[arg-type]


def test_weights_alone_may_be_in_a_format_that_the_gpu_does_not_compute_in() -> None:
    for weights, native in (("mxfp4", "fp4"), ("fp8-weights", "fp8")):
        assert precision(weights).lowest < capability("A10G") < precision(native).lowest


def test_every_format_is_listed_once_with_a_source() -> None:
    assert len({each.name for each in PRECISIONS}) == len(PRECISIONS)
    assert all("https://" in each.source for each in PRECISIONS)
