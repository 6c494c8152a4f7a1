"""What was derived from a frozen value is found again by the object itself."""

from __future__ import annotations

from gpu_constructs.facts.values import Identical, by_identity
from gpu_constructs.placement.pool_profile import profile_of
from tests.placement.given import a_pool, told


def test_the_same_object_is_asked_once_and_an_equal_one_by_itself() -> None:
    asked: list[tuple[int, ...]] = []

    @by_identity(maxsize=2)
    def length(value: tuple[int, ...]) -> int:
        asked.append(value)
        return len(value)

    first, second = tuple(range(2)), tuple(range(2))
    assert [length(first), length(first), length(second)] == [2, 2, 2]
    assert [id(each) for each in asked] == [id(first), id(second)]


def test_keys_are_equal_for_the_very_same_objects_in_the_same_order() -> None:
    one, two = object(), object()
    assert Identical(one, two) == Identical(one, two)
    assert Identical(one, two) != Identical(two, one)
    assert Identical(one) != one


def test_pools_that_are_alike_share_one_offer_and_others_do_not() -> None:
    alike = profile_of(a_pool("g6.xlarge", name="A")), profile_of(a_pool("g6.xlarge", name="B", max_instances=9))
    assert alike[0] is alike[1]
    assert profile_of(a_pool("g6.xlarge", user_data=told(ECS_RESERVED_MEMORY="512"))) is not alike[0]
    assert profile_of(a_pool("g6.2xlarge")) is not alike[0]
