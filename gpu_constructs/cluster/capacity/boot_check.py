"""Hosts prove their GPUs before they take tasks; hosts that cannot are replaced, and an alarm reports it.

A host counts its GPUs with nvidia-smi, reports the result to its Auto Scaling group, and starts its ECS agent only
after that. The agent has to be held back: it registers with the cluster whatever state its Auto Scaling group has
the host in, and tasks would be placed on a host that waits. User data puts the check into ``ecs.service``, which starts
after user data (``After=cloud-final.service`` in packaging/amazon-linux-ami-integrated/ecs.service of
https://github.com/aws/amazon-ecs-agent), so that it runs at every boot, that of a host from a warm pool included.

The ECS-optimized AMI is built from the minimal Amazon Linux 2023 AMI, and its recipe adds no AWS CLI
(release-al2023.auto.pkrvars.hcl and variables.pkr.hcl of https://github.com/aws/amazon-ecs-ami, read on 2026-11-21).
Its curl signs requests itself: https://curl.se/docs/manpage.html#--aws-sigv4
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from constructs import Construct

from gpu_constructs.cdk.arguments import flag
from gpu_constructs.cluster.capacity.part import Contribution, HostPart
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import CHECKS_GPUS, Pool

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

HOOK_NAME = "gpu-check"

METRIC_NAMESPACE = "GpuConstructs"
METRIC_NAME = "HostsWithMissingGpus"

# Eight GPUs take minutes from the start of the instance to the check, and the check itself may take fifteen.
_HEARTBEAT_SECONDS = 1800
_ARGUMENT = "check_gpus_at_boot"

_SCRIPT = r"""#!/bin/bash
# Lets the ECS agent start once all GPUs are there. A host without them leaves its Auto Scaling group.
passed=$RUNTIME_DIRECTORY/passed
[ -e "$passed" ] && exit 0
imds() {
    curl -sf --max-time 5 -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"
}
field() { grep -o "\"$1\" *: *\"[^\"]*\"" | cut -d '"' -f 4; }
element() { grep -o "<$1>[^<]*" | cut -d '>' -f 2; }
call() {
    local service=$1
    shift
    curl -sSf --max-time 20 --aws-sigv4 "aws:amz:$region:$service" --config <(
        printf 'user = "%s:%s"\n' "$(field AccessKeyId <<< "$keys")" "$(field SecretAccessKey <<< "$keys")"
        printf 'header = "x-amz-security-token: %s"\n' "$(field Token <<< "$keys")"
    ) "$@" "https://$service.$region.$domain/"
}
complete-lifecycle-action() {
    call autoscaling -d Action=CompleteLifecycleAction -d Version=2011-01-01 -d LifecycleHookName=@HOOK@ \
        --data-urlencode "AutoScalingGroupName=$group" -d "InstanceId=$instance" -d "LifecycleActionResult=$1"
}
put-metric-data() {
    call monitoring -d Action=PutMetricData -d Version=2010-08-01 -d Namespace=@NAMESPACE@ \
        -d MetricData.member.1.MetricName=@METRIC@ -d MetricData.member.1.Value=1 -d MetricData.member.1.Unit=Count \
        -d MetricData.member.1.Dimensions.member.1.Name=AutoScalingGroupName \
        --data-urlencode "MetricData.member.1.Dimensions.member.1.Value=$group"
}
for _ in {1..15}; do
    gpus=$(timeout 20 nvidia-smi --query-gpu=index --format=csv,noheader | grep -c '^ *[0-9][0-9]* *$')
    [ "$gpus" -ge @EXPECTED@ ] && break
    sleep 10
