"""Hosts that prove their GPUs before they enter service: a host with fewer never gets a task and is replaced."""

from __future__ import annotations

import base64

import pytest
from ecs_emulator.local import Local

from tests.e2e.templates import Template, cluster_template, resource, task_definition

CHECK = "\naws autoscaling complete-lifecycle-action --lifecycle-action-result $result"
BOTTLEROCKET = """[settings.ecs]
cluster = "${Cluster}"
[settings.bootstrap-containers.gpus]
essential = true
user-data = "%s"
"""


def hooked(*, completes: bool = True, allowed: bool = True, timeout: int = 300, result: str = "ABANDON") -> Template:
    """A cluster whose hosts wait for a word.

    Args:
        completes: Whether their user data gives it.
        allowed: Whether their role lets them.
        timeout: Heartbeat timeout, in seconds.
        result: What holds without a word.
    """
    template = cluster_template("g6.48xlarge", max_size=1)
    resources = template["Resources"]
    resources["Task"] = task_definition(gpus=8)
    data = resources["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    if completes:
        data["UserData"]["Fn::Base64"]["Fn::Sub"] += CHECK
    statement = {"Effect": "Allow", "Action": ["autoscaling:CompleteLifecycleAction"], "Resource": "*"}
    policy = {"PolicyName": "Answer", "PolicyDocument": {"Statement": [statement]}}
    resources["Role"] = resource(
        "IAM::Role",
        AssumeRolePolicyDocument={"Statement": []},
        ManagedPolicyArns=["arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"],
        Policies=[policy] if allowed else [],
    )
    resources["Profile"] = resource("IAM::InstanceProfile", Roles=[{"Ref": "Role"}])
    data["IamInstanceProfile"] = {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}
    resources["Hook"] = resource(
        "AutoScaling::LifecycleHook",
        AutoScalingGroupName={"Ref": "Group"},
        LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING",
        HeartbeatTimeout=timeout,
        DefaultResult=result,
    )
    return template


def finish(cloud: Local, stack: object) -> None:
    cloud.account.stop_all(stack.outputs["Cluster"])  # type: ignore[attr-defined]
    cloud.destroy(stack)  # type: ignore[arg-type]


def states(cloud: Local, group: str) -> list[tuple[str, str]]:
    described = cloud.account.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[group])
    return [(item["InstanceId"], item["LifecycleState"]) for item in described["AutoScalingGroups"][0]["Instances"]]


def test_a_host_with_fewer_gpus_never_gets_a_task_and_is_replaced(cloud: Local) -> None:
    stack = cloud.deploy(hooked())
    outputs = stack.outputs
    cloud.switch("missing-gpus", "1")
    seen: set[str] = set()

    (task,) = cloud.account.run(cluster=outputs["Cluster"], taskDefinition=outputs["Task"]).tasks
    launched = []
    for _ in range(6):
        seen |= {host.instance_id for host in cloud.account.hosts(outputs["Cluster"])}
        launched += [name for name, _ in states(cloud, outputs["Group"]) if name not in launched]
    (running,) = cloud.account.tasks(outputs["Cluster"])

    assert len(launched) == 2
    assert seen == {launched[1]}
    assert (running.arn, running.status, running.instance_id) == (task, "RUNNING", launched[1])
    assert len(set(running.gpus)) == 8
    finish(cloud, stack)


def test_without_a_check_a_host_with_fewer_gpus_joins_while_it_waits(cloud: Local) -> None:
    stack = cloud.deploy(hooked(completes=False))
    outputs = stack.outputs
    cloud.switch("missing-gpus", "1")

    state = cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"], minutes=3)

    assert [len(host.gpus) for host in cloud.account.hosts(outputs["Cluster"])] == [7]
    assert state == "PROVISIONING"
    finish(cloud, stack)


