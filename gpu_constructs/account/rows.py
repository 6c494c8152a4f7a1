"""Types of the rows of the catalogue's files, which `gpu_constructs.facts.records` reads."""

from __future__ import annotations

from typing import TypedDict


class _DevicesRequired(TypedDict):
    vendor: str
    model: str
    count: int


class DevicesRow(_DevicesRequired, total=False):
    """Fields of `Accelerators`; a missing ``logical_count`` is ``count``, a missing ``partition`` is 1."""

    logical_count: int
    partition: float
    memory_mib: int
    generation: str
    compute_capability: list[int]
    interconnect: str
    cores: int


class NetworkRow(TypedDict, total=False):
    """Fields of `Network`; missing is unknown, except ``efa_supported``, which is False if other fields are there."""

    performance: str
    cards: int
    max_interfaces: int
    max_interfaces_card_0: int
    efa_supported: bool
    max_efa_interfaces: int
    efa_cards: list[int]
    efa_only_cards: list[int]
    device_rdma: bool


class _QuotaRequired(TypedDict):
    group: str
    on_demand_code: str
    spot_code: str | None


class QuotaRow(_QuotaRequired, total=False):
    """Fields of `Quota`."""

    spot_note: str


class FamilyRow(TypedDict, total=False):
    """Fields of `FamilyTraits`."""

    released_after_2022: bool
    managed_instances: bool
    managed_doubt: str
    unsupported_by_batch: bool
    offering_doubt: str
    driven_instead: str


class CorrectionRow(TypedDict):
    """Fields of `Correction`."""

    field: str
    reported: int | float | str | None
    corrected: int | float | str | None
    reason: str
    source: str


class _TypeRequired(TypedDict):
    vcpus: int
    memory_mib: int
    architecture: str


class TypeRow(_TypeRequired, total=False):
    """One line: fields of `InstanceType`, where a missing one is empty or unknown.

    ``regions`` is the family's list when missing. ``source`` is where the line is from if not from the dump.
    """

    quota: str
    accelerators: DevicesRow
    source: str
    network: NetworkRow
    local_disks: list[list[int]]
    purchase_classes: list[str]
    current_generation: bool
    bare_metal: bool
    burstable: bool
    corrections: list[CorrectionRow]
    replaced_by: str
    note: str
    regions: list[str]
