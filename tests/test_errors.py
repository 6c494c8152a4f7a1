"""Errors say what is wrong, what is allowed and what to do, and keep the pieces."""

from __future__ import annotations

import pytest

from gpu_constructs import errors
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, UnknownNameError, argument_named, shown


def test_the_text_has_every_piece_that_is_there() -> None:
    error = InvalidValueError("got 0", argument="gpus", value=0, allowed="1 or more", fix="gpus=1")
    assert str(error) == "gpus: got 0; allowed: 1 or more; fix: gpus=1"
    assert str(InvalidValueError("got 0")) == "got 0"


def test_nearest_names_are_the_fix() -> None:
    error = UnknownNameError("no type 'g6.xl'", value="g6.xl", nearest=("g6.xlarge", "g6.2xlarge"))
    assert str(error) == "no type 'g6.xl'; fix: did you mean g6.xlarge or g6.2xlarge?"


def test_the_layer_above_names_the_argument_once() -> None:
    with pytest.raises(UnknownNameError) as caught, argument_named("outer"), argument_named("instance_types"):
        raise UnknownNameError("no such type")
    assert str(caught.value) == "instance_types: no such type"


def test_every_error_is_one_of_ours_and_a_value_error() -> None:
    classes = [each for name, each in vars(errors).items() if name.endswith("Error")]
    assert len(classes) == 6
    assert all(issubclass(each, GpuConstructsError) and issubclass(each, ValueError) for each in classes)


@pytest.mark.parametrize(("value", "quoted"), [("g6", "'g6'"), (7, "7"), ("x" * 500, "'" + "x" * 119 + "…")])
def test_a_value_is_quoted_and_short(value: object, quoted: str) -> None:
    assert shown(value) == quoted


def test_a_number_of_any_size_can_be_quoted() -> None:
    assert shown(10**5000) == "a very large number"


def test_a_value_that_cannot_say_what_it_is_is_quoted_by_its_class() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RecursionError

    assert shown(Mute()) == "a Mute"