@pytest.mark.parametrize(("result", "survives"), [("ABANDON", False), ("CONTINUE", True)])
def test_without_a_word_the_default_result_holds_after_the_timeout(cloud: Local, result: str, survives: bool) -> None:
    stack = cloud.deploy(hooked(completes=False, timeout=180, result=result))
    outputs = stack.outputs
    cloud.account.run(cluster=outputs["Cluster"], taskDefinition=outputs["Task"])

    progress = []
    for _ in range(4):
        cloud.account.hosts(outputs["Cluster"])
        progress.append(states(cloud, outputs["Group"])[0])

    assert [state for _, state in progress[:3]] == ["Pending:Wait"] * 3
    assert (progress[3][0] == progress[0][0]) is survives
    assert progress[3][1] == ("InService" if survives else "Pending:Wait")
    finish(cloud, stack)


def test_a_host_whose_role_may_not_answer_does_not_enter_service(cloud: Local) -> None:
    stack = cloud.deploy(hooked(allowed=False))
    outputs = stack.outputs

    state = cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"], minutes=4)

    assert [state for _, state in states(cloud, outputs["Group"])] == ["Pending:Wait"]
    assert not cloud.account.hosts(outputs["Cluster"])
    assert state == "PROVISIONING"
    finish(cloud, stack)


def test_a_bootstrap_container_of_bottlerocket_can_answer(cloud: Local) -> None:
    template = hooked()
    data = template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    script = base64.b64encode(CHECK.encode()).decode()
    data["UserData"]["Fn::Base64"]["Fn::Sub"] = BOTTLEROCKET % script
    stack = cloud.deploy(template)
    outputs = stack.outputs
    cloud.switch("missing-gpus", "8")

    state = cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"], minutes=6)

    assert state == "RUNNING"
    finish(cloud, stack)


def test_an_instance_that_somebody_terminates_is_replaced(cloud: Local) -> None:
    template = cluster_template()
    template["Resources"]["Group"]["Properties"]["MinSize"] = "1"
    stack = cloud.deploy(template)
    cluster, group = stack.outputs["Cluster"], stack.outputs["Group"]
    ((first, _),) = states(cloud, group)

    cloud.account.client("ec2").terminate_instances(InstanceIds=[first])
    cloud.minutes(cluster, 2)

    ((second, _),) = states(cloud, group)
    assert second != first
    assert [host.instance_id for host in cloud.account.hosts(cluster)] == [second]
    cloud.destroy(stack)


def pooled(each_boot: str = "", state: str = "Stopped") -> Template:
    template = hooked(timeout=180)
    pool = resource("AutoScaling::WarmPool", AutoScalingGroupName={"Ref": "Group"}, PoolState=state)
    template["Resources"]["WarmPool"] = {**pool, "DependsOn": "Hook"}
    data = template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    data["UserData"]["Fn::Base64"]["Fn::Sub"] += f"\necho ECS_WARM_POOLS_CHECK=true\n{each_boot}"
    return template


def test_a_host_with_fewer_gpus_does_not_enter_the_warm_pool(cloud: Local) -> None:
    cloud.switch("missing-gpus", "2")

    stack = cloud.deploy(pooled())

    running = cloud.account.client("ec2").describe_instances()["Reservations"]
    assert [item["Instances"][0]["State"]["Name"] for item in running] == ["terminated", "stopped"]
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("each_boot", "state", "survives"),
    [
        ("", "Stopped", False),
        ("systemctl enable gpu-check", "Stopped", True),
        ("systemctl enable gpu-check", "Running", False),
    ],
)
def test_a_warm_host_answers_again_only_if_its_check_runs_at_each_boot(
    cloud: Local, each_boot: str, state: str, survives: bool
) -> None:
    stack = cloud.deploy(pooled(each_boot, state))
    outputs = stack.outputs
    (warm,) = cloud.account.client("autoscaling").describe_warm_pool(AutoScalingGroupName=outputs["Group"])["Instances"]

    cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"], minutes=5)

    assert (warm["InstanceId"] in {name for name, _ in states(cloud, outputs["Group"])}) is survives
    finish(cloud, stack)
