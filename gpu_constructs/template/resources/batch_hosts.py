"""A compute environment of AWS Batch: the hosts that its jobs run on.

https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from gpu_constructs.facts import Architecture, InstanceType, Vendor, families, family, image, known_type
from gpu_constructs.facts.aws_limits import BATCH_TYPE_WORDS, FARGATE_PROVIDERS
from gpu_constructs.fleet import (
    UNKNOWN,
    Bought,
    ComputeEnvironment,
    HostImage,
    HostSetup,
    Pool,
    PoolKind,
    PurchaseOption,
    TypeChoice,
    Unknown,
    values_of,
)
from gpu_constructs.template.model import Resource, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.launch import UNKNOWN_LAUNCH, Launch, Launches, image_of, template_of
from gpu_constructs.template.resources.networks import Networks
from gpu_constructs.template.resources.pools import FoundPool, managed_purchase, managed_types
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.submissions import ENVIRONMENT
from gpu_constructs.template.resources.user_data import NONE_GIVEN

_BOUGHT = {"EC2": PurchaseOption.ON_DEMAND, "SPOT": PurchaseOption.SPOT}

# https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
_X86, _ARM = Architecture.X86_64, Architecture.ARM64
_IMAGES = {
    ("ECS_AL2", _X86): "al2",
    ("ECS_AL2", _ARM): "al2-arm64",
    ("ECS_AL2_NVIDIA", _X86): "al2-gpu",
    ("ECS_AL2023", _X86): "al2023",
    ("ECS_AL2023", _ARM): "al2023-arm64",
    ("ECS_AL2023_NVIDIA", _X86): "al2023-gpu",
    ("ECS_AL2023_NVIDIA", _ARM): "al2023-arm64",
}
_IMAGE_TYPES = ("ECS_AL1", *dict.fromkeys(name for name, _ in _IMAGES))
_WITHOUT_TEMPLATE = Launch(setup=HostSetup(names_image=False, user_data=NONE_GIVEN.data))


def environments_in(index: Index, launches: Launches, notes: Notes) -> Iterator[FoundPool | ComputeEnvironment]:
    """Reads every compute environment: those with hosts of ECS that may have GPUs are pools."""
    networks = Networks(index)
    for resource in index.all(ENVIRONMENT):
        properties = Section.of(resource, notes)
        resources = properties.section("ComputeResources")
        other = ComputeEnvironment(name=resource.logical_id, origin=resources.origin)
        names = resources.texts("InstanceTypes")
        if properties.has("EksConfiguration") or not properties.has("ComputeResources"):
            yield replace(other, origin=None)
        elif resources.text("Type") in FARGATE_PROVIDERS:
            yield replace(other, lacks_accelerators="is on Fargate, which has none", has_hosts=False)
        elif names and BATCH_TYPE_WORDS.issuperset(names):
            # Of words alone, Batch takes types without accelerators.
            why = f"has InstanceTypes {' and '.join(map(str, names))}, which is of families without accelerators"
            yield replace(other, lacks_accelerators=why)
        else:
            yield FoundPool(_pool(resource, resources, launches, networks), resource)


def launch_of_batch(environment: Resource, index: Index) -> Section | None:
    """What the hosts of a compute environment are made from, in the words of a launch template.

    Its own role and security groups take the place of those of its template, whose role AWS Batch ignores:
    https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html
    """
    resources = Section.of(environment, []).section("ComputeResources")
    if resources.is_unknown or resources.has("ManagedInstancesProvider"):
        return None
    template, *others = (template_of(each, index) for each in _templates(resources) or [resources])
    differ = any(each is not template for each in others)
    data = {} if template is None or differ else Section.of(template, []).section("LaunchTemplateData").values
    groups, role = resources.get("SecurityGroupIds"), resources.get("InstanceRole")
    own: dict[str, Value] = {} if groups is None else {"SecurityGroupIds": groups}
    own["IamInstanceProfile"] = UNKNOWN if role is None else {"Arn": role}  # Batch refuses none at once
    return replace(resources, values={**data, **own})


def _pool(resource: Resource, section: Section, launches: Launches, networks: Networks) -> Pool:
    managed = section.section("ManagedInstancesProvider").section("InstanceLaunchTemplate")
    is_managed = section.has("ManagedInstancesProvider")
    choice = managed_types(managed, of_batch=True) if is_managed else _types(section)
    named = _launch(section, launches)
    launch = named.setup
    network = managed.section("NetworkConfiguration") if is_managed else section
    subnets = network.get("Subnets")
    own, written, names_image = _own_image(resource, section, launch)
    kind = section.text("Type")
    of_type = UNKNOWN if kind is None or isinstance(kind, Unknown) else _BOUGHT.get(kind, UNKNOWN)
    bought = launch.bought.option if of_type is PurchaseOption.ON_DEMAND else of_type
    return Pool(
        name=resource.logical_id,
        image=UNKNOWN if is_managed else _image_of_batch(section, choice.instance_types) if own is None else own,
        image_written=written,
        names_image=names_image,
        # Whatever Batch prefers may be among those that are always there.
        min_instances=0 if choice.batch_words else _hosts(section.integer("MinvCpus") or 0, choice, at_most=False),
        max_instances=_hosts(section.integer("MaxvCpus"), choice, at_most=True),
        kind=PoolKind.BATCH,
        bought=Bought(
            option=managed_purchase(managed) if is_managed else bought,
            reservation=launch.bought.reservation,
        ),
        managed_scaling=True,
        interfaces=launch.interfaces,
        placement_group=launches.is_cluster_group(section.get("PlacementGroup"), section.resource.place)
        if section.has("PlacementGroup")
        else launch.placement_group,  # none of what Batch ignores: see `launch_of_batch` for the page
        has_emptied_group=not section.has("SecurityGroupIds") and networks.have_emptied_group(subnets),
        has_provider=False,
        max_vcpus=section.integer("MaxvCpus"),
        min_vcpus=section.integer("MinvCpus") or 0,
        tenancy=launch.tenancy,
        vcpus=launch.vcpus,
        allocation=UNKNOWN if is_managed else given(section.text("AllocationStrategy"), "BEST_FIT"),
        user_data=launch.user_data,
        origin=resource.origin,
        **values_of(choice, TypeChoice),
        **networks.of_hosts(subnets, public_address=named.public_address),
    )


def _templates(section: Section) -> list[Section]:
    """The launch templates that hosts may be made from: for their types, those of overrides replace the first.

    https://docs.aws.amazon.com/batch/latest/APIReference/API_LaunchTemplateSpecificationOverride.html
    """
    first, types = section.section("LaunchTemplate"), section.texts("InstanceTypes")
    overrides = first.sections("Overrides")
    targets = {*chain.from_iterable(each.texts("TargetInstanceTypes") for each in overrides)}
    are_all = types and all(isinstance(each, str) and targets & {each, each.partition(".")[0]} for each in types)
    return [*([first] if (first.is_unknown or first.keys) and not are_all else []), *overrides]


def _launch(section: Section, launches: Launches) -> Launch:
    """What all hosts are made from; unknown is what their launch templates do not agree in."""
    found = [launches.specified(each) for each in _templates(section)] or [_WITHOUT_TEMPLATE]
    setups = [each.setup for each in found]
    unknown = values_of(replace(UNKNOWN_LAUNCH.setup, tenancy=UNKNOWN, vcpus=UNKNOWN)).items()
    differ = {key: value for key, value in unknown if len({getattr(each, key) for each in setups}) > 1}
    if setups[0].names_image is False and section.section("LaunchTemplate").has("Overrides"):
        # No page says whether the image of the first counts for types of another template that names none.
        first = launches.specified(section.section("LaunchTemplate")).setup
        differ |= {} if first.names_image is False else {"names_image": UNKNOWN}
    return Launch(setup=replace(setups[0], **differ), public_address=len(found) > 1 or found[0].public_address)


def _types(section: Section) -> TypeChoice:
    names = dict.fromkeys(section.texts("InstanceTypes"))
    known = [each for each in names if isinstance(each, str)]
    types = {each: _types_of(each) for each in known if each not in BATCH_TYPE_WORDS}
    return TypeChoice(
        instance_types=tuple(dict.fromkeys(chain.from_iterable(types.values()))),
        unknown_type_names=tuple(name for name, found in types.items() if not found),
        has_unknown_types=not section.has("InstanceTypes") or len(known) < len(names),
        batch_words=tuple(each for each in known if each in BATCH_TYPE_WORDS),
    )


def _types_of(name: str) -> tuple[InstanceType, ...]:
    """The type of a name, or those of the family without its bare metal ones."""
    one, others = known_type(name), family(name) if name in families() else ()
    return tuple(each for each in others if not each.bare_metal) if one is None else (one,)


def _own_image(
    resource: Resource, section: Section, launch: HostSetup
) -> tuple[HostImage | Unknown | None, str | None, bool | Unknown]:
    """The image that takes the place of the one that Batch provides, None without, and how its template writes it.

    Last, whether one is named: https://docs.aws.amazon.com/batch/latest/userguide/ami-selection-order.html
    """
    names, overridden = launch.names_image, section.section("LaunchTemplate").has("Overrides")
    several = [each.get("ImageIdOverride") for each in section.sections("Ec2Configuration")]
    written = UNKNOWN if len(several) > 1 and any(several) else next(iter(several), None)
    written = section.get("ImageId") if section.has("ImageId") else written
    if written is not None and (names is False or not overridden):  # an image of Overrides goes before all others
        return image_of(resource, written, section.notes), None, True
    if names is True:
        return launch.image, launch.image_written, True
    return (None if names is False else image_of(resource, UNKNOWN, section.notes)), None, UNKNOWN


def _image_of_batch(section: Section, types: tuple[InstanceType, ...]) -> HostImage | Unknown:
    configured = section.sections("Ec2Configuration")
    architectures = {each.architecture for each in types}
    with_gpus = {each.vendor is Vendor.NVIDIA for each in types}
    if len(architectures) != 1 or len(with_gpus) != 1:
        return UNKNOWN
    wants_gpu = with_gpus.pop()
    default = "ECS_AL2023_NVIDIA" if wants_gpu else "ECS_AL2023"
    kinds = [each.one_of("ImageType", _IMAGE_TYPES) or default for each in configured] or [default]
    fitting = [each for each in kinds if isinstance(each, str) and each.endswith("_NVIDIA") is wants_gpu] or kinds
    name = _IMAGES.get((fitting[0], architectures.pop())) if isinstance(fitting[0], str) else None
    return UNKNOWN if name is None else HostImage(image=image(name))


def _hosts(vcpus: int | Unknown | None, choice: TypeChoice, *, at_most: bool) -> int | Unknown:
    """Hosts that have so many vCPUs: no more than so many of the smallest type, no fewer than of the largest.

    Batch counts in vCPUs, keeps no fewer than MinvCpus, and goes above MaxvCpus by one host at most
    (https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html).
    """
    if vcpus == 0:
        return 0
    is_whole = choice.instance_types and not choice.has_unknown_types and not choice.unknown_type_names
    if vcpus is None or isinstance(vcpus, Unknown) or not is_whole:
        return UNKNOWN
    sizes = [each.vcpus for each in choice.instance_types]
    return -(-vcpus // (min(sizes) if at_most else max(sizes)))