done
result=CONTINUE
[ "$gpus" -ge @EXPECTED@ ] || result=ABANDON
echo "gpu-check: $gpus of @EXPECTED@ GPUs are there: $result"
counted= told=
for _ in {1..15}; do
    token=$(curl -sf --max-time 5 -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 300" \
        http://169.254.169.254/latest/api/token)
    region=$(imds placement/region) domain=$(imds services/domain) instance=$(imds instance-id)
    keys=$(imds "iam/security-credentials/$(imds iam/security-credentials/)")
    answer=$(call autoscaling -d Action=DescribeAutoScalingInstances -d Version=2011-01-01 \
        -d "InstanceIds.member.1=$instance")
    group=$(element AutoScalingGroupName <<< "$answer")
    [ "$result" = ABANDON ] && [ -n "$group" ] && [ -z "$counted" ] && put-metric-data && counted=yes
    case $(element LifecycleState <<< "$answer") in
    *Pending:Wait) complete-lifecycle-action "$result" && told=yes && break ;;
    InService) told=yes && break ;;
    esac
    sleep 10
done
if [ "$result" = ABANDON ]; then
    systemctl --no-block poweroff
elif [ -n "$told" ]; then
    touch "$passed"
    exit 0
fi
exit 1"""

# The credentials go to curl by a pipe, so that no list of processes shows them. A host that its group does not replace
# after ABANDON, because it was in service already, powers off: the group replaces hosts that do not run. A count that
# was right once is not repeated when the agent restarts under running tasks; /run is empty again after a boot.
_DROP_IN = (
    "[Service]",
    "RuntimeDirectory=gpu-check",
    "RuntimeDirectoryPreserve=yes",
    "TimeoutStartSec=20min",
    "ExecStartPre=/usr/local/sbin/gpu-check",
)

# IAM takes 10,240 characters of inline policies for a role, so all capacities of a cluster share one statement.
_Answers: TypeAlias = tuple[iam.CfnPolicy, iam.PolicyStatement, str]
"""The policy of hosts of one role, its statement about lifecycle actions, to which every group is added, and what the
ARN of every group of their stack begins with, up to the logical id: each part asked of CDK once.
"""
_ANSWERS: WeakKeyDictionary[iam.Role, _Answers] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class GpuCount(HostPart):
    """Whether hosts count their GPUs at boot."""

    is_asked: bool = False

    def __post_init__(self) -> None:
        flag(_ARGUMENT, self.is_asked)

    @property
    def rules(self) -> tuple[str, ...]:
        """The one about such hosts."""
        return ("GPU193",) if self.is_asked else ()

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this check, as the value that every check reads."""
        return replace(pool, group=replace(pool.group, checks_gpus=self.is_asked))

    def require_possible(self, pool: Pool) -> None:
        """Refuses to count an unknown number of GPUs; rule GPU193 decides the rest."""
        if not self.is_asked:
            return
        if not pool.types_are_known:
            raise IncompatibleError(
                "an instance type that is only known at deploy time does not say how many GPUs its hosts must find",
                argument=_ARGUMENT,
                value=True,
                fix="take the type from context instead of a parameter",
            )

    def contribute(self, adds: Contribution, pool: Pool) -> None:
        """Adds what it adds to the resources of a capacity.

        The lifecycle hook is in the group itself, so that its first hosts wait as well.
        """
        if self.is_asked:
            hook = autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty(
                lifecycle_hook_name=HOOK_NAME,
                lifecycle_transition="autoscaling:EC2_INSTANCE_LAUNCHING",
                default_result="ABANDON",
                heartbeat_timeout=_HEARTBEAT_SECONDS,
            )
            adds.boot_commands += boot_commands(pool)
            adds.group["lifecycle_hook_specification_list"] = [hook]
            adds.metadata[CHECKS_GPUS] = True


