"""Images and launch templates of compute environments: which of them the hosts of AWS Batch start from."""

from __future__ import annotations

import pytest

from gpu_constructs.rules.fit.unchecked import UNCHECKED
from tests.reports import about_batch, all_of_part
from tests.rules.changed import ON_CPU

_LAUNCHED = """
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        ImageId: resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended
  Environment:
    Properties: {ComputeResources: {Ec2Configuration: null, LaunchTemplate: {LaunchTemplateId: !Ref Template}}}
"""
_OVERRIDDEN = "{ImageIdOverride: ami-0123456789abcdef0, ImageType: ECS_AL2023_NVIDIA}"


def test_an_image_of_a_launch_template_is_looked_at_where_nothing_takes_its_place() -> None:
    assert about_batch(_LAUNCHED) == ["GPU130"]
    assert about_batch(_LAUNCHED.replace("Ec2Configuration: null", f"Ec2Configuration: [{_OVERRIDDEN}]")) == [UNCHECKED]
    assert about_batch(_LAUNCHED.replace("Ec2Configuration: null", "ImageId: ami-0123456789abcdef0")) == [UNCHECKED]


_PARAMETER = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"
_AMI = f"\nParameters: {{Ami: {{Type: AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>, Default: {_PARAMETER}}}}}\n"
_TEXT = _AMI.replace("AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "String")


@pytest.mark.parametrize(
    "place", ["Ec2Configuration: [{ImageType: ECS_AL2023_NVIDIA, ImageIdOverride: %s}]", "ImageId: %s"]
)
@pytest.mark.parametrize(
    ("written", "found"),
    [
        (_PARAMETER, ["GPU130"]),
        (f'"resolve:ssm:{_PARAMETER}"', ["GPU130"]),  # which a launch template takes
        ('"arn:aws:ssm:us-east-1:111122223333:parameter/gpu/ami"', ["GPU130"]),
        (f"!Ref Ami{_TEXT}", ["GPU130"]),
        (f'"{{{{resolve:ssm:{_PARAMETER}}}}}"', []),
        (f"!Ref Ami{_AMI}", []),
        ("ami-0123456789abcdef0", [UNCHECKED]),
    ],
)
def test_batch_looks_up_no_parameter_for_an_image(place: str, written: str, found: list[str]) -> None:
    value, _, parameters = written.partition("\n")
    part = (
        f"Resources:\n  Environment:\n    Properties:\n      ComputeResources:\n        {place % value}\n{parameters}"
    )
    assert about_batch(part) == found


_TEMPLATE = "{Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: %s}}"
_WITH_TEMPLATES = f"""{_AMI}Resources:
  Gpu: {_TEMPLATE % f'{{ImageId: "{{{{resolve:ssm:{_PARAMETER}}}}}"}}'}
  Plain: {_TEMPLATE % f'{{ImageId: "{{{{resolve:ssm:{_PARAMETER.replace("/gpu", "")}}}}}"}}'}
  Shell: {_TEMPLATE % "{UserData: echo a}"}
  Bare: {_TEMPLATE % "{EbsOptimized: true}"}
  Half: {_TEMPLATE % "{CpuOptions: {CoreCount: 1, ThreadsPerCore: 2}}"}
  Environment:
    Properties: {{ComputeResources: {{InstanceTypes: TYPES, Ec2Configuration: null, LaunchTemplate: SPECIFIED}}}}
"""
_OVERRIDE = "{LaunchTemplateId: FIRST, Overrides: [{LaunchTemplateId: !Ref OTHER, TargetInstanceTypes: [g5]}]}"


@pytest.mark.parametrize(
    ("types", "first", "other", "found"),
    [
        ("[g5.xlarge, g5.2xlarge]", "!Ref Gpu", "Plain", ["GPU052"]),
        ("[g5.xlarge]", "!Ref Plain", "Gpu", []),
        ("[g5.xlarge, g6.xlarge]", "!Ref Gpu", "Gpu", []),
        ("[g5.xlarge, g6.xlarge]", "!Ref Gpu", "Plain", [UNCHECKED]),
        ("[g5.xlarge]", "!Ref Bare", "Profile", [UNCHECKED]),
        ("[g5.xlarge]", "!Ref Gpu", "Bare", [UNCHECKED]),  # no page says whether the image of the first counts
        ("[g5.xlarge]", "!Ref Bare", "Shell", ["GPU107"]),
        ("[g5.xlarge, g6.xlarge]", "!Ref Bare", "Half", [UNCHECKED]),
        ("[g5.xlarge]", "!Ref Bare", "", []),
        ("[g5.xlarge]", "lt-1", "", [UNCHECKED]),
        # An image of the environment goes before that of its template, and that of an override before both.
        ("[g5.xlarge], ImageId: !Ref Ami", "lt-1", "", []),
        ("[g5.xlarge], ImageId: !Ref Ami", "!Ref Gpu", "Plain", ["GPU052"]),
    ],
)
def test_overrides_give_their_types_another_launch_template(
    types: str, first: str, other: str, found: list[str]
) -> None:
    specified = (_OVERRIDE if other else "{LaunchTemplateId: FIRST}").replace("FIRST", first).replace("OTHER", other)
    part = _WITH_TEMPLATES.replace("TYPES", types).replace("SPECIFIED", specified)
    assert about_batch(part) == found


def test_neuron_jobs_on_an_image_that_nobody_knows_are_not_checked() -> None:
    job = ON_CPU.replace("{Res", "{LinuxParameters: {Devices: [{HostPath: /dev/neuron0}]}, Res")
    part = _WITH_TEMPLATES.replace("TYPES", "[inf2.xlarge]").replace("SPECIFIED", "{LaunchTemplateName: elsewhere}")
    (found,) = (each for each in all_of_part("GPU296", part + job) if each.rule in {"GPU052", "GPU099", UNCHECKED})
    what = "these files do not define the launch template of Environment, so it is not known whether Job fits its hosts"
    assert found.message == what
    facts = "Metadata: {gpu-constructs: {MachineImage: {Accelerator: neuron}}}"
    assert about_batch(part.replace("  Environment:", f"  Environment:\n    {facts}") + job) == []
