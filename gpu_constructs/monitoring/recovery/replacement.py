"""States that replace an empty host, and wait for the new one.

A host is ended with TerminateInstanceInAutoScalingGroup: the group launches another one for it, neither scale-in
protection nor managed termination protection holds it back
(https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html), and ECS managed
draining still sees that the last tasks end well. SetInstanceHealth would come to the same by way of a health check.
"""

from __future__ import annotations

from gpu_constructs.cdk.durations import in_words
from gpu_constructs.cdk.state_parts import State, choice_state, is_there, pass_state, text_matches
from gpu_constructs.monitoring.recovery.recovery_run import (
    ENDS_BY_ITSELF,
    PAUSE_SECONDS,
    RecoveryRun,
    ask,
    gives_up,
    tell,
)

_REPLACEMENT_LOOKS = 30

LONGEST_REPLACEMENT_SECONDS = PAUSE_SECONDS * _REPLACEMENT_LOOKS
"""How long the new host may take."""


def replacement_states(run: RecoveryRun) -> State:
    """States from ``FindGroup`` on, which end the execution."""
    state = "$.of.AutoScalingInstances[0].LifecycleState"
    group = "$.of.AutoScalingInstances[0].AutoScalingGroupName"
    asked = {"InstanceIds.$": "States.Array($.host)"}
    name = {"AutoScalingGroupNames.$": f"States.Array({group})"}
    in_service = "$.AutoScalingGroups[0].Instances[?(@.LifecycleState == 'InService')]"
    enough = {"Variable": "$.ready.hosts", "NumericGreaterThanEqualsPath": "$.group.wanted", "Next": "TellReplaced"}
    less = {"Variable": "$.count.looks", "NumericLessThan": _REPLACEMENT_LOOKS, "Next": "LookForNew"}
    return {
        "FindGroup": ask(run, "autoscaling:describeAutoScalingInstances", asked, "$.of", "InGroup"),
        "InGroup": choice_state(
            [
                {**is_there(group, there=False), "Next": "TellGone"},
                {**text_matches(state, "Terminat*"), "Next": "TellGone"},
            ],
            "Replace",
        ),
        "TellGone": tell(run, "is gone", "Its Auto Scaling group has ended it already", following=ENDS_BY_ITSELF),
        "Replace": ask(
            run,
            "autoscaling:terminateInstanceInAutoScalingGroup",
            {"InstanceId.$": "$.host", "ShouldDecrementDesiredCapacity": False},
            "$.ended",
            "CountAgain",
        ),
        "CountAgain": {"Type": "Pass", "Result": {"looks": 0}, "ResultPath": "$.count", "Next": "LookForNew"},
        "LookForNew": {"Type": "Wait", "Seconds": PAUSE_SECONDS, "Next": "CountLook"},
        "CountLook": pass_state({"looks.$": "States.MathAdd($.count.looks, 1)"}, "$.count", "DescribeGroup"),
        "DescribeGroup": {
            **ask(run, "autoscaling:describeAutoScalingGroups", name, "$.group", "Ready"),
            "ResultSelector": {"wanted.$": "$.AutoScalingGroups[0].DesiredCapacity", "hosts.$": in_service},
        },
        "Ready": pass_state({"hosts.$": "States.ArrayLength($.group.hosts)"}, "$.ready", "IsReady"),
        "IsReady": choice_state([enough, less], "Activities"),
        "TellReplaced": tell(
            run,
            "is replaced",
            "Its Auto Scaling group has the {} hosts that it should have",
            "$.group.wanted",
            following=ENDS_BY_ITSELF,
        ),
        "Activities": {
            **ask(
                run,
                "autoscaling:describeScalingActivities",
                {"AutoScalingGroupName.$": group, "MaxRecords": 10},
                "$.activities",
                "TellNotReplaced",
            ),
            "ResultSelector": {"said.$": "$.Activities[?(@.StatusCode == 'Failed')].StatusMessage"},
        },
        "TellNotReplaced": tell(
            run,
            "has no replacement yet",
            f"After {in_words(LONGEST_REPLACEMENT_SECONDS)} its Auto Scaling group has {{}} of {{}} hosts. It "
            "goes on trying, and tasks without a host wait. EC2 says: {}",
            "$.ready.hosts",
            "$.group.wanted",
            "States.JsonToString($.activities.said)",
            following="NotReplaced",
        ),
        "NotReplaced": gives_up("NotReplaced", "no host has come for {}: {}", "$.host", "$.what"),
    }
