"""How does the test of an app ask about its GPUs? Assertions on templates, and templates in a form for snapshots.

::

    from aws_cdk.assertions import Template
    from gpu_constructs.testing import gpus, normalized

    def test_training_gets_its_gpus():
        fleet = gpus(Template.from_stack(stack))
        fleet.has_gpu_task("Train", gpus=4, on="g6.12xlarge")
        fleet.every_gpu_task_is_placeable()
        fleet.has_no_findings(ignore=["GPU002"])
        fleet.scales_to_zero()

    def test_template(snapshot):
        assert normalized(Template.from_stack(stack)) == snapshot(extension_class=JSONSnapshotExtension)

What fails is an ``AssertionError`` that says what was looked for, the nearest miss, and what there is. Nothing here
needs pytest, CDK or Node: a template may be a file or a dictionary as well.
"""

from gpu_constructs.testing.assertions import GpuAssertions
from gpu_constructs.testing.reading import gpus
from gpu_constructs.testing.snapshot import normalized

__all__ = ["GpuAssertions", "gpus", "normalized"]
