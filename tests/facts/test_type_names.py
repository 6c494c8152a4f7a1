"""Which names a wrong one may stand for: by family and spelling, and none by chance."""

from __future__ import annotations

import pytest

from gpu_constructs.errors import UnknownNameError
from gpu_constructs.facts import family, instance_type


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("trn3.48xlarge", "trn2.48xlarge"),
        ("g8.xlarge", "g7.8xlarge"),
        ("g6w.xlarge", "g6.xlarge"),
        ("p6e-gb300.36xlarge", "p6e-gb200.36xlarge"),
        ("gg6.xlarge", "g6.xlarge"),
        ("g5.7xlarge", "g5.xlarge"),
        ("m99.large", "m9"),
    ],
)
def test_a_newer_type_is_near_to_its_own_family(name: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        instance_type(name)
    assert raised.value.nearest[0].startswith(nearest)
    assert "if it is newer, declare_instance_types(DeclaredInstanceType(" in str(raised.value)
    letters = name.rstrip("0123456789abcdefghijklmnopqrstuvwxyz.-")
    assert all(each.startswith(letters) for each in raised.value.nearest)


@pytest.mark.parametrize("name", ["hpc8a.96xlarge", "mac-m4.metal", "u7i-12tb.224xlarge", "zz9.large"])
def test_a_family_like_none_is_near_to_none_and_is_not_said_not_to_exist(name: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        instance_type(name)
    assert raised.value.nearest == ()
    assert "the catalogue of 2026-09-29 does not have" in str(raised.value)
    assert f"DeclaredInstanceType('{name}'" in str(raised.value)


@pytest.mark.parametrize("name", ["g6.xlrge", "g6", "G6.xlarge", "ml.g5.xlarge", ""])
def test_a_name_that_cannot_exist_is_never_to_be_declared(name: str) -> None:
    with pytest.raises(ValueError, match=".+") as raised:
        instance_type(name)
    assert "DeclaredInstanceType" not in str(raised.value)


@pytest.mark.parametrize(("name", "nearest"), [("trn3", ("trn2", "trn1", "trn1n")), ("hpc7a", ())])
def test_a_family_is_near_to_those_of_its_letters(name: str, nearest: tuple[str, ...]) -> None:
    with pytest.raises(UnknownNameError) as raised:
        family(name)
    assert raised.value.nearest == nearest
