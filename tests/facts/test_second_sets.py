"""The catalogue against what others recorded of the same types: every difference is looked at and says who is right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from functools import cache

import pytest

from gpu_constructs.facts import InstanceType, PurchaseClass, accelerated, general, regions
from gpu_constructs.facts.records import read

from .second_set import FIELDS, SETS, Value, header, priced_regions, reviewed, statements

EVERY = {each.name: each for each in (*accelerated(), *general())}

FACTS = {
    "devices": ("devices",),
    "memory of a device": ("device_memory_mib", "sold_device_memory_gb"),
    "vCPUs": ("vcpus",),
    "memory": ("memory_mib", "memory_gib"),
    "architecture": ("architecture",),
    "instance store": ("local_storage_gb", "disks"),
    "EFA interfaces": ("efa_interfaces",),
    "network interfaces": ("interfaces", "pods"),
}

# What tools/curated/README.md says of the types with accelerators. What no source of this folder says is in the
# catalogue from one source alone; what the catalogue does not say either is unknown.
ALONE = {
    "devices": "dl1 dl2q f2 vt1",
    "memory of a device": "dl1 dl2q f2 g2 inf1 inf2 trn1 trn1n trn2 vt1",
    "vCPUs": "dl2q",
    "memory": "dl2q",
    "architecture": "dl1 dl2q f1 g2 g3 g3s p2 p3 p6e-gb200 trn2",
    "instance store": "dl2q trn2",
    "EFA interfaces": "dl1 dl2q f1",
    "network interfaces": "dl1 f1 g4ad p3",
}


@pytest.mark.parametrize("source", SETS)
def test_a_source_says_where_it_is_from_and_when_it_was_read(source: str) -> None:
    said = header(source)
    assert said["about"]
    assert set(said) - {"about", "columns", "read"} in ({"repository", "path", "commit"}, {"page"})
    assert date.fromisoformat(str(said["read"])) <= date(2026, 12, 31)
    assert len(statements(source)) >= 80


def differences() -> Iterator[tuple[str, str, str, Value]]:
    for source in SETS:
        for said in statements(source):
            if (each := EVERY.get(said.name)) is None:
                continue
            ours = FIELDS[said.field](each)
            if ours is not None and said.value not in ours:
                yield source, said.field, said.name, said.value


def test_every_difference_is_reviewed_and_no_review_is_of_none() -> None:
    listed = {
        (row["source"], row["field"], name, value)
        for row in reviewed()["values"]
        for name, value in row["theirs"].items()
    }
    assert set(differences()) == listed


def test_a_review_says_who_is_right_and_why_and_the_catalogue_is_never_wrong() -> None:
    rows = [*reviewed()["values"], reviewed()["priced_but_not_offered"]]
    assert all(row["why"] for row in rows)
    # Where others are right, tools/curated/corrections.json has the value, and there is no difference.
    assert {row["right"] for row in rows} == {"ours", "open"}


def test_every_type_of_the_sources_is_in_the_catalogue_or_has_a_reason() -> None:
    named = {said.name for source in SETS for said in statements(source)}
    assert named - EVERY.keys() == reviewed()["not_in_the_catalogue"].keys()


@cache
def fields_of() -> dict[str, set[tuple[str, str]]]:
    """What is said of each type: the repository and the field."""
    said_of_types: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for source in SETS:
        repository = str(header(source).get("repository"))
        for said in statements(source):
            said_of_types[said.name].add((repository, said.field))
    return said_of_types


def said_of(each: InstanceType, fact: str) -> bool:
    """Whether a source that the catalogue does not have a fact of a type from was compared with it."""
    own = (
        str(read("accelerated")["instance_types"].get(each.name, {}).get("source", ""))
        if fact in {"EFA interfaces", "network interfaces"}
        else ""
    )
    return any(
        field in FACTS[fact] and repository not in own and FIELDS[field](each) is not None
        for repository, field in fields_of().get(each.name, ())
    )


def in_catalogue(each: InstanceType, fact: str) -> bool:
    return any(FIELDS[field](each) is not None for field in FACTS[fact])


@pytest.mark.parametrize("fact", FACTS)
def test_only_the_families_that_the_page_names_have_a_fact_from_one_source_alone(fact: str) -> None:
    alone = {each.family for each in accelerated() if in_catalogue(each, fact) and not said_of(each, fact)}
    assert " ".join(sorted(alone)) == ALONE[fact]


def test_most_types_without_accelerators_have_a_second_source_too() -> None:
    """Those of families that are newer than the sources have none."""
    for fact, least in {"vCPUs": 553, "memory": 378, "network interfaces": 944}.items():
        assert sum(said_of(each, fact) for each in general()) >= least, fact


def test_what_is_offered_without_an_on_demand_price_is_sold_as_capacity_blocks() -> None:
    for each in EVERY.values():
        for region in each.regions:
            if each.name not in priced_regions()[region]:
                assert PurchaseClass.CAPACITY_BLOCK in each.purchase_classes, (each, region)


def test_what_is_priced_and_not_offered_is_reviewed() -> None:
    table = reviewed()["priced_but_not_offered"]["types"]
    reviews = {
        (name, region) for name, each in EVERY.items() for region in (*table.get(name, ()), *table.get(each.family, ()))
    }
    found = {
        (name, region)
        for region in regions()
        for name in priced_regions()[region] & EVERY.keys()
        # Of a type that is offered nowhere, its note says so.
        if EVERY[name].regions and region not in EVERY[name].regions
    }
    assert found == reviews
    assert {name for name in table if name not in EVERY} <= {each.family for each in EVERY.values()}
