"""The steps of ``docs/from-plain-cdk.md`` deploy over one another, and the service stays the one that it was."""

from __future__ import annotations

import json

from ecs_emulator.local import Local

from tests.documented import blocks_of, names_of, templates_of

PAGE = "docs/from-plain-cdk.md"


def test_each_step_deploys_over_the_one_before_it(cloud: Local) -> None:
    files = (file for block in blocks_of(PAGE) for file in templates_of(names_of(PAGE, block)))
    app, *steps = (json.loads(file.read_text()) for file in files)
    kinds = {each["Type"].rpartition(":")[2]: name for name, each in app["Resources"].items()}
    outputs = {"Outputs": {kind: {"Value": {"Ref": kinds[kind]}} for kind in ("Cluster", "Service")}}
    stack = cloud.deploy(app | outputs)
    for step in steps:
        cloud.minutes(stack.outputs["Cluster"], 20)  # hosts without a task leave
        updated = cloud.update(stack, step | outputs)
        assert (updated.outputs, updated.reason) == (stack.outputs, "")
    cloud.destroy(stack)
