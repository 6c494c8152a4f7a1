"""Texts that get past the first check of a reader: what `fuzz` throws at them, and what atheris starts from."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

__all__ = ["QUERY_SEEDS", "QUERY_TEXTS", "TEMPLATE_SEEDS", "TEMPLATE_TEXTS"]

_WORDS_OF_QUERIES = (
    *("attribute:ecs.instance-type", "attribute:x", "agentVersion", "ec2InstanceId", "registeredAt", "task:group"),
    *("runningTasksCount", "==", "equals", "!=", "=~", "matches", "!~", "in", "not_in", "!in", "exists", "!exists"),
    *("<", "<=", ">", "greater_than", "and", "or", "not", "&&", "||", "!", "(", ")", "[", "]", ",", "'", '"', "\\"),
    *("g5.xlarge", "g5.*", "g6\\.(2|4)xlarge", "1.9.0", "service:x", "0", "-1", " ", "  ", "\t", "\u00e9", "\x00"),
)

QUERY_SEEDS: tuple[str, ...] = (
    "attribute:ecs.instance-type =~ g5.*",
    "attribute:ecs.instance-type in [g6.12xlarge, g6.24xlarge]",
    "not(runningTasksCount > 1) and (attribute:x exists or task:group == 'service:a b')",
    "agentVersion >= 1.100.0 && attribute:stack !in [a]",
)

_TYPES = (
    *("AWS::ECS::TaskDefinition", "AWS::ECS::Service", "AWS::ECS::Cluster", "AWS::ECS::CapacityProvider"),
    *("AWS::ECS::ClusterCapacityProviderAssociations", "AWS::AutoScaling::AutoScalingGroup"),
    *("AWS::AutoScaling::LaunchConfiguration", "AWS::EC2::LaunchTemplate", "AWS::EC2::Instance", "AWS::EC2::Subnet"),
    *("AWS::Batch::ComputeEnvironment", "AWS::Batch::JobDefinition", "AWS::Batch::JobQueue"),
    *("AWS::CloudFormation::Stack", "AWS::ApplicationAutoScaling::ScalableTarget", "Custom::Other"),
)
_KEYS = (
    *("ContainerDefinitions", "ResourceRequirements", "Type", "Value", "Name", "Cpu", "Memory", "MemoryReservation"),
    *("LaunchTemplate", "LaunchTemplateId", "LaunchTemplateData", "InstanceType", "ImageId", "UserData", "Version"),
    *(
        "MixedInstancesPolicy",
        "InstancesDistribution",
        "LaunchTemplateSpecification",
        "Overrides",
        "MinSize",
        "MaxSize",
    ),
    *("InstanceRequirements", "AcceleratorCount", "Min", "Max", "AutoScalingGroupProvider", "AutoScalingGroupArn"),
    *("ManagedScaling", "Status", "CapacityProviderStrategy", "CapacityProvider", "Weight", "Base", "Cluster"),
    *("TaskDefinition", "DesiredCount", "DeploymentConfiguration", "PlacementConstraints", "Expression", "LaunchType"),
    *("NetworkInterfaces", "InterfaceType", "Environment", "RuntimePlatform", "CpuArchitecture", "NetworkMode"),
    *(
        "LinuxParameters",
        "Devices",
        "SharedMemorySize",
        "PortMappings",
        "HostPort",
        "Tags",
        "TemplateURL",
        "Parameters",
    ),
    *("ComputeResources", "InstanceTypes", "ContainerProperties", "ManagedInstancesProvider", "CapacityProviders"),
)
_IDS = ("A", "B", "C", "D")
_WORDS = (
    *("GPU", "ALL", "1", "8", "0.25", "-1", "1e309", "9" * 50, "g5.xlarge", "g6.12xlarge", "x9.none", "ENABLED", "EC2"),
    *(
        "memberOf",
        "distinctInstance",
        "attribute:ecs.instance-type =~ g5.*",
        "awsvpc",
        "ARM64",
        "efa",
        "",
        "AWS::Region",
    ),
    *("#!/bin/bash\necho ECS_CLUSTER=a >> /etc/ecs/ecs.config", "[settings.ecs]\ncluster = 'a'", "${A}", "${A.Arn}"),
    *(
        "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id}}",
        "ami-0123456789abcdef0",
    ),
)
_FUNCTIONS = (
    *("Ref", "Fn::GetAtt", "Fn::Sub", "Fn::Join", "Fn::If", "Fn::Select", "Fn::Split", "Fn::FindInMap", "Fn::Base64"),
    *(
        "Fn::ImportValue",
        "Fn::Equals",
        "Fn::And",
        "Fn::Not",
        "Fn::Length",
        "Fn::ForEach::X",
        "Condition",
        "Fn::Nonsense",
    ),
)

_SCALARS = (
    st.sampled_from((*_WORDS, *_IDS))
    | st.none()
    | st.booleans()
    | st.integers(-1, 10**12)
    | st.floats()
    | st.text(max_size=5)
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6),
        st.dictionaries(
            st.sampled_from(_FUNCTIONS), inner | st.lists(inner, min_size=2, max_size=3), min_size=1, max_size=1
        ),
    ),
    max_leaves=25,
)
_RESOURCES = st.fixed_dictionaries(
    {"Type": st.sampled_from(_TYPES), "Properties": st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=8)},
    optional={"Condition": st.sampled_from(_IDS), "Metadata": _VALUES, "DependsOn": _VALUES},
)
_TEMPLATES = st.fixed_dictionaries(
    {"Resources": st.dictionaries(st.sampled_from(_IDS), _RESOURCES, max_size=4)},
    optional={
        section: st.dictionaries(st.sampled_from(_IDS), _VALUES, max_size=3)
        for section in ("Parameters", "Conditions", "Mappings", "Outputs", "Transform")
    },
)

TEMPLATE_SEEDS: tuple[str, ...] = (
    """\
