"""Every kind of job on every kind of hosts is accepted, or refused for a reason that AWS gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import aws_cdk as cdk

from gpu_constructs import GpuConstructsError
from tests.matrix.choices import Choice
from tests.matrix.job_choices import HARDWARE, JobCombination, every_job
from tests.matrix.job_contradictions import CONTRADICTIONS, applying, one_of_each_illegal_pair
from tests.matrix.jobs import Place
from tests.matrix.tasks import EVERYTHING
from tests.synthesis import Site, app_in

Record = Callable[[str, object], None]


def refused() -> list[JobCombination]:
    """One for each pair of choices that never stand together; with ``MATRIX=all``, all that cannot be."""
    return [each for each in every_job() if applying(each)] if EVERYTHING else one_of_each_illegal_pair()


def test_what_cannot_be_is_refused_for_a_reason_that_aws_gives(tmp_path: Path, record_property: Record) -> None:
    app = app_in(tmp_path)
    # A cluster has a family once.
    clusters = {each: Site(app, cdk.Stage(app, f"Stage{number}")).cluster for number, each in enumerate(HARDWARE)}
    places: dict[tuple[Choice, Choice], Place] = {}
    wrong: list[str] = []
    for each in refused():
        place = places.setdefault(each.place, Place(clusters[each.place[1]], f"Place{len(places)}", each.place))
        why, raised = applying(each), _error_of(place, each)
        if raised is None or not any(row.explains(raised) for row in why):
            wrong.append(f"{each.name}: {raised!r}; expected {[row.name for row in why]}")
    assert not wrong, "\n".join(wrong)
    record_property("refused", len(refused()))


def test_every_contradiction_is_the_only_reason_for_a_refusal_somewhere() -> None:
    met = Counter(row.name for each in refused() for row in applying(each))
    alone = {applying(each)[0].name for each in refused() if len(applying(each)) == 1}
    assert {row.name for row in CONTRADICTIONS} == met.keys() == alone


def _error_of(place: Place, its: JobCombination) -> GpuConstructsError | None:
    try:
        place.define(its)
    except GpuConstructsError as error:
        return error
    return None
