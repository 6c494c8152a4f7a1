"""New hosts: may ECS, Auto Scaling or AWS Batch start them, and does what waits for them hear from them?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpu_constructs.errors import brief
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import HostAction, Pool, PoolKind, Unknown
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Reference, Resource, begin_of, references_in
from gpu_constructs.template.resources.roles import Roles
from gpu_constructs.template.resources.section import Section, given

_HOOK = "AWS::AutoScaling::LifecycleHook"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
# What may complete lifecycle actions may call this, or a rule gives it the events.
_COMPLETES = ("autoscaling:CompleteLifecycleAction", "lifecycle", "aws.autoscaling")
_HEARTBEAT_SECONDS = 3600  # the default in API_PutLifecycleHook
_CREATION, _UPDATE = "CreationPolicy", "UpdatePolicy"
_INFRASTRUCTURE_POLICY = "AmazonECSInfrastructureRolePolicyForManagedInstances"


class _Starter(NamedTuple):
    """The role with which a service of AWS starts hosts, what it must allow one of, and what happens without."""

    key: str
    service: str
    one_of: Sequence[str]
    without: str
    policy: str


_STARTERS = {
    PoolKind.MANAGED_INSTANCES: _Starter(
        key="InfrastructureRoleArn",
        service="ecs.amazonaws.com",
        one_of=("ec2:RunInstances", "ec2:CreateFleet"),
        without="ECS cannot start hosts",
        policy=f"the AWS managed policy {_INFRASTRUCTURE_POLICY}",
    ),
    PoolKind.BATCH: _Starter(
        key="ServiceRole",
        service="batch.amazonaws.com",
        # Recorded: hashicorp/terraform-provider-aws, #21281 and #34145.
        one_of=("ecs:DescribeClusters",),
        without="AWS Batch makes the environment INVALID, and starts no hosts",
        policy="the AWS managed policy service-role/AWSBatchServiceRole, or no ServiceRole",
    ),
}
# What the names of the roles begin with that AWS's policy passes, and none other.
_PASSED = "ecsInstanceRole"


@error(
    "GPU190",
    question="may ECS or AWS Batch start hosts with the role that is for it?",
    because="ECS starts Managed Instances with the infrastructure role, which has to trust ecs.amazonaws.com, to "
    f"launch instances and to pass the role of the hosts; {_INFRASTRUCTURE_POLICY} passes "
    "roles whose names begin with ecsInstanceRole, and any other name, such as one that CloudFormation makes, is an "
    "authorization error when a task is launched; a compute environment whose ServiceRole AWS Batch may not assume, or "
    "that does not allow ecs:DescribeClusters, becomes INVALID",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html",
)
def may_start_hosts(context: Context) -> Problems:
    roles = context.of_files(Roles)
    for pool in context.fleet.pools:
        found, starter = context.section(pool), _STARTERS.get(pool.kind)
        if found is None or starter is None:
            continue
        provider = found.section("ManagedInstancesProvider")
        role = roles.named(found.get(starter.key) or provider.get(starter.key))
        host = roles.of_profile(provider.section("InstanceLaunchTemplate").get("Ec2InstanceProfileArn"))
        if role is None:
            continue
        # One of these is enough; what is lacking is said of the first.
        first, *others = starter.one_of
        needed = () if any(not roles.lacks(role, each) for each in others) else (first,)
        refused = roles.refusal(role, starter.service, needed, starter.policy)
        if refused is None and host is not None and roles.lacks(role, "iam:PassRole") and not _may_be_passed(host):
            refused = (
                f"may not pass the role of the hosts, whose name does not begin with {_PASSED}",
                f"a RoleName {_PASSED}* for the role of the hosts, or iam:PassRole for it in the infrastructure role",
            )
        if refused is not None:
            yield Problem(
                about=pool,
                property_name=starter.key,
                message=f"the role in {starter.key} of {pool.name} {refused[0]}: {starter.without}",
                fix=refused[1],
            )


def _may_be_passed(role: Resource) -> bool:
    """Whether the name of a role may begin as it has to; without one CloudFormation begins it with the stack's."""
    name = role.properties.get("RoleName") or role.stack
    start = begin_of(name)
    return start.startswith(_PASSED) or (not isinstance(name, str) and _PASSED.startswith(start))