Parameters:
  Type: {Type: String, Default: g5.xlarge, AllowedValues: [g5.xlarge, g6.12xlarge]}
Conditions:
  Big: !Equals [!Ref Type, g6.12xlarge]
Resources:
  Launch: &launch
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: !Ref Type
        UserData: !Base64
          Fn::Sub: |
            #!/bin/bash
            echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config
  Again: *launch
  Cluster: {Type: AWS::ECS::Cluster}
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties: {MinSize: '0', MaxSize: !If [Big, 1, 2], LaunchTemplate: {LaunchTemplateId: !Ref Launch}}
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      ContainerDefinitions:
        - {Name: a, Image: b, Memory: 1024, ResourceRequirements: [{Type: GPU, Value: '1'}]}
""",
    '{"family": "a", "containerDefinitions": [{"name": "a", "resourceRequirements": [{"type": "GPU", "value": "8"}]}]}',
)


def _spoiled(seeds: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Seeds of which some lines were repeated, moved, cut or mixed up with something else."""
    lines = tuple(line for seed in seeds for line in seed.splitlines())
    pieces = st.sampled_from(lines) | st.sampled_from(lines).flatmap(
        lambda line: st.integers(0, len(line)).map(lambda end: line[:end])
    )
    return st.lists(
        pieces | st.text(max_size=8) | st.sampled_from(("  ", "- ", "{", "}", "&a ", "*a", "<<: *a", "--- ")),
        max_size=30,
    ).map("\n".join)


_CONDITIONS = st.tuples(
    st.sampled_from(_WORDS_OF_QUERIES[:7]),
    st.sampled_from(
        ("==", "!=", "=~", "!~", ">", "<=", "equals", "matches", "in", "not_in", "!in", "exists", "!exists")
    ),
    st.sampled_from(
        ("", "g5.xlarge", "g5.*", "g6\\.(2|4)xlarge", "1.9.0", "7", "[a, b]", "['a b',c]", '"it\'s"', "(a)")
    ),
).map(" ".join)
_RIGHT = st.sampled_from(
    (
        *("attribute:x == a", "attribute:x exists", "attribute:x !exists", "attribute:ecs.instance-type =~ g5.*"),
        *(
            "attribute:x in [a, 'b c']",
            "attribute:x not_in ['(a)', b]",
            "ec2InstanceId !in ['i-1']",
            "agentVersion >= 1.9.0",
        ),
        *(
            "task:group == service:x",
            'task:group !~ "it\'s"',
            "runningTasksCount greater_than 1",
            "attribute:x matches .*",
        ),
    )
)


def _queries(conditions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        conditions,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from((" and ", " or ", "&&", " || ")), inner).map("".join),
            inner.map("({})".format),
            inner.map("not({})".format),
            inner.map("!({})".format),
        ),
        max_leaves=8,
    )


QUERY_TEXTS: st.SearchStrategy[str] = st.one_of(
    _queries(_RIGHT),
    _queries(_RIGHT | _CONDITIONS),
    st.tuples(_queries(_RIGHT), st.sampled_from(_WORDS_OF_QUERIES), st.integers(0, 200)).map(
        lambda drawn: drawn[0][: drawn[2]] + drawn[1] + drawn[0][drawn[2] :]
    ),
    st.lists(st.sampled_from(_WORDS_OF_QUERIES) | st.text(max_size=3), max_size=25).map("".join),
    st.text(),
)

TEMPLATE_TEXTS: st.SearchStrategy[str] = st.one_of(_TEMPLATES.map(json.dumps), _spoiled(TEMPLATE_SEEDS), st.text())
