"""User data: does the system read it, what does the ECS agent make of it, and can the hosts do what it asks?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpu_constructs.errors import shown
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.aws_limits import MAX_USER_DATA_BYTES
from gpu_constructs.fleet import (
    GPU_SUPPORT,
    NAME_OF_DEPLOY,
    PARTLY_SPOT,
    PIECE,
    UNKNOWN,
    LocalDiskUse,
    Pool,
    PoolKind,
    Unknown,
    UserDataFormat,
    Workload,
)
from gpu_constructs.placement.machine import gpu_support_is_off
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES
from gpu_constructs.rules.evidence.user_data import (
    docker_option_that_is_gone,
    ends_early,
    keeps_agent_off,
    kept_from_joining,
    not_run,
    not_toml,
    script_ends_at,
    waits_for_agent,
    without_value,
)
from gpu_constructs.rules.finding import and_list, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

# Commands that a system does not have, and what does: https://docs.aws.amazon.com/linux/al2023/ug/compare-with-al2.html
# and https://docs.aws.amazon.com/linux/al2023/ug/package-management.html
_LACKING: Mapping[object, tuple[str, str, str]] = {
    OperatingSystem.AMAZON_LINUX_2023: ("Amazon Linux 2023", "amazon-linux-extras", "dnf install, with its packages"),
    OperatingSystem.AMAZON_LINUX_2: ("Amazon Linux 2", "dnf", "yum install, or amazon-linux-extras install"),
}
_WITH_DOCKER_20 = r"amzn2-\S+-2\.0\.20(?:1|2[0-3]|240[1-6])"  # https://github.com/aws/amazon-ecs-ami/pull/267
_AGENT = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html"
_CLOUD_INIT = frozenset({UserDataFormat.SHELL, UserDataFormat.CLOUD_CONFIG, UserDataFormat.MIME})


@error(
    "GPU057",
    question="is the user data in the form that the operating system reads?",
    because="Bottlerocket reads settings in TOML and has no shell; Amazon Linux reads what cloud-init knows, which is "
    "not TOML; the hosts then do not join your cluster",
    softer="where only AWS Batch writes MIME multi-part, which one user reports (bottlerocket-os/bottlerocket#4688)",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-bottlerocket.html",
)
def readable(pool: Pool) -> Problems:
    form = pool.user_data.format
    if isinstance(pool.image, Unknown) or isinstance(form, Unknown):
        return
    name = pool.image.image.name
    bottlerocket = pool.image.image.operating_system is OperatingSystem.BOTTLEROCKET
    if bottlerocket and form in _CLOUD_INIT:
        said = f"the user data is a {form.value}, and {name} reads TOML only"
        fix = '[settings.ecs] and cluster = "…" in TOML'
    elif bottlerocket and (line := not_toml(pool.user_data)):
        said = f"{name} reads TOML only, and the user data has the line {shown(line)}"
        fix = "settings in TOML; a bootstrap container of [settings.bootstrap-containers] runs commands"
    elif not bottlerocket and form is UserDataFormat.TOML:
        said = f"the user data is TOML, and {name} reads shell scripts and cloud-config"
        fix = "a shell script that writes to /etc/ecs/ecs.config"
    elif bottlerocket and pool.kind is PoolKind.BATCH:
        said = f"AWS Batch gives its hosts user data in MIME multi-part, and {name} reads TOML only"
        fix = "an image of Amazon Linux"
    else:
        return
    is_certain = form in _CLOUD_INIT or pool.kind is not PoolKind.BATCH
    yield Problem(message=said, fix=fix, property_name="UserData", is_certain=is_certain)


@error(
    "GPU231",
    question="do the hosts run their user data?",
    because=f"EC2 takes {MAX_USER_DATA_BYTES} bytes of user data before it is encoded; cloud-init runs a script "
    "whose first two characters are #!, ignores a text that it does not know, so that a host joins the cluster "
    "default, and fails at a part of an archive that is declared a script without #! (Exec format error)",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html",
    changes="UserData",
    unless=("GPU057",),
)
def run_at_boot(pool: Pool) -> Problems:
    data = pool.user_data
    # What is certain of it, before it is encoded.
    size = len(data.text.replace(PIECE, "").replace(NAME_OF_DEPLOY, "").encode(errors="replace"))
    if size > MAX_USER_DATA_BYTES:
        yield Problem(
            property_name="UserData",
            message=f"the user data has {size} bytes or more, and EC2 takes {MAX_USER_DATA_BYTES}",
            fix="put the script into a bucket or an image, and fetch or call it",
        )
    if (why := not_run(data)) and isinstance(pool.cluster, str) and _is_of_cloud_init(pool):
        yield Problem(
            message=f"the user data {why}, so that the hosts do not run it and never join {pool.cluster}",
            fix=_INTERPRETER,
            property_name="UserData",
        )
    if data.never_run and pool.has_image_of_aws:
        yield Problem(
            message="a part of the user data is declared text/x-shellscript and begins with "
            f"{shown(data.never_run)}: no host runs it",
            fix=f"{_INTERPRETER} of the part",
            property_name="UserData",
        )


def _is_of_cloud_init(pool: Pool) -> bool:
    """Whether an image of AWS runs the user data, which joins the cluster default without any."""
    is_named = pool.has_image_of_aws and pool.cluster != "default"
    return is_named and pool.operating_system is not OperatingSystem.BOTTLEROCKET


@error(
    "GPU107",
    question="is the user data of a compute environment a MIME multi-part archive?",
    because="AWS Batch merges the user data of a launch template with its own and takes MIME multi-part only; with any "
    "other its environment is created, becomes INVALID, and starts no host "
    "(github.com/aws-samples/quant-research-sample-using-amazon-ecs-and-aws-batch/issues/4)",
    source="https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html",
)
def mergeable(pool: Pool) -> Problems:
    form = pool.user_data.format
    is_other = form in {UserDataFormat.SHELL, UserDataFormat.CLOUD_CONFIG} or not_run(pool.user_data)
    if pool.kind is PoolKind.BATCH and is_other:
        what = "no text that a host runs" if form is UserDataFormat.OTHER else f"a {form.value}"
        yield Problem(
            message=f"the user data is {what}, and AWS Batch takes a MIME multi-part archive only",
            fix="a MIME multi-part archive, which is ec2.MultipartUserData in CDK",
            property_name="UserData",
        )


@error(
    "GPU058",
    question="does the ECS agent register the GPUs?",
    because="ecs-init looks for GPUs only where ECS_ENABLE_GPU_SUPPORT is the word true, not True or 1, and otherwise "
    "the agent registers a host without its GPUs; user data overrides the setting of the GPU image",
    source=_AGENT,
)
def gpu_support(context: Context) -> Problems:
    for pool, waiting in context.awaited(gpu_support_is_off):
        value = shown(pool.user_data.get(GPU_SUPPORT))
        yield Problem(
            about=pool,
            message=f"ECS_ENABLE_GPU_SUPPORT is {value}, not 'true', which keeps the agent from registering the GPUs "
            f"that {with_verb((each.name for each in waiting), 'asks', 'ask')} for",
            fix="leave ECS_ENABLE_GPU_SUPPORT out; the GPU image sets it",
            property_name="UserData",
        )


def _may_have_hosts(pools: Iterable[Pool], cluster: str) -> bool:
    return any(each.has_provider or each.cluster in {cluster, UNKNOWN} for each in pools)


def _meant_for_the_only_cluster(context: Context) -> Problems:
    """Hosts without a provider that join the default cluster, where all work is sent to the hosts of another one."""
    fleet = context.fleet
    clusters = {each.cluster for each in fleet.workloads}
    cluster = next(iter(clusters), None)
    if len(clusters) != 1 or not isinstance(cluster, str) or _may_have_hosts(fleet.strays, cluster):
        return
    waiting = tuple(each for each in fleet.workloads if each.launch_type in EC2_LAUNCH_TYPES and not each.strategy)
    if not waiting or _may_have_hosts(fleet.pools, cluster):
        return
    for pool in fleet.pools:
        if pool.cluster is None and _says_nothing_about(pool, "ECS_CLUSTER"):
            yield _without_cluster(pool, cluster, waiting, is_certain=fleet.is_whole and pool.told_cluster is None)


@error(
    "GPU098",
    question="do the hosts join the cluster of their capacity provider, or of the services that need them?",
    because="without a cluster in its settings, or with one from a variable of the shell that has no value, the agent "
    "joins the cluster called default, and the capacity provider or service never gets its hosts; ecs-init keeps the "
    "quotes of /etc/ecs/ecs.config, and an agent that cannot read an object of texts does not start",
    softer="where the deploy gives the cluster a name, which may be default, and where an image of your own or a "
    "program may change what the agent reads",
    source=_AGENT,
    unless=("GPU231",),
    in_fleet=_meant_for_the_only_cluster,
)
def joins(pool: Pool) -> Problems:
    if pool.runs_launch_type_ec2 and pool.operating_system is not OperatingSystem.BOTTLEROCKET:
        for written, why, fix in kept_from_joining(pool.user_data):
            yield Problem(
                message=f"the user data writes {shown(written)} into /etc/ecs/ecs.config, {why}, so that its hosts "
                "join no cluster",
                fix=fix,
                property_name="UserData",
                is_certain=pool.has_image_of_aws and pool.user_data.complete,
            )
    if not pool.has_provider or not isinstance(pool.cluster, str) or pool.cluster == "default":
        return
    if _says_nothing_about(pool, "ECS_CLUSTER"):
        yield _without_cluster(pool, pool.cluster, (), is_certain=pool.told_cluster is None)
    elif (variable := without_value(pool.user_data)) and _is_of_cloud_init(pool):
        # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-sub.html
        yield Problem(
            message=f"the user data takes the cluster from ${{{variable}}}, and nothing gives this "
            f"variable of the shell a value, so that its hosts never join {pool.cluster}",
            fix="Fn::Sub in Fn::Base64",
            property_name="UserData",
        )


@error(
    "GPU273",
    question="does the user data run to its end, and leave the ECS agent to start then?",
    because="the ECS agent starts after cloud-init has run the user data: systemctl waits until the agent has started, "
    "and both wait for each other; to stop the agent takes that start away; Amazon Linux 2023 has no "
    "amazon-linux-extras, at which a script of bash -e ends, and Amazon Linux 2 no dnf; without Docker no agent runs",
    softer="where not every host comes to the command, where the image may not be one of AWS, where what it does not "
    "install is all that is missing, where a disabled agent starts this once, or where the image may have Docker 20",
    source="https://github.com/aws/amazon-ecs-agent/issues/1707",
)
def runs_to_its_end(pool: Pool) -> Problems:
    if found := waits_for_agent(pool.user_data):
        command, is_certain = found
        yield Problem(
            message=f"{command} waits for the agent, which waits for the user data to end",
            fix="leave the command out, or systemctl enable --now --no-block ecs.service",
            property_name="UserData",
            is_certain=is_certain and _is_of_cloud_init(pool),
        )
    elif (pool.has_provider or pool.kind is PoolKind.BATCH) and (off := keeps_agent_off(pool.user_data)):
        command, is_stopped = off
        what = "so that its hosts never register" if is_stopped else "when a host starts again"
        yield Problem(
            message=f"after {command} in the user data the agent does not start, {what}",
            fix="leave the command out, or systemctl enable --now --no-block ecs.service at the end",
            property_name="UserData",
            is_certain=is_stopped and pool.user_data.complete and _is_of_cloud_init(pool),
        )
    is_older = not isinstance(pool.image, Unknown) and re.match(_WITH_DOCKER_20, pool.image.release or "")
    if pool.has_image_of_aws and not is_older and (option := docker_option_that_is_gone(pool.user_data)):
        yield Problem(
            message=f"Docker has no option {option} since 23.0, does not start with it, and no task runs",
            fix="--data-root in OPTIONS of /etc/sysconfig/docker",
            property_name="UserData",
            is_certain=False,
        )
    system, lacking, instead = _LACKING.get(pool.operating_system, ("", "", ""))
    if lacking and pool.has_image_of_aws and (ends := script_ends_at(lacking, pool.user_data)) is not None:
        # No page of AWS says that dnf is never there.
        is_certain = ends and lacking != "dnf" and pool.has_provider and isinstance(pool.cluster, str)
        yield Problem(
            message=f"{system} has no {lacking}, at which the user data ends before it names "
            f"{pool.cluster}, so that its hosts never join it"
            if is_certain
            else f"{system} has no {lacking}, so that the user data installs nothing with it",
            fix=instead,
            property_name="UserData",
            is_certain=is_certain,
        )


@warning(
    "GPU059",
    question="do Spot hosts drain before EC2 reclaims them?",
    because="without ECS_ENABLE_SPOT_INSTANCE_DRAINING a host that has two minutes left keeps its tasks and may get "
    "new ones until it is gone",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-spot.html",
)
def drains(pool: Pool) -> Problems:
    if pool.bought.option not in PARTLY_SPOT:
        return
    variable = "ECS_ENABLE_SPOT_INSTANCE_DRAINING"
    off = pool.user_data.turns_off(variable)
    if off or _says_nothing_about(pool, variable):
        yield Problem(
            message=f"its hosts are {pool.bought.option}, and {variable} is {'off' if off else 'not set'}: tasks die "
            "with a host that is reclaimed",
            fix="enable-spot-instance-draining = true in [settings.ecs]"
            if pool.operating_system is OperatingSystem.BOTTLEROCKET
            else f"{variable}=true in /etc/ecs/ecs.config",
            property_name="UserData",
        )


@warning(
    "GPU174",
    question="does every host have the local disks that its user data prepares?",
    because="a type without an instance store has nothing to prepare: scratch data and images are then on the root "
    "volume, or the host takes no task",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html",
)
def has_local_disks(pool: Pool) -> Problems:
    use = pool.user_data.local_disks
    if use is LocalDiskUse.NONE:
        return
    # Of a type that no region offers, the catalogue does not know the disks.
    unknown = [each.name for each in pool.instance_types if not each.local_disks and not each.regions]
    without = [each.name for each in pool.instance_types if not each.local_disks and each.regions]
    others = [each.name for each in pool.instance_types if each.local_disks]
    if without:
        yield Problem(
            message=f"{with_verb(without, 'has', 'have')} no local disks, and the user data prepares them for "
            f"{use.value}",
            fix=f"only {and_list(others)}" if others else "types with an instance store",
            property_name="UserData",
            value=use.value,
        )
    elif unknown or not pool.types_are_known:
        which, why = (or_list(unknown), "in the recorded data") if unknown else ("a host", "known before the deploy")
        yield Problem(
            message=f"the user data prepares local disks for {use.value}, and whether {which} has any is not {why}",
            fix="types that are known to have an instance store, such as g6.xlarge",
            property_name="UserData",
        )


def _without_cluster(pool: Pool, cluster: str, waiting: Iterable[Workload], *, is_certain: bool) -> Problem:
    what = "ends with exit before it names a cluster" if ends_early(pool.user_data) else "names no cluster"
    if near := re.search(_NOT_READ, pool.user_data.commands):
        what = f"has {shown(near[0].strip())}, which the agent does not read as ECS_CLUSTER"
    return Problem(
        about=pool,
        message=f"the user data {what}, so its hosts join the cluster default and not {cluster}",
        fix="ECS_CLUSTER in /etc/ecs/ecs.config, or on Bottlerocket cluster in [settings.ecs]",
        property_name="UserData",
        is_certain=is_certain,
        involves=tuple(thing for each in waiting for thing in (each, each.task) if thing is not None),
    )


def _says_nothing_about(pool: Pool, variable: str) -> bool:
    """Whether nothing sets an agent variable, ECS and AWS Batch among them, which launch hosts of their own."""
    return pool.runs_launch_type_ec2 and pool.never_sets(variable)


_INTERPRETER = "#!/bin/bash as the first characters"
# A line that a shell or systemd may read, and ecs-init does not.
_NOT_READ = r"(?<!\$)\b(?:export[ \t]+ECS_CLUSTER=|ECS_CLUSTER[ \t]+=(?!=))[^\n;>|\"']*"