_SYMMETRIC = "SYMMETRIC_DEFAULT"
_KEY, _PERMISSION = "AWS::KMS::Key", "Custom::KeyPermission"
_KEY_ID = "BlockDeviceMappings.Ebs.KmsKeyId"
_LINKED_ROLE = "AWSServiceRoleForAutoScaling"
_ITS_ARN = f"arn:aws:iam::ACCOUNT:role/aws-service-role/autoscaling.amazonaws.com/{_LINKED_ROLE}"


@error(
    "GPU396",
    question="may hosts start with the KMS key of their volumes?",
    because="the service-linked role with which Auto Scaling starts hosts has no permission for keys of yours, and "
    "needs one in the policy of the key of their volumes; Amazon EBS takes only symmetric encryption keys; else no "
    "host starts: Client error on launch",
    softer="for AWS Batch, where no page says so, and where something else may have a grant for that role",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html",
)
def may_use_the_key(context: Context) -> Problems:
    index, roles = context.index, context.of_files(Roles)
    # A grant of Terraform whose key the plan does not name may be of any.
    is_known = context.fleet.is_whole and all(any(references_in(each.properties)) for each in index.all(_PERMISSION))
    for pool, data in context.launched:
        if pool.kind is PoolKind.INSTANCE:
            continue  # the deploy itself says what is wrong with an instance
        disks = [each.section("Ebs") for each in data.sections("BlockDeviceMappings")]
        named = [index.find(each.get("KmsKeyId"), _KEY) for each in disks if each.flag("Encrypted") is True]
        for key in {each.reference: each for each in named if each}.values():
            spec, policy = key.properties.get("KeySpec", _SYMMETRIC), key.properties.get("KeyPolicy")
            if isinstance(spec, str) and spec != _SYMMETRIC:
                yield Problem(
                    about=pool,
                    property_name=_KEY_ID,
                    message=f"{key.logical_id}, the key of the volumes of {pool.name}, has KeySpec {spec}, and Amazon "
                    "EBS takes only symmetric encryption keys: no host starts",
                    fix="another key, with KeySpec SYMMETRIC_DEFAULT or none: the KeySpec of a key cannot change",
                )
            elif key.reference not in index.others.exposed_to_code and roles.are_left_out(policy):
                yield Problem(
                    about=pool,
                    property_name=_KEY_ID,
                    message=f"the key policy of {key.logical_id}, which encrypts the volumes of {pool.name}, does not "
                    f"let the service-linked role {_LINKED_ROLE} use it: no host starts",
                    fix=f"statements in the key policy for {_ITS_ARN} with kms:CreateGrant, kms:Decrypt, "
                    "kms:DescribeKey, kms:Encrypt, kms:GenerateDataKey* and kms:ReEncrypt*",
                    is_certain=is_known
                    and pool.kind is not PoolKind.BATCH
                    and key.reference not in index.others.exposed_to_stacks
                    and not index.others.may_call("kms:CreateGrant", "kms:PutKeyPolicy", on=key.reference),
                )


