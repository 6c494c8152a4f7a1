"""File systems of a task: do hosts mount them, do they admit the task, may ECS Exec write there? Only files say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gpu_constructs.errors import brief
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import HostAction, Origin, Pool
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.finding import and_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.roles import is_closed
from gpu_constructs.template.resources.section import Section
from gpu_constructs.template.resources.security_groups import EGRESS, INGRESS, Groups, SecurityGroups

_FILE_SYSTEM, _MOUNT_TARGET = "AWS::EFS::FileSystem", "AWS::EFS::MountTarget"
_NFS = 2049
_MOUNT = "elasticfilesystem:ClientMount"
# Docker has the first one built in; the other one mounts EFS, and is in the images of ECS.
_DRIVERS_OF_AWS = frozenset({"local", "amazon-ecs-volume-plugin"})


@error(
    "GPU317",
    question="do the hosts have what mounts the volumes of a task?",
    because="the agent registers a host with the volume plugins that Docker has when the agent starts, and ECS places "
    'a task only where the driver of its volumes is among them; else it reports "is missing an attribute required by '
    'your task"; Bottlerocket for ECS does not have amazon-efs-utils, which encryption in transit, access points and '
    "the task role need",
    softer="where hosts of other files may take the task, and for EFS on Bottlerocket",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DockerVolumeConfiguration.html",
)
def mountable(context: Context) -> Problems:
    yield from _on_bottlerocket(context)
    if any(each.daemon is not False for each in context.fleet.workloads):
        return  # a daemon may install plugins
    for route in context.routes:
        pools = (each.pool for each in route.destinations if each.pool.has_image_of_aws)
        without = [each for each in pools if HostAction.INSTALLS in each.user_data.actions_never_taken]
        if not without or not (route.every or len(without) == len(route.destinations)):
            continue
        for name, driver, origin in islice(_plugins(context.section(route.task)), 1):
            yield Problem(
                about=route.task,
                involves=tuple(without),
                message=f"volume {brief(name)} of {route.task.name} is one of the Docker plugin {brief(driver)}, which "
                f"nothing installs on the hosts of {and_list(each.name for each in without)}",
                fix=f"docker plugin install {brief(driver)} in the user data, before the ECS agent starts, or an "
                "EFSVolumeConfiguration",
                property_name="Driver",
                value=driver,
                origin=origin,
                is_certain=route.is_closed,
            )


def _plugins(definition: Section | None) -> Iterator[tuple[str, str, Origin]]:
    """The volumes of a task definition that no image of AWS can mount, with the Docker plugin of each."""
    for each in () if definition is None else definition.sections("Volumes"):
        settings = each.section("DockerVolumeConfiguration")
        driver = settings.text("Driver")
        if isinstance(driver, str) and driver not in _DRIVERS_OF_AWS:
            yield str(each.text("Name")), driver, settings.origin


def _on_bottlerocket(context: Context) -> Iterator[Problem]:
    """See https://github.com/bottlerocket-os/bottlerocket/issues/1080."""
    for assignment in context.assignments:
        task, pools = assignment.task, [each.pool for each in assignment.destinations]
        bottlerocket = (each for each in pools if each.operating_system is OperatingSystem.BOTTLEROCKET)
        cannot = [each for each in bottlerocket if each.runs_launch_type_ec2]
        definition = context.section(task) if cannot else None
        mounts = () if definition is None else _mounts(definition)
        needing = [(name, mount.origin) for name, mount in mounts if _is_encrypted(mount)]
        for pool in cannot if needing else ():
            yield Problem(
                about=task,
                involves=(pool,),
                message=f"volume {brief(needing[0][0])} of {task.name} is a file system of EFS with encryption in "
                f"transit or authorization, which Bottlerocket, the system of {pool.name}, does not mount",
                fix="hosts of Amazon Linux 2023, or weights that are copied from S3",
                property_name="EFSVolumeConfiguration",
                origin=needing[0][1],
                is_certain=False,
            )


def _is_encrypted(mount: Section) -> bool:
    """Whether it needs encryption in transit, with which alone an access point and the task role are used."""
    authorization = mount.section("AuthorizationConfig")
    settings = mount.text("TransitEncryption"), authorization.text("IAM")
    return authorization.text("AccessPointId") is not None or "ENABLED" in settings


@error(
    "GPU237",
    question="does a task mount a file system of EFS that has a policy with its role?",
    because="a file system with a policy admits only clients that the policy allows to mount it, and a client that "
    "mounts without IAM has no role: the mount is denied, and the task or job stops before its container starts; CDK "
    "gives its file systems such a policy where @aws-cdk/aws-efs:denyAnonymousAccess is on, and after a grant",
    source="https://github.com/aws/aws-cdk/issues/30753",
)
def mounts_with_a_role(context: Context) -> Problems:
    for definition, task in {
        each.resource: (each, task) for task in context.tasks if task.wants_gpu and (each := context.section(task))
    }.values():
        for name, mount in _mounts(definition):
            authorization = mount.section("AuthorizationConfig")
            system = _system(mount, context.index)
            without_iam = not {authorization.text("IAM"), authorization.text("Iam")} - {None, "DISABLED"}
            if system is not None and without_iam and is_closed(system.properties.get("FileSystemPolicy"), _MOUNT, "*"):
                yield Problem(
                    about=task,
                    message=f"{task.name} mounts {brief(name)} without IAM, and the policy of the file system lets no "
                    "such client mount it",
                    fix="TransitEncryption: ENABLED, IAM: ENABLED in its AuthorizationConfig, and a role that may "
                    "mount it",
                    property_name="AuthorizationConfig",
                    origin=mount.origin,
                )


