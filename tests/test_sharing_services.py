"""However services share hosts and balancers: who should reach whom does, and each rule is there once."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gpu_constructs.check.report import check_files
from gpu_constructs.placement.rollout import Rollout, can_go_on
from tests.examples import times
from tests.reaching import Estate
from tests.sharing_services import BALANCERS, MODES, STACKS, Shared, build
from tests.synthesis import Site

SERVICES = st.builds(
    Shared,
    stack=st.sampled_from(STACKS),
    mode=st.sampled_from(sorted(MODES)),
    has_gpus=st.booleans(),
    balancer=st.sampled_from(BALANCERS),
)


@settings(max_examples=times(4), phases=[Phase.explicit, Phase.generate])  # to shrink an app would take minutes
@given(st.lists(SERVICES, min_size=2, max_size=4), st.sampled_from([None, Site.recommended_context()]))
def test_who_should_reach_whom_does_and_each_rule_is_there_once(
    services: list[Shared], context: dict[str, object] | None
) -> None:
    with TemporaryDirectory() as folder:
        assembly = build(Path(folder), services, context=context).synth()
        templates = {
            each.name.partition(".")[0]: json.loads(each.read_text()) for each in Path(folder).glob("*.template.json")
        }
        findings = check_files([Path(assembly.directory)]).findings
    estate = Estate(templates)
    assert estate.twice == []
    for name, needed in estate.needed.items():
        # A task that has several groups is reached through any of them.
        groups = {each.target for each in needed}
        assert all(estate.may_pass([each.source], groups, (each.first, each.last)) for each in needed), name
    assert [each for each in findings if each.rule in {"GPU010", "GPU206"}] == []
    # The hosts with GPUs are full: each service can stop its only task.
    for each in estate.of("AWS::ECS::Service").values():
        configuration = each["DeploymentConfiguration"]
        percent = Rollout(
            min_healthy_percent=configuration["MinimumHealthyPercent"],
            max_healthy_percent=configuration["MaximumPercent"],
        )
        assert can_go_on(1, 1, percent)
