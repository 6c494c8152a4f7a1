"""Jobs of AWS Batch: does a multi-node job start on all its hosts and end, and does Batch take what is submitted?

A job that is submitted with other nodes than its definition has is judged with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_constructs.errors import brief
from gpu_constructs.facts import InstanceType, known_type
from gpu_constructs.facts.aws_limits import (
    CPU_UNITS_PER_VCPU,
    JOB_ARRAY_SIZE,
    MAX_JOB_ATTEMPTS,
    MIN_JOB_TIMEOUT_SECONDS,
)
from gpu_constructs.fleet import JobQueue, Pool, PurchaseOption, Starter, Submission, Task, Unknown, known
from gpu_constructs.placement.demand import node_type_of
from gpu_constructs.placement.fit import alternatives
from gpu_constructs.rules.evidence.accelerated import gangs, has_several_nodes, is_managed
from gpu_constructs.rules.evidence.fixes import of_types
from gpu_constructs.rules.finding import Text, Word, and_list, first_of, one_way, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.security_groups import EGRESS, INGRESS, SecurityGroups

_A_DAY = 86_400
_FIRST_FREE_PORT = 1024  # the system gives MPI and NCCL ports from here on
_TYPES = {"Spot": "SPOT", "of ECS Managed Instances": "ECS_MANAGED_INSTANCES"}


@error(
    "GPU294",
    question="do multi-node jobs have a compute environment on demand, with instances of EC2?",
    because="AWS Batch runs multi-node parallel jobs neither on Spot Instances nor on ECS Managed Instances",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html",
)
def nodes_stay(context: Context) -> Problems:
    for task, pools in gangs(context):
        kinds = [_without_gangs(context, each) for each in pools]
        if all(kinds):
            # Strategies for Spot Instances are refused on demand.
            is_for_spot = isinstance(pools[0].allocation, str) and pools[0].allocation.startswith("SPOT")
            strategy = " with AllocationStrategy BEST_FIT_PROGRESSIVE" if is_for_spot else ""
            yield Problem(
                about=pools[0],
                involves=(task,),
                property_name="ComputeResources.Type",
                value=_TYPES[kinds[0]],
                message=f"{task.name} is a multi-node job, and every compute environment here is "
                f"{' or '.join(dict.fromkeys(kinds))}, where AWS Batch does not run multi-node jobs",
                allowed=Word("Type EC2"),
                fix=Word(f"Type EC2{strategy}, in a compute environment for these jobs"),
            )


def _without_gangs(context: Context, pool: Pool) -> str:
    if is_managed(context, pool):
        return "of ECS Managed Instances"
    return "Spot" if pool.bought.option is PurchaseOption.SPOT else ""


@error(
    "GPU362",
    question="do the nodes of a multi-node job name one instance type, which its compute environments have, and which "
    "has what they ask for?",
    because="all ranges of nodes must use the same instance type, and a compute environment launches no types but its "
    "InstanceTypes: a job whose instance type no compute environment of its queue has, or is too small, stays RUNNABLE",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-node-groups.html",
    unless=("GPU294", "GPU063"),
)
def has_one_type(context: Context) -> Problems:
    for task in context.tasks:
        types = [each for each in task.node_types if isinstance(each, str)]
        if len(types) > 1:
            yield Problem(
                about=task,
                property_name="InstanceType",
                value=types[1],
                message=f"the nodes of {task.name} name {and_list(types)}, and all nodes of a job must have one "
                "instance type",
                fix="one of them in all ranges",
                ways=first_of((f"{each} in all ranges", replace(task, node_types=(each,))) for each in types),
            )
        elif not context.fleet.pools and (named := known_type(node_type_of(task) or "")):
            yield from _on_small_nodes(task, named)
    for task, pools in gangs(context):
        there = tuple(dict.fromkeys(each.name for pool in pools for each in pool.instance_types))
        name = node_type_of(task) or ""
        same = known_type(name)
        is_known = all(each.types_are_known for each in pools)
        if name and is_known and name not in there:
            larger = (*pools[0].instance_types, same) if same else ()
            also = one_way(f"{same} in InstanceTypes", of_types(pools[0], larger)) if larger else ()
            yield Problem(
                about=task,
                involves=(pools[0],),
                property_name="InstanceType",
                value=name,
                message=f"the nodes of {task.name} are to be {brief(name)}, and {and_list(p.name for p in pools)} "
                f"{'has' if len(pools) == 1 else 'have'} {and_list(there)}",
                allowed=or_list(there),
                fix="a type that the compute environment has",
                ways=(*first_of((each, replace(task, node_types=(each,))) for each in there), *also),
            )


def _on_small_nodes(task: Task, named: InstanceType) -> Problems:
    """A job on nodes of a type that has less than they ask for, where no file says more of its hosts."""
    asked = (
        (f"GPU{'s' * (task.least_gpus > 1)}", task.least_gpus, named.gpus or int(named.is_fractional)),
        ("vCPUs", known(task.cpu, otherwise=0) // CPU_UNITS_PER_VCPU, named.vcpus),
        ("MiB of memory", known(task.memory_mib, otherwise=0), named.memory_mib),
    )
    lacking = [f"{wanted} {what} (it has {has})" for what, wanted, has in asked if wanted > has]
    if lacking and not task.submissions:
        types = [each.name for each in alternatives(task) if each.accelerators and not each.bare_metal]
        yield Problem(
            about=task,
            property_name="InstanceType",
            value=named.name,
            message=f"each node of {task.name} is {named}, and asks for {and_list(lacking)}",
            fix="an instance type with as much",
            ways=first_of((f"{each} in all ranges", replace(task, node_types=(each,))) for each in types),
        )


@warning(
    "GPU342",
    question="does a multi-node job with accelerators have a time limit?",
    because="AWS Batch watches the main node alone: where another one fails, the job neither stops nor is tried again, "
    "and all its hosts wait until a time limit ends it",
    source="https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html",
)
def ends(task: Task) -> Problems:
    if task.is_multi_node and task.wants_accelerator and task.attempt_seconds is None:
        yield Problem(
            property_name="Timeout.AttemptDurationSeconds",
            message=f"{task.name} has no time limit, and a node that fails leaves all others waiting",
            fix="a Timeout",
            ways=one_way(f"AttemptDurationSeconds of {_A_DAY}, a day", replace(task, attempt_seconds=_A_DAY)),
        )


@warning(
    "GPU347",
    question="can the nodes of a multi-node job with accelerators reach each other?",
    because="the interfaces of a multi-node job are in the security groups of its compute environment, or in the "
    "default one of the VPC where it names none, as with EFA; a new group lets nothing in, one with egress of its own "
    "lets out only that, and CDK takes the rules of the default one away where Vpc restricts it",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html",
    unless=("GPU294",),
)
def reach_each_other(context: Context) -> Problems:
    for task, pools in gangs(context):
        closed = [each for each in pools if each.has_emptied_group]
        # No template says which of several queues it is sent to.
        if all(_has_closed_groups(context, each) for each in pools):
            closed += pools
        if has_several_nodes(task) and closed:
            is_default = closed[0].has_emptied_group
            yield Problem(
                about=closed[0],
                involves=(task,),
                property_name="ComputeResources.SecurityGroupIds",
                message=f"the {task.nodes} nodes of {task.name} are in the "
                f"{'default security group of the VPC' if is_default else 'security groups'} of {closed[0].name}, "
                f"{'which lets nothing in' if is_default else 'whose rules do not let them reach each other'}",
                fix="restrict_default_security_group=False of ec2.Vpc, a rule that opens the group to itself, or "
                "SecurityGroupIds where hosts have no EFA"
                if is_default
                else "rules that open the group to itself: SecurityGroupIngress from the group, and where it has "
                "SecurityGroupEgress that to the group as well, with IpProtocol -1",
            )


def _has_closed_groups(context: Context, pool: Pool) -> bool:
    """Whether its own security groups, which go before those of its launch template, certainly part its nodes."""
    properties, security = context.section(pool), context.of_files(SecurityGroups)
    own = () if properties is None else security.listed(properties.section("ComputeResources"), "SecurityGroupIds")
    sides = (security.open_ports(own, side, own) for side in (INGRESS, EGRESS))
    return bool(own) and not all(any(last >= _FIRST_FREE_PORT for _, last in ports) for ports in sides)


_SUBMIT = "https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitJob.html"
_TRIED_LATER = (Starter.SCHEDULE, Starter.STATE_MACHINE)  # whose requests are sent when they run, and not before
_BY_TARGET = (Starter.RULE, Starter.PIPE)  # whose targets can name no share identifier and no condition of retries
_PATTERNS = ("OnExitCode", "OnReason", "OnStatusReason")
_THE_REST = Text('{"', Word("OnReason"), '": "*", "', Word("Action"), '": "EXIT"}')


@warning(
    "GPU331",
    question="do the conditions of retries say what ends a job?",
    because="AWS Batch runs a job again that meets none of its conditions: a mistake of the job itself costs all its "
    "attempts; the attempts in the target of a rule or a pipe replace the retry strategy of the job definition",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_RetryStrategy.html",
)
def says_what_ends_a_job(context: Context) -> Problems:
    for task in context.fleet.tasks:
        is_repeated = isinstance(task.attempts, int) and task.attempts > 1
        conditions = _conditions(context, task) if is_repeated else ()
        patterns = [[each.text(key) for key in _PATTERNS if each.has(key)] for each in conditions]
        # A pattern that is not known may be met by anything.
        names_the_rest = any(all(one == "*" or isinstance(one, Unknown) for one in each) for each in patterns)
        repeats_chosen = any(str(each.text("Action")).upper() == "RETRY" for each in conditions)
        if repeats_chosen and not names_the_rest and not any(each.is_unknown for each in conditions):
            yield Problem(
                about=task,
                property_name="RetryStrategy.EvaluateOnExit",
                message=f"the job {task.name} is run again after chosen causes, and after every other one as well, up "
                f"to {task.attempts} times",
                fix=Text(_THE_REST, " as the last condition"),
            )
    for run in context.fleet.submissions:
        is_repeated = run.starter in _BY_TARGET and isinstance(run.attempts, int) and run.attempts > 1
        conditions = _conditions(context, run.task) if is_repeated and run.task is not None else ()
        if run.task is not None and any(str(each.text("Action")).upper() == "EXIT" for each in conditions):
            # https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_BatchParameters.html
            yield Problem(
                about=run,
                involves=(run.task,),
                property_name="RetryStrategy.Attempts",
                message=f"{brief(run.name)} submits {run.task.name} with {run.attempts} attempts, which replace the "
                "conditions of its job definition: it is run again after every cause",
                fix="no RetryStrategy in the target: that of the job definition holds",
            )


def _conditions(context: Context, task: Task) -> Sequence[Section]:
    """The conditions of the retries of a job that has accelerators."""
    properties = context.section(task) if task.wants_accelerator else None
    return () if properties is None else properties.section("RetryStrategy").sections("EvaluateOnExit")


@error(
    "GPU350",
    question="does AWS Batch accept the numbers that a schedule or a state submits a job with accelerators with?",
    because="AWS Batch refuses an array of fewer than 2 or more than 10,000 jobs, fewer than 1 or more than 10 "
    "attempts and a timeout below 60 seconds; nobody looks at what a schedule or a state submits before it does, and "
    "each job is lost then",
    source=_SUBMIT,
)
def accepted_numbers(context: Context) -> Problems:
    for each in context.fleet.submissions:
        if each.starter not in _TRIED_LATER or each.task is None or not each.task.wants_accelerator:
            continue
        for name, value, (least, most) in (
            ("ArrayProperties.Size", each.copies, JOB_ARRAY_SIZE),
            ("RetryStrategy.Attempts", each.attempts, (1, MAX_JOB_ATTEMPTS)),
            ("Timeout.AttemptDurationSeconds", each.attempt_seconds, (MIN_JOB_TIMEOUT_SECONDS, None)),
        ):
            if isinstance(value, int) and (value < least or (most is not None and value > most)):
                allowed = f"{least} or more" if most is None else f"{least} to {most:,}"
                yield Problem(
                    about=each,
                    involves=(each.task,),
                    property_name=name,
                    value=value,
                    message=f"{brief(each.name)} submits {each.task.name} with {name} {value}",
                    allowed=allowed,
                    fix=f"{name} of {allowed}",
                )


@error(
    "GPU351",
    question="does a job with accelerators name its share where its queue has shares, and none where it has none?",
    because="AWS Batch requires a share identifier in a queue with a fair-share scheduling policy and refuses one in "
    "any other queue; the targets of rules and pipes have no share identifier",
    softer="where a scheduling priority is missing, which the API has been seen to require and its page does not name",
    source=_SUBMIT,
)
def share_as_its_queue(context: Context) -> Problems:
    for each in context.fleet.submissions:
        if each.queue is None or each.task is None or not each.task.wants_accelerator:
            continue
        problem, fix, is_certain = _unshared(each, each.queue)
        if problem:
            yield Problem(
                about=each,
                involves=(each.task,),
                property_name="ShareIdentifier",
                message=f"{brief(each.name)} submits {each.task.name} {problem}",
                fix=fix,
                is_certain=is_certain,
            )


def _unshared(submission: Submission, queue: JobQueue) -> tuple[str, str, bool]:
    """What is wrong with a share, what would do, and whether that is certain; empty where nothing is wrong."""
    if queue.has_shares is True and submission.starter in _BY_TARGET:
        return (
            f"to {queue.name}, which has a fair-share policy, and the target of a rule or a pipe names no share",
            "a schedule or a state that calls batch:submitJob with ShareIdentifier, or a queue without a policy",
            True,
        )
    if queue.has_shares is True and submission.share is False:
        return (
            f"without a share, and {queue.name} has a fair-share policy",
            "a ShareIdentifier, and a SchedulingPriority in the job definition",
            True,
        )
    if queue.has_shares is True and submission.share is True and submission.priority is False:
        return (
            f"to the fair shares of {queue.name}, and neither it nor the job definition has a scheduling priority",
            "a SchedulingPriority in the job definition, or SchedulingPriorityOverride",
            False,  # https://github.com/nextflow-io/nextflow/pull/3505
        )
    if queue.has_shares is False and submission.share is True:
        return (
            f"with a share, and {queue.name} has no fair-share policy",
            f"no ShareIdentifier, or a SchedulingPolicyArn of {queue.name}",
            True,
        )
    return "", "", True
