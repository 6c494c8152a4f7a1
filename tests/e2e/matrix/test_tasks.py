"""What can be of `asks` is synthesized, linted, nagged, deployed until its tasks run, and destroyed.

By default on a few of the hosts and in the default network mode; ``make matrix`` takes all.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from ecs_emulator.local import Local, local
from gpu_constructs.check.report import check_files

from tests.matrix.asks import LANDINGS, MANAGED, MODES, PURCHASES, STORAGE, WITHOUT_LOCAL_DISKS, Host
from tests.matrix.building import REGIONS, Built, build, deploy_and_destroy, findings, lint
from tests.matrix.task_contradictions import REMARKS, REMARKS_ON_HOSTS, Combination
from tests.matrix.tasks import EVERYTHING, Defined, legal, managed_case
from tests.synthesis import ROOT

Record = Callable[[str, object], None]

QUICK = ("p5.48xlarge with EFA", "managed inf2.xlarge", "g6f.2xlarge and managed g6f.2xlarge")

REDUNDANT = "W3005"
"""A service depends on the whole cluster, on what it refers to anyway too; CDK writes both, and it does no harm."""


def landings() -> list[Defined]:
    every = [tuple(legal(hosts, MODES if EVERYTHING else MODES[:1])) for hosts in LANDINGS]
    defined = [Defined(each) for each in every if each]
    return [each for each in defined if EVERYTHING or each.name in QUICK]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = Path(tmp_path_factory.mktemp("tasks"))
    return build(folder, [each.case for each in landings()])


def combination_of() -> dict[str, Combination]:
    """Every combination that is built, by its family."""
    return {
        f"Case{number}-{index}": each
        for number, defined in enumerate(landings())
        for index, each in enumerate(defined.combinations)
    }


def test_our_own_check_says_what_is_to_be_said_and_no_more(built: Built) -> None:
    said: dict[str, set[str]] = defaultdict(set)
    for each in check_files([built.folder]).findings:
        assert each.severity != "error", built.named(str(each))
        if each.severity == "warning":
            found = re.search(r"(Case\d+)(?:Task(\d+)|Capacity(\d+))", each.subject)
            assert found, each
            said[f"{found[1]}-{found[2]}" if found[2] else f"{found[1]} {found[3]}"].add(each.rule)
    expected = {
        family: {rule for rule, applies in REMARKS.items() if applies(its)} for family, its in combination_of().items()
    }
    expected |= {
        f"Case{number} {index}": {rule for rule, applies in REMARKS_ON_HOSTS.items() if applies(host)}
        for number, defined in enumerate(landings())
        for index, host in enumerate(defined.hosts)
    }
    assert said == {name: rules for name, rules in expected.items() if rules}


def test_cdk_nag_finds_nothing(built: Built) -> None:
    assert [each for each in findings(built) if not each.startswith("gpu-constructs")] == []


def test_cfn_lint_finds_nothing(built: Built, record_property: Record) -> None:
    regions = REGIONS if EVERYTHING else REGIONS[:1]
    assert [each for each in lint(built, regions) if each.split()[1] != REDUNDANT] == []
    record_property("linted", f"{len(built.stacks)} stacks in {', '.join(regions)}")


def test_every_task_runs_and_everything_can_be_destroyed(built: Built, record_property: Record) -> None:
    families, running = combination_of(), Counter[str]()

    def watch(cluster: str) -> None:
        for task in cloud.account.tasks(cluster):
            assert task.status == "RUNNING", task
            assert len(task.gpus) in gpus_of(families[task.family]), families[task.family]
            running[task.family] += 1

    with local() as cloud:
        deploy_and_destroy(cloud, built, watch)
    assert running == {
        family: len({each.is_managed for each in its.hosts}) for family, its in families.items() if its.is_placed
    }
    record_property("deployed", f"{len(families)} tasks, of which {running.total()} copies ran")


def gpus_of(its: Combination) -> set[int]:
    """How many GPU ids its containers may have together."""
    ask = its.ask
    if ask.takes_all:
        # Managed Instances take the smallest type that has some.
        return {each.gpus or 1 for each in its.hosts} | ({1} if its.managed else set())
    return {ask.gpu_containers if ask.shares or ask.parts else ask.whole}


# Managed Instances, however they are bought and wherever they keep their data


def kinds_of_managed() -> list[tuple[Host, str, str]]:
    every = list(product(MANAGED, PURCHASES, STORAGE))
    # Every purchase and every storage on one of the hosts at least, and every host.
    some = [(host, list(PURCHASES)[n % 4], list(STORAGE)[n % 3]) for n, host in enumerate(MANAGED)]
    return [
        (host, purchase, storage)
        for host, purchase, storage in (every if EVERYTHING else some)
        if storage != "local disks" or host not in WITHOUT_LOCAL_DISKS
    ]


@pytest.fixture(scope="module")
def managed(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = Path(tmp_path_factory.mktemp("managed"))
    return build(folder, [managed_case(*each) for each in kinds_of_managed()])


def test_cdk_nag_cfn_lint_and_our_own_check_find_nothing_on_managed_instances(
    managed: Built, record_property: Record
) -> None:
    assert findings(managed) == []
    regions = REGIONS if EVERYTHING else REGIONS[:1]
    assert [each for each in lint(managed, regions) if each.split()[1] != REDUNDANT] == []
    record_property("linted", f"{len(managed.stacks)} stacks in {', '.join(regions)}")


def test_a_task_runs_on_managed_instances_however_they_are_bought(managed: Built, record_property: Record) -> None:
    running: dict[str, str] = {}

    def watch(cluster: str) -> None:
        running.update((task.family, task.status) for task in cloud.account.tasks(cluster))
        for host in cloud.account.client("ec2").describe_instances()["Reservations"]:
            (instance,) = host["Instances"]
            bought["spot" if instance.get("InstanceLifecycle") == "spot" else "other"] += 1

    bought = Counter[str]()
    with local() as cloud:
        reserve(cloud)
        deploy_and_destroy(cloud, managed, watch)
    assert running == dict.fromkeys(managed.names, "RUNNING")
    assert bought["spot"] > 0
    record_property("deployed", f"{len(running)} capacities of Managed Instances with a task each")


def reserve(cloud: Local) -> None:
    types = [name for host in MANAGED for name in host.arguments.get("instance_types", ["g6e.12xlarge"])]
    for name in types:
        held = {"InstanceType": name, "AvailabilityZone": "us-east-1a", "TotalInstanceCount": 100}
        cloud.switch(f"reservations/cr-{name}", json.dumps({**held, "InstanceMatchCriteria": "targeted"}))
    cloud.switch("reservation-groups/matrix", ",".join(f"cr-{name}" for name in types))


# CDK's own validation takes seconds to load, once in each process, and cannot be switched on in that of the tests.
VALIDATED = """
import sys
from pathlib import Path
import aws_cdk as cdk
from tests.matrix.asks import ASKS, LANDINGS
from tests.matrix.building import build
from tests.matrix.tasks import Defined, legal

sharing = [each for each in ASKS if each.shares]
defined = [Defined(tuple(each)) for hosts in LANDINGS if (each := legal(hosts, [None], sharing))]
build(Path(sys.argv[1]), [each.case for each in defined])
print(sum(len(each.combinations) for each in defined))
"""


# By default tests/e2e/test_cdks_own_validation.py has one share.
if EVERYTHING:

    def test_cdks_own_validation_takes_every_share_under_the_flags_of_a_new_app(
        tmp_path: Path, record_property: Record
    ) -> None:
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", VALIDATED, str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "CDK_VALIDATION": "true"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        report = json.loads((tmp_path / "validation-report.json").read_text())
        (own,) = [each for each in report["pluginReports"] if each["pluginName"] == "CloudFormation Validate"]
        assert own["violations"] == []
        record_property("shares validated", ended.stdout.split()[-1])