@error(
    "GPU306",
    question="does every host send the signal that CloudFormation waits for?",
    because="with a ResourceSignal, or WaitOnResourceSignals in an update, CloudFormation waits for a signal of each "
    "host; the deploy fails after the timeout and is rolled back if nothing sends it",
    softer="where an update may go on without any",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-creationpolicy.html",
    changes="UserData",
)
def sends_signals(context: Context) -> Problems:
    for pool, group in _groups(context, HostAction.SIGNALS):
        waits, must_come = _awaits_signals(group)
        # A program with that permission may send the signals of hosts.
        if waits and not context.index.others.may_call("cloudformation:SignalResource"):
            yield Problem(
                about=pool,
                message=f"CloudFormation waits for a signal of the hosts of {pool.name} ({waits}), and their user data "
                "sends none",
                fix=f"cfn-signal at the end of the user data, or leave the signals out of {waits}",
                property_name="UserData",
                is_certain=must_come,
            )


@error(
    "GPU316",
    question="does something complete the lifecycle hook that new hosts wait for?",
    because="a new host waits until something completes the action of each launch hook; after the timeout the default "
    "result ABANDON ends the host, and the group launches the next one, which waits as well",
    softer="where other files may complete the action",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutLifecycleHook.html",
    stops_work=True,
)
def launch_is_completed(context: Context) -> Problems:
    separate = context.once(_separate_hooks)
    for pool, group in _groups(context, HostAction.COMPLETES_HOOKS):
        listed = Section.of(group, []).sections("LifecycleHookSpecificationList")
        hooks = [
            *((str(each.path[-1]), each) for each in listed),
            *((each.logical_id, Section.of(each, [])) for each in separate.get(group.reference, ())),
        ]
        for otherwise, hook in hooks:
            is_held = hook.text("LifecycleTransition") == "autoscaling:EC2_INSTANCE_LAUNCHING"
            is_abandoned = hook.text("DefaultResult") in {None, "ABANDON"} and not hook.has("NotificationTargetARN")
            if not (is_held and is_abandoned) or context.index.others.may_call(*_COMPLETES):
                continue
            name, seconds = hook.text("LifecycleHookName"), given(hook.integer("HeartbeatTimeout"), _HEARTBEAT_SECONDS)
            waits = "" if isinstance(seconds, Unknown) else f" after {seconds} seconds"
            yield Problem(
                about=pool,
                message=f"new hosts of {pool.name} wait for the lifecycle hook "
                f"{brief(name if isinstance(name, str) else otherwise)}, which nothing in these files completes: the "
                f"default result ABANDON ends them{waits}",
                fix="aws autoscaling complete-lifecycle-action at the end of the user data, a function that completes "
                "the action, or DefaultResult: CONTINUE",
                property_name="DefaultResult",
                origin=hook.origin,
                is_certain=context.fleet.is_whole,
            )


def _groups(context: Context, action: HostAction) -> Iterator[tuple[Pool, Resource]]:
    """Pools whose hosts certainly do not take an action themselves, with their Auto Scaling groups."""
    for pool in context.fleet.pools:
        if pool.has_image_of_aws and action in pool.user_data.actions_never_taken:
            group = context.group(pool)
            if group is not None:
                yield pool, group


def _awaits_signals(group: Resource) -> tuple[str, bool]:
    """The attribute with which CloudFormation waits for a signal of each host, and whether it fails without any.

    The attribute is empty where CloudFormation does not wait.
    """
    signal = Section(group.creation_policy, group.origin, (_CREATION,), []).section("ResourceSignal")
    update = Section(group.update_policy, group.origin, (_UPDATE,), []).section("AutoScalingRollingUpdate")
    count = given(signal.integer("Count"), 1) if signal.keys else 0
    if isinstance(count, int) and count > 0:
        return _CREATION, True
    needed = given(update.integer("MinSuccessfulInstancesPercent"), 100)
    is_waiting = update.flag("WaitOnResourceSignals") is True
    return _UPDATE if is_waiting else "", isinstance(needed, int) and needed > 0


def _separate_hooks(context: Context) -> dict[Reference | None, list[Resource]]:
    named = ((each, each.properties.get("AutoScalingGroupName")) for each in context.index.all(_HOOK))
    return grouped((context.index.reference(name, _GROUP, each.origin.place), each) for each, name in named)