@error(
    "GPU393",
    question="can tasks reach their file systems of EFS?",
    because="a file system of EFS is mounted at port 2049 of its mount targets, by the host or, for a task in network "
    "mode awsvpc, through the network interface of the task; where no security group of the mount targets lets that "
    "in, or its own let nothing out, each mount ends with context deadline exceeded, and without a mount target with "
    "Failed to resolve: the task stops",
    softer="where other hosts may take the task, or other files may have more rules",
    source="https://github.com/aws/amazon-ecs-agent/issues/2570",
)
def lets_mounts_through(context: Context) -> Problems:
    for route in context.routed(lambda task: task.wants_accelerator):
        definition, hosts = context.section(route.task), route.destinations
        mounts = () if definition is None else _mounts(definition)
        for system, name in {_system(mount, context.index): name for name, mount in mounts}.items():
            asked = (_problems(context, route, each.pool, system) for each in hosts if system is not None)
            closed = [first for each in asked if (first := next(each, None))]
            if closed and (route.every or len(closed) == len(hosts)):
                yield replace(
                    closed[0],
                    message=f"{route.task.name} cannot mount {brief(name)}: {closed[0].message}",
                    is_certain=context.fleet.is_whole and route.is_closed,
                )


def _problems(context: Context, route: Route, pool: Pool, system: Resource) -> Problems:
    targets = context.of_files(_mount_targets)
    if None not in targets:
        there = targets.get(system.reference, ())
        yield from () if there else _without_target(context, route, pool, system)
        yield from _gaps(context, route, pool, there)


def _without_target(context: Context, route: Route, pool: Pool, system: Resource) -> Problems:
    """See https://github.com/aws/efs-utils/issues/90."""
    may_be_made = system.reference in context.index.others.exposed or context.index.others.may_call(
        "elasticfilesystem:CreateMountTarget", on=system.reference
    )
    if system.exists is True and not may_be_made:
        yield Problem(
            about=route.sender,
            involves=(route.task, pool),
            origin=system.origin,
            changes="MountTarget",
            message=f"{system.logical_id} has no mount target",
            fix=f"an {_MOUNT_TARGET} of {system.logical_id} in a subnet of each zone of the hosts",
        )


def _gaps(context: Context, route: Route, pool: Pool, there: Sequence[Section]) -> Problems:
    """Security groups that part the clients from the mount targets that are there."""
    security = context.of_files(SecurityGroups)
    let = security.together(security.listed(each, "SecurityGroups") for each in there)
    clients = _clients(context, route, pool)
    whose = "the tasks" if route.task.network_mode == "awsvpc" else f"the hosts of {pool.name}"
    for direction, groups, others, of, way in (
        (INGRESS, let, clients, "its mount targets", f"does not let {whose} in"),
        (EGRESS, clients, let, whose, "lets nothing out"),
    ):
        if not security.may_let(direction, groups, _NFS, others or None):
            in_cdk = f"; connections.allow_to_default_port of {whose}" if groups[0].origin.construct_path else ""
            yield Problem(
                about=route.sender,
                involves=(route.task, pool),
                origin=groups[0].origin,
                changes=direction,
                message=f"{groups[0].logical_id}, the security group of {of}, {way} at port {_NFS}",
                fix=f"{direction} of {groups[0].logical_id} with IpProtocol tcp and port {_NFS} for "
                f"{others[0].logical_id if others else whose}{in_cdk}",
            )


def _clients(context: Context, route: Route, pool: Pool) -> Groups:
    """The security groups that a mount comes from; none where they are not known.

    The volume plugin of ECS mounts in the network namespace of a task in network mode awsvpc, and where it is missing
    Docker mounts in that of the host: https://github.com/aws/amazon-ecs-agent/pull/2372.
    """
    security, mode, data = context.of_files(SecurityGroups), route.task.network_mode, context.launch(pool)
    if isinstance(mode, str) and mode != "awsvpc":
        return () if data is None else security.of_launch(data, pool.user_data.text)
    has_plugin = pool.has_image_of_aws and pool.operating_system is not OperatingSystem.BOTTLEROCKET
    service = None if route.workload is None or mode != "awsvpc" else context.section(route.workload)
    return security.of_tasks(service) if service is not None and has_plugin else ()


def _mount_targets(index: Index) -> Mapping[Reference | None, Sequence[Section]]:
    """Mount targets by their file systems; None for one that is not known."""
    there = (Section.of(each, []) for each in index.all(_MOUNT_TARGET))
    return grouped((index.reference(each.get("FileSystemId"), _FILE_SYSTEM), each) for each in there)


def _system(mount: Section, index: Index) -> Resource | None:
    return index.find(mount.get("FilesystemId") or mount.get("FileSystemId"), _FILE_SYSTEM)


def _mounts(definition: Section) -> Iterator[tuple[str, Section]]:
    """The volumes of EFS of a task definition or of a job, in whose names some letters are small, by name."""
    ranges = definition.section("NodeProperties").sections("NodeRangeProperties")
    jobs = [definition.section("ContainerProperties"), *(each.section("Container") for each in ranges)]
    for each in (definition, *jobs, *definition.section("EcsProperties").sections("TaskProperties")):
        for volume in each.sections("Volumes"):
            for key in ("EFSVolumeConfiguration", "EfsVolumeConfiguration"):
                if volume.has(key):
                    yield str(volume.text("Name")), volume.section(key)
