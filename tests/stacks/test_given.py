"""What the command line gives the reference app: a wrong value is refused in one line with its key."""

from __future__ import annotations

from collections.abc import Callable

import aws_cdk as cdk
import pytest

from gpu_constructs import GpuConstructsError, InvalidValueError
from stacks.benchmark_jobs import BenchmarkJobsStack
from stacks.given import Given

_SUBNET = ("SubnetId", "VpcId")
_READS: dict[str, tuple[Callable[[Given], object], str]] = {
    "4.5": (lambda given: given.whole("key", 4), "expects a whole number; fix: -c key=4"),
    "2027-18-01": (lambda given: given.time("key"), "expects a time; fix: -c key=2027-01-18T11:30:00+00:00"),
    "production": (lambda given: given.printed("key", *_SUBNET), "expects JSON with SubnetId, VpcId; fix: "),
    "[]": (lambda given: given.printed("key", *_SUBNET), "expects JSON with SubnetId, VpcId; fix: "),
    '[{"SubnetId": "subnet-1"}]': (lambda given: given.printed("key", *_SUBNET), "expects JSON with SubnetId, VpcId"),
}


@pytest.mark.parametrize("value", _READS)
def test_a_wrong_value_ends_the_app_with_its_key(value: str) -> None:
    read, said = _READS[value]
    with pytest.raises(SystemExit) as ended:
        read(Given(cdk.App(context={"key": value})))
    assert str(ended.value).startswith(f"error: key={value}: {said}")


def test_an_error_of_the_library_has_the_key_before_it() -> None:
    given = Given(cdk.App(context={"hosts": "0"}))
    with pytest.raises(SystemExit, match="^error: hosts=0: max_instances: got 0$"), given.refused_for("hosts"):
        raise InvalidValueError("got 0", argument="max_instances")


@pytest.mark.parametrize(
    ("family", "said"),
    [
        ("zz", "no instance family 'zz' .*; fix: one of gpu_constructs.facts.families"),
        ("p5", "family: p5 has no hosts with 4 NVIDIA GPUs, and a job here needs one; fix: a family such as g6"),
        ("trn1", "family: trn1 has no hosts with 1 NVIDIA GPU, and"),
    ],
)
def test_a_family_that_lacks_a_host_for_a_job_is_refused(family: str, said: str) -> None:
    with pytest.raises(GpuConstructsError, match=said):
        BenchmarkJobsStack(cdk.App(), "benchmark-jobs", family=family)
