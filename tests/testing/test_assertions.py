"""Assertions that a consumer's test makes: what passes, what fails, and what the failure tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.errors import InvalidValueError, UnknownNameError
from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind
from gpu_constructs.testing import GpuAssertions, gpus
from tests.testing.templates import GOOD, L4, RELEASE, capacity, task, template


@pytest.fixture(scope="module")
def good() -> GpuAssertions:
    return gpus(GOOD)


def failure(assertion: Callable[[], object]) -> str:
    with pytest.raises(AssertionError) as caught:
        assertion()
    return str(caught.value)


def test_a_good_template_stands_every_assertion_in_one_string(good: GpuAssertions) -> None:
    strung = (
        good.has_gpu_task("Train", gpus=4, on="g6.12xlarge")
        .uses_image("al2023-gpu", release=RELEASE)
        .every_gpu_task_is_placeable()
        .has_no_findings()
        .scales_to_zero()
    )
    assert strung is good


@pytest.mark.parametrize("name", ["Train", "train"], ids=["logical id", "family"])
@pytest.mark.parametrize("on", [None, "g6.12xlarge", "g6", ["g6.12xlarge", "g5"]], ids=str)
def test_a_task_is_found_by_its_names_and_by_types_or_families(good: GpuAssertions, name: str, on: Any) -> None:
    assert good.has_gpu_task(name, gpus=4, on=on) is good


@pytest.mark.parametrize("on", ["g9.xlarge", "g9"])
def test_a_type_that_the_template_declares_has_its_name(on: str) -> None:
    group = capacity("New", "g9.xlarge")
    declared = {"g9.xlarge": {"Vcpus": 4, "MemoryMib": 32768, "Gpus": 4, "GpuModel": "L40S"}}
    group["NewGroup"]["Metadata"] = {"gpu-constructs": {"InstanceTypes": declared}}
    gpus(template(group, task("Train", service_on="New"))).has_gpu_task("Train", gpus=4, on=on)


def test_a_name_of_two_tasks_is_refused_with_names_that_mean_one() -> None:
    found = gpus(template(L4, {"TrainA": task("TrainA", count="8")["TrainA"], "TrainB": task("TrainA")["TrainA"]}))
    text = failure(lambda: found.has_gpu_task("traina", gpus=4))
    assert text.startswith("name: 2 tasks are called 'traina'; allowed: TrainA or TrainB\n")
    found.has_gpu_task("TrainB", gpus=4)


def test_a_template_without_gpus_says_so() -> None:
    nothing = gpus(template())
    assert failure(lambda: nothing.has_gpu_task("Train")) == (
        "no GPU task 'Train'\ntasks with GPUs: none\npools with accelerators: none"
    )
    assert failure(nothing.every_gpu_task_is_placeable).startswith("no GPU task\n")
    assert failure(nothing.scales_to_zero).startswith("not every pool scales to zero\n")
    assert nothing.has_no_findings() is nothing


def test_a_task_that_no_service_runs_may_run_on_every_pool_that_it_fits() -> None:
    found = gpus(template(L4, capacity("Small", "g6.xlarge"), capacity("A10G", "g5.12xlarge"), task("Train")))
    found.has_gpu_task("Train", on=["g6.12xlarge", "g5.12xlarge"]).every_gpu_task_is_placeable()
    assert "may run on g6.12xlarge, g5.12xlarge" in failure(lambda: found.has_gpu_task("Train", on="g6"))


def test_a_type_that_is_only_known_at_deploy_time_is_on_none() -> None:
    unknown = template(capacity("L4", "g6.12xlarge"), task("Train", service_on="L4"))
    overrides = unknown["Resources"]["L4Group"]["Properties"]["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"]
    overrides.append({"InstanceType": {"Fn::ImportValue": "type"}})
    found = gpus(unknown)
    assert "may run on L4, whose instance types are not known" in failure(lambda: found.has_gpu_task("Train", on="g6"))
    assert "  g6.12xlarge and types unknown at synth  " in failure(lambda: found.has_gpu_task("Train", on="g6"))


def test_hosts_that_nothing_stops_do_not_scale_to_zero() -> None:
    found = gpus(template(capacity("L4", "g6.12xlarge", ManagedScaling={"Status": "DISABLED"})))
    assert "pool 'L4' has no managed scaling" in failure(found.scales_to_zero)
    instance = Pool(
        name="Box",
        instance_types=(instance_type("g6.xlarge"),),
        image=UNKNOWN,
        min_instances=0,
        max_instances=UNKNOWN,
        kind=PoolKind.INSTANCE,
    )
    alone = gpus(Fleet(pools=(instance,)))
    assert "pool 'Box' is an instance, which nothing stops" in failure(alone.scales_to_zero)
    assert "pool 'Box' runs unknown at synth" in failure(lambda: alone.uses_image("al2023-gpu"))


def test_a_task_that_does_not_fit_says_why_and_where() -> None:
    found = gpus(template(L4, task("Train", count="8", service_on="L4")))
    text = failure(found.every_gpu_task_is_placeable)
    assert text.startswith(
        "1 of 1 GPU tasks cannot be placed for certain\n"
        "task 'Train' does not fit on L4: GPUs: 8 asked, g6.12xlarge has 4\n"
    )


def two_pools(**service: Any) -> GpuAssertions:
    """A service of a task of 4 GPUs beside a pool with 4 and one with 1."""
    written = template(L4, capacity("Small", "g6.xlarge"), task("Train", service_on="L4"))
    written["Resources"]["TrainService"]["Properties"].pop("CapacityProviderStrategy")
    written["Resources"]["TrainService"]["Properties"] |= service
    return gpus(written)


def strategy(**weights: int) -> dict[str, Any]:
    return {
        "CapacityProviderStrategy": [
            {"CapacityProvider": name if name == "FARGATE" else {"Ref": name}, "Weight": weight}
            for name, weight in weights.items()
        ]
    }


def test_every_pool_that_a_strategy_gives_tasks_to_has_to_fit() -> None:
    both = two_pools(**strategy(L4=1, Small=1))
    assert "task 'Train' does not fit on Small: GPUs: 4 asked" in failure(both.every_gpu_task_is_placeable)
    two_pools(**strategy(L4=1, Small=0)).every_gpu_task_is_placeable()


def test_findings_are_listed_with_place_and_fix(tmp_path: Path) -> None:
    file = tmp_path / "template.json"
    file.write_text(json.dumps(template(L4, task("Train", count="8", service_on="L4")), indent=1))
    text = failure(lambda: gpus(file).has_no_findings(at_least="error"))
    assert text.startswith("1 findings of error or worse\n")
    assert f"  {file}:" in text
    assert " TrainService: error GPU060: Train does not fit on L4: GPUs: 8 asked, g6.12xlarge has 4\n    fix: " in text


def test_a_finding_counts_from_its_severity_on_and_may_be_ignored() -> None:
    found = gpus(template(capacity("L4", "g6.12xlarge", image="recommended/image_id"), task("Train", service_on="L4")))
    found.has_no_findings(at_least="error")
    found.has_no_findings(at_least="info", ignore=["gpu002", "GPU039", "GPU088"])
    found.has_no_findings()
    text = failure(lambda: found.has_no_findings(at_least="info"))
    assert "L4: info GPU002: image al2023-gpu follows the newest release" in text


@pytest.mark.parametrize(
    ("assertion", "error", "words"),
    [
        (lambda found: found.has_gpu_task("Train", on="g6.12xlrge"), UnknownNameError, "did you mean g6.12xlarge"),
        (lambda found: found.has_gpu_task("Train", on="g9.xlarge"), UnknownNameError, r"on: .*gpus\(…, configuration="),
        (lambda found: found.has_gpu_task("Train", on="g66"), UnknownNameError, "g6"),
        (lambda found: found.uses_image("al2023-gpus"), UnknownNameError, "did you mean al2023-gpu"),
        (lambda found: found.has_gpu_task(None), InvalidValueError, "name: got None; allowed: a name"),
        (lambda found: found.has_gpu_task(""), InvalidValueError, "name: got ''"),
        (lambda found: found.has_gpu_task("Chat", gpus="1"), InvalidValueError, "gpus: got '1'"),
        (lambda found: found.has_gpu_task("Chat", gpus=True), InvalidValueError, "gpus: got True"),
        (lambda found: found.has_gpu_task("Chat", on=5), InvalidValueError, "on: got 5; allowed: a name, or a list"),
        (lambda found: found.has_gpu_task("Chat", on=["g6", None]), InvalidValueError, "on: got"),
        (lambda found: found.uses_image(5), InvalidValueError, "name: got 5"),
        (lambda found: found.uses_image("al2023-gpu", release=5), InvalidValueError, "release: got 5"),
        (lambda found: found.has_no_findings(ignore=None), InvalidValueError, "ignore: got None"),
        (lambda found: found.has_no_findings(at_least=[]), InvalidValueError, "at_least: got"),
        (lambda found: found.has_no_findings(at_least="worst"), InvalidValueError, "allowed: error, warning, info"),
        (lambda found: found.has_no_findings(ignore=["GPU9999"]), UnknownNameError, "no rule or warning 'GPU9999'"),
    ],
)
def test_a_mistake_in_the_test_itself_is_no_failed_assertion(
    good: GpuAssertions, assertion: Callable[[GpuAssertions], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        assertion(good)


def test_values_of_parameters_take_the_place_of_defaults() -> None:
    asked = template(L4, task("Train", service_on="L4"))
    asked["Parameters"] = {"Most": {"Type": "Number", "Default": 4}}
    asked["Resources"]["L4Group"]["Properties"]["MaxSize"] = {"Ref": "Most"}
    for given, most in (({}, 4), ({"Most": "9"}, 9)):
        assert [each.max_instances for each in gpus(asked, parameters=given).fleet.pools] == [most]


def test_a_failure_points_at_the_line_of_the_test(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(
        "from gpu_constructs.testing import gpus\ndef test_it():\n    gpus({'Resources': {}}).has_gpu_task('Train')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    # Without the plugins of whoever develops this, which take longer to load than the test to run.
    own = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
    assert "test_it.py:3: AssertionError" in done.stdout
    assert "assertions.py" not in done.stdout