def boot_commands(pool: Pool) -> tuple[str, ...]:
    """Lines of user data that hold the ECS agent back until all GPUs are there."""
    devices = pool.instance_types[0].accelerators if pool.instance_types else None
    words = {
        # What the driver shows on a host; a fraction of a GPU is one.
        "@EXPECTED@": str(devices.logical_count if devices is not None else 0),
        "@HOOK@": HOOK_NAME,
        "@NAMESPACE@": METRIC_NAMESPACE,
        "@METRIC@": METRIC_NAME,
    }
    script = _SCRIPT
    for word, value in words.items():
        script = script.replace(word, value)
    return (
        "mkdir -p /etc/systemd/system/ecs.service.d",
        "cat <<'EOF' > /usr/local/sbin/gpu-check",
        *script.splitlines(),
        "EOF",
        "chmod 755 /usr/local/sbin/gpu-check",
        "cat <<'EOF' > /etc/systemd/system/ecs.service.d/gpu-check.conf",
        *_DROP_IN,
        "EOF",
        "systemctl daemon-reload",
    )


class BootCheck(Construct):
    """Makes new hosts of an Auto Scaling group wait until they have proved their GPUs.

    The lifecycle hook of `GpuCount` abandons hosts that do not answer in time. An abandoned host is terminated, and the
    group starts another one in its place, as often as it takes. The hosts need a way to the endpoints of Auto Scaling
    and CloudWatch; without it none enters service. Hosts that do not start send no data, which does not raise the
    alarm: watch the capacity as well.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html

    Args:
        scope: The capacity.
        construct_id: Its id in that scope.
        role: The role that all hosts of the cluster share.
        group: The Auto Scaling group, whose hosts run `boot_commands`.

    Attributes:
        alarm: In alarm while hosts with fewer GPUs than their type has are sent away; give it an action.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, role: iam.Role, group: autoscaling.AutoScalingGroup
    ) -> None:
        from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - few hosts count their GPUs

        super().__init__(scope, construct_id)
        _may_answer(role, cast("autoscaling.CfnAutoScalingGroup", group.node.default_child))
        self.alarm: cloudwatch.Alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_description="Hosts that started with fewer GPUs than their instance type has; each was replaced",
            metric=cloudwatch.Metric(
                namespace=METRIC_NAMESPACE,
                metric_name=METRIC_NAME,
                dimensions_map={"AutoScalingGroupName": group.auto_scaling_group_name},
                statistic="Sum",
            ),
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )


def _may_answer(role: iam.Role, group: autoscaling.CfnAutoScalingGroup) -> None:
    """Lets the hosts complete the lifecycle actions of this group, before the first of them starts.

    The policy names the group by the beginning of the name that CloudFormation makes, the stack's and the logical id,
    so that the group can wait for it: by reference it would have to come after the group, which does not come before
    its first hosts are in service. A separate policy, since one within the role would come too early to be added to.
    The other two actions know no resources:
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2autoscaling.html and
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html
    """
    if role not in _ANSWERS:
        _ANSWERS[role] = _answers_of(role)
    policy, statement, groups_of_stack = _ANSWERS[role]
    statement.add_resources(f"{groups_of_stack}{group.logical_id}-*")
    group.add_resource_dependency(policy)


def _answers_of(role: iam.Role) -> _Answers:
    statement = iam.PolicyStatement(sid="ProveGpus", actions=["autoscaling:CompleteLifecycleAction"])
    policy = iam.Policy(
        cast("Construct", role.node.scope),
        "BootCheckPolicy",
        roles=[role],
        statements=[
            statement,
            iam.PolicyStatement(sid="FindGroup", actions=["autoscaling:DescribeAutoScalingInstances"], resources=["*"]),
            iam.PolicyStatement(
                sid="CountMissingGpus",
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringEquals": {"cloudwatch:namespace": METRIC_NAMESPACE}},
            ),
        ],
    )
    stack = cdk.Stack.of(role)
    groups = stack.format_arn(
        service="autoscaling",
        resource="autoScalingGroup",
        resource_name=f"*:autoScalingGroupName/{stack.stack_name}-",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    return cast("iam.CfnPolicy", policy.node.default_child), statement, groups
