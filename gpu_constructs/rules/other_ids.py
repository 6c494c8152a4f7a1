"""Ids that no rule has: of rules that are asked no more, with who says it now, and of warnings of constructs.

What old rules asked: ``docs/decisions/0036-which-rules-stay.md``. An id is never used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

OfConstructs: TypeAlias = Literal[
    "cpu-units",
    "fixed-tasks",
    "gpus-not-measured",
    "imported-topic",
    "jobs-in-a-circle",
    "no-checkpoints",
    "on-demand-base",
    "own-objects",
    "public-subnets",
]
"""What constructs warn of that no rule finds; check repeats it under the id that an app acknowledges, with a prefix."""


def _by_id(said: Mapping[str, str]) -> dict[str, str]:
    """What a table says of several ids at once, by each of them."""
    return dict(sorted((id_, what) for ids, what in said.items() for id_ in ids.split()))


PART_OF = _by_id(
    {
        "GPU008": "GPU228",
        "GPU021 GPU022 GPU031 GPU133 GPU292": "GPU020",
        "GPU029": "GPU028",
        "GPU038": "GPU025",
        "GPU041 GPU045": "GPU070",
        "GPU044": "GPU040",
        "GPU056": "GPU055",
        "GPU065 GPU066": "GPU064",
        "GPU068 GPU073 GPU390": "GPU060",
        "GPU075": "GPU061",
        "GPU081": "GPU080",
        "GPU086": "GPU084",
        "GPU090 GPU094": "GPU093",
        "GPU091 GPU118": "GPU092",
        "GPU096": "GPU097",
        "GPU105": "GPU003",
        "GPU108 GPU305": "GPU051",
        "GPU109": "GPU100",
        "GPU120 GPU302": "GPU089",
        "GPU121 GPU143": "GPU217",
        "GPU139": "GPU218",
        "GPU141": "GPU130",
        "GPU142": "GPU309",
        "GPU161 GPU169": "GPU104",
        "GPU167": "GPU165",
        "GPU172 GPU176 GPU177": "GPU170",
        "GPU180": "GPU032",
        "GPU187": "GPU166",
        "GPU196": "GPU195",
        "GPU201 GPU286 GPU287": "GPU200",
        "GPU205": "GPU204",
        "GPU207 GPU284": "GPU230",
        "GPU214": "GPU010",
        "GPU215": "GPU231",
        "GPU216 GPU282 GPU343": "GPU095",
        "GPU223": "GPU222",
        "GPU224": "GPU221",
        "GPU238": "GPU317",
        "GPU253": "GPU162",
        "GPU256": "GPU127",
        "GPU265": "GPU264",
        "GPU270": "GPU210",
        "GPU272": "GPU098",
        "GPU274": "GPU268",
        "GPU276": "GPU257",
        "GPU278": "GPU126",
        "GPU299": "GPU298",
        "GPU303": "GPU042",
        "GPU314": "GPU190",
        "GPU320": "GPU132",
        "GPU322": "GPU321",
        "GPU340": "GPU296",
        "GPU341": "GPU362",
        "GPU346": "GPU237",
        "GPU372 GPU373": "GPU376",
    }
)
"""The rule that asks it now. What accepts or ignores the old id counts for that, but for errors: it asked less."""

SAID_BY = _by_id(
    {
        "GPU024": "the page of ResourceRequirement of Amazon ECS, as far as it says anything",
        "GPU026": "Amazon ECS, RegisterTaskDefinition; cdk-preflight pf-ecs-fargate-inference-accelerator",
        "GPU035 GPU036": "Amazon ECS, RegisterTaskDefinition, cdk-preflight pf-ecs-container-memory-over-task",
        "GPU048 GPU049": "cfn-lint E3002 (templates), the AWS CLI before it sends a task definition",
        "GPU102 GPU281": "cfn-lint E3030",
        "GPU103": "Amazon ECS, when it creates the capacity provider (ClientException)",
        "GPU111": "cfn-lint E3706 (Auto Scaling groups), cdk-preflight pf-batch-ce-vcpus-order (AWS Batch)",
        "GPU115": "cfn-lint E0000",
        "GPU119": "cfn-lint E3034 and the APIs of Amazon ECS and EC2 Auto Scaling, when they are called",
        "GPU129": "cdk-preflight pf-asg-desired-capacity-range, EC2 Auto Scaling when it creates the group",
        "GPU134": "AWS Batch RegisterJobDefinition, cdk-preflight pf-batch-jd-resource-requirements-required",
        "GPU135": "Amazon EC2 Auto Scaling, when it creates the group",
        "GPU168": "Amazon EC2, when it creates the launch template or the group",
        "GPU173": "the page of EC2 about the lifetime of instance stores",
        "GPU175": "nobody; the hosts above MaxSize wait in the warm pool and cost",
        "GPU186": "the page of CapacityReservationRequest of Amazon ECS",
        "GPU188": "the page of Amazon ECS about Managed Instances",
        "GPU189": "Amazon ECS, when it creates the capacity provider",
        "GPU193 GPU194": "nobody; monitoring reports and replaces hosts with missing GPUs",
        "GPU202": "the Spot pricing history of Amazon EC2",
        "GPU209 GPU233 GPU255 GPU291": "Amazon ECS, RegisterTaskDefinition",
        "GPU212 GPU315": "Application Auto Scaling, RegisterScalableTarget, "
        "cdk-preflight pf-appautoscaling-min-max-capacity",
        "GPU219": "cfn-lint E3034 (schedules), cdk-preflight pf-events-target-ecs-parameters (rules), RunTask itself",
        "GPU225": "the page of CloudFormation about the UpdatePolicy attribute",
        "GPU227": "nobody; the default, ManagedDraining ENABLED, drains the hosts",
        "GPU232": "cdk-preflight pf-ecs-container-definitions-empty, cfn-lint E3042 (an empty list)",
        "GPU239": "AWS Security Hub ECS.8",
        "GPU250": "Amazon ECS, RegisterTaskDefinition (Container.image should not be null or empty)",
        "GPU252": "the activity of the Auto Scaling group",
        "GPU258": "Amazon ECS, when it creates the service",
        "GPU262 GPU279": "Amazon ECS, when it creates the service, cdk-preflight pf-ecs-svc-connect-port-name-missing",
        "GPU266": "Amazon EC2 Auto Scaling, when it creates the group, cdk-preflight pf-asg-zone-or-subnet-required",
        "GPU280": "cfn-lint E3053 (awsvpc), cdk-preflight pf-ecs-host-network-host-port-mismatch (host)",
        "GPU283": "cdk-preflight pf-ecs-service-deployment-percent, Amazon ECS when it creates the service",
        "GPU285": "Amazon ECS, when it creates the service (advancedConfiguration field is required)",
        "GPU288": "GPU053 where hosts with GPUs are beside them",
        "GPU290": "Amazon ECS, RegisterTaskDefinition, cdk-preflight pf-ecs-healthcheck-start-period-range",
        "GPU293 GPU330": "AWS Batch RegisterJobDefinition and SubmitJob",
        "GPU297": "cfn-lint E3034",
        "GPU300": "Amazon EventBridge, when it creates the target",
        "GPU301": "Amazon ECS, when it associates the list, while the provider is not active",
        "GPU308": "Amazon EC2 Auto Scaling, when it launches hosts",
        "GPU318": "Amazon ECS, when it creates the second service",
        "GPU344": "nobody; of multi-node jobs of AWS Batch GPU296",
        "GPU345": "nobody; of multi-node jobs of AWS Batch GPU342, of a state without a time limit GPU321",
        "GPU348 GPU355": "AWS Batch RegisterJobDefinition, cdk-preflight pf-batch-jd-node-target-nodes-coverage",
        "GPU349": "AWS Batch SubmitJob (ClientException)",
        "GPU352": "cfn-lint E3032",
        "GPU353": "EventBridge, when it is deployed, and cdk-preflight pf-events-target-parameters-required",
        "GPU354": "AWS Batch CreateComputeEnvironment",
        "GPU356": "Step Functions, when it is deployed (InvalidDefinition), "
        "and cdk-preflight pf-sfn-express-unsupported",
        "GPU357": "AWS Batch CreateJobQueue, cdk-preflight pf-batch-jq-ce-mix-fargate-ec2 (Fargate with EC2)",
        "GPU358": "AWS Batch CreateComputeEnvironment, cdk-preflight pf-batch-ce-allocation-strategy-compute-type",
        "GPU360": "cfn-lint E1152",
        "GPU361": "AWS Batch RegisterJobDefinition (ClientException); cdk-preflight pf-batch-jd-node-ranges-max",
        "GPU367": "cfn-lint E3601 (literal definitions), cdk-preflight pf-sfn-asl-numeric-ranges",
        "GPU368": "Step Functions, when it is deployed, cdk-preflight pf-sfn-asl-missing-state",
        "GPU369": "AWS Batch CreateSchedulingPolicy and CreateJobQueue, cfn-lint E3034",
        "GPU371": "cfn-lint E3601 (literal definitions), cdk-preflight pf-sfn-asl-state-fields",
        "GPU374 GPU375 GPU383 GPU384": "nobody before the deploy; then the alarm stays in INSUFFICIENT_DATA",
        "GPU377": "CloudWatch, when it is deployed, cfn-lint E3615 and cdk-preflight pf-cloudwatch-alarm-period",
        "GPU378": "CloudWatch, when it is deployed, and cdk-preflight pf-cloudwatch-metric-query-returndata",
        "GPU379": "CloudWatch, when it is deployed, and cdk-preflight pf-cloudwatch-alarm-action-vendor (literal ARNs)",
        "GPU380": "nobody before the deploy; then the state of the alarm shows it",
        "GPU381": "nobody before the deploy; then MatchedEvents has no values; test-event-pattern tries one",
        "GPU382": "EventBridge, when it is deployed, and cdk-preflight pf-events-pattern-scalar-value",
        "GPU385": "CloudWatch, when it is deployed, and cdk-preflight pf-cloudwatch-dashboard-body-json",
        "GPU392": "Amazon ECS, RegisterTaskDefinition (Max allowed length is '65536' bytes)",
    }
)
"""Who says it now where none of our rules does, such as a rule of another tool."""


def is_gone(rule: str) -> bool:
    """Whether an id in capitals, such as ``GPU008``, is that of a rule that is asked no more."""
    return rule in PART_OF or rule in SAID_BY


def id_now(rule: str) -> str:
    """The id of the rule that asks now what a rule asked, both in capitals; empty where none does."""
    return "" if rule in SAID_BY else PART_OF.get(rule, rule)


def what_became_of(rules: Iterable[str]) -> tuple[str, ...]:
    """A line for each id, in capitals, of a rule that is asked no more."""
    return tuple(
        f"{each} is part of {PART_OF[each]} now, and accepts no error of it"
        if each in PART_OF
        else f"{each} is retired; reported now by: {SAID_BY[each]}"
        for each in dict.fromkeys(rules)
        if is_gone(each)
    )
