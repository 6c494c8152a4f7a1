"""A launch template, a launch configuration or a single instance: what one host is made from.

Its machine image is known by the SSM parameter of an ECS image, or because the metadata of what names it declares it::

    Metadata:
      gpu-constructs:
        MachineImage: {DriverVersion: 580.95.05, AgentVersion: 1.107.0, HasMpsService: true}

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html,
https://bottlerocket.dev/en/os/latest/install/quickstart/aws/ecs/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.facts import Architecture, images_by_folder
from gpu_constructs.facts.names import parameter_resolved
from gpu_constructs.facts.own_image import own_image_of
from gpu_constructs.facts.values import dataclass, kept
from gpu_constructs.fleet import (
    DECLARED_IMAGE,
    METADATA_KEY,
    UNKNOWN,
    Bought,
    HostImage,
    HostSetup,
    NetworkInterface,
    Place,
    TypeChoice,
    Unknown,
    values_of,
)
from gpu_constructs.template.model import DynamicReference, Resource, Text, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.purchases import bought_by_configuration, bought_by_template, types_asked_for
from gpu_constructs.template.resources.section import Notes, Section, given, is_off
from gpu_constructs.template.resources.user_data import (
    NOT_KNOWN,
    AgentSettings,
    ClusterNamed,
    agent_settings,
    is_too_long,
    with_init_metadata,
)

_LEAF = "/image_id"


def image_of(resource: Resource, image_id: Value, notes: Notes) -> HostImage | Unknown:
    """What is known about the image that a resource names, in its properties or its metadata."""
    found = host_image(image_id)
    written = resource.own_metadata.get(DECLARED_IMAGE)
    if image_id is None or written is None or not isinstance(found, Unknown):
        return found
    section = Section({}, resource.origin, ("Metadata", METADATA_KEY, DECLARED_IMAGE), notes)
    if not isinstance(written, Mapping):
        section.note("expects facts by name", written)
        return UNKNOWN
    facts = {str(key): value for key, value in written.items()}
    try:
        return HostImage.own(own_image_of(facts))
    except GpuConstructsError as error:
        section.note(str(error), written, *(key for key in facts if key == error.argument))
        return UNKNOWN


def host_image(image_id: Value) -> HostImage | Unknown:
    """What is known about the image."""
    name = parameter_resolved(_text(image_id))
    return UNKNOWN if name is None else _of_parameter(name)


def image_written(image_id: Value) -> str | None:
    """An image that is written out and of which nothing is known; None where it is known, or a value of the deploy."""
    return _text(image_id) if isinstance(host_image(image_id), Unknown) else None


def _text(image_id: Value) -> str | None:
    """The text of an ``ImageId``; a dynamic reference, unknown elsewhere, says here which image it stands for."""
    return image_id.text if isinstance(image_id, DynamicReference) else image_id if isinstance(image_id, str) else None


def _of_parameter(name: str) -> HostImage | Unknown:
    """What is known about the image whose AMI id is in an SSM parameter.

    Such as ``/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id``; what ``.../recommended``
    holds is a JSON document, and no AMI id.
    """
    folder, _, release = name.removesuffix(_LEAF).rpartition("/")
    image = images_by_folder().get(folder)
    if image is None or not release or not name.endswith(_LEAF):
        return UNKNOWN
    return HostImage(image=image, release=None if name == image.ssm_parameter else release)


_LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
_LAUNCH_CONFIGURATION = "AWS::AutoScaling::LaunchConfiguration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What one host is made from.

    Attributes:
        cluster: The cluster that its user data names, see `AgentSettings.cluster`.
        public_address: Whether hosts get a public address: True where they may, None where their subnets say it.
    """

    setup: HostSetup
    cluster: str | Unknown | None = None
    public_address: bool | None = True

    @property
    def architecture(self) -> Architecture | None:
        """Architecture of the image; None where it is not known."""
        return _architecture(self.setup.image)


UNKNOWN_LAUNCH = Launch(
    setup=HostSetup(
        has_unknown_types=True,
        user_data=NOT_KNOWN.data,
        bought=Bought(option=UNKNOWN),
        placement_group=UNKNOWN,
    ),
    cluster=NOT_KNOWN.cluster,
)
"""What is known of a launch template that the files that were read do not define."""


class Launches:
    """Reads launch templates, each once."""

    def __init__(
        self, index: Index, notes: Notes, cluster_named: Callable[[Value, Place], str | Unknown | None]
    ) -> None:
        self._index = index
        self._notes = notes
        self._cluster_named = cluster_named
        self._runs_on_hosts = any(index.all("AWS::SSM::Association", "AWS::SSM::Document"))

    def specified(self, specification: Section) -> Launch:
        """What a ``LaunchTemplateSpecification`` points at."""
        resource = template_of(specification, self._index)
        return UNKNOWN_LAUNCH if resource is None else self._read(resource)

    def configured(self, group: Section) -> Launch:
        """What the ``LaunchConfigurationName`` of an Auto Scaling group points at."""
        resource = self._index.find(group.get("LaunchConfigurationName"), _LAUNCH_CONFIGURATION, group.resource.place)
        if resource is None:
            return replace(UNKNOWN_LAUNCH, setup=replace(UNKNOWN_LAUNCH.setup, launch_configuration=True))
        return self._read(resource)

    def instance(self, resource: Resource) -> Launch:
        """What a single instance is made from."""
        properties = Section.of(resource, self._notes)
        own = self._read(resource)
        if properties.get("LaunchTemplate") is None:
            return own
        # What the instance says itself goes before its template.
        template = self.specified(properties.section("LaunchTemplate"))
        image = (own if properties.has("ImageId") else template).setup
        agent = own if properties.has("UserData") else template
        setup = replace(
            template.setup,
            image=image.image,
            image_written=image.image_written,
            user_data=agent.setup.user_data,
            names_image=UNKNOWN,
            tenancy=own.setup.tenancy or template.setup.tenancy,
            vcpus=own.setup.vcpus or template.setup.vcpus,
            **values_of((own if properties.has("InstanceType") else template).setup, TypeChoice),
        )
        return Launch(setup=setup, cluster=agent.cluster)

    def is_cluster_group(self, group: Value, near: Place) -> bool | Unknown:
        """Whether a placement group keeps its hosts close to each other."""
        if group is None:
            return False
        resource = self._index.find(group, "AWS::EC2::PlacementGroup", near)
        if resource is None:
            return UNKNOWN
        strategy = Section.of(resource, self._notes).text("Strategy")
        return strategy if isinstance(strategy, Unknown) else strategy in {None, "cluster"}

    def _agent_settings(self, section: Section) -> AgentSettings:
        value = section.get("UserData")
        if is_too_long(value):
            # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
            section.note("expects 16 KB at most, which is what EC2 takes, and is not read", None, "UserData")
        is_readable = value is None or isinstance(value, (str, Text))
        return self._settings(section.resource.place, value if is_readable else UNKNOWN)

    @kept
    def _settings(self, place: Place, value: Value) -> AgentSettings:
        # Hosts of one cluster often have the same user data, and reading it takes longer than all else about them.
        return agent_settings(value, self._named(place))

    def _named(self, place: Place) -> ClusterNamed:
        """What a cluster is called that user data of a place names."""
        return lambda value: self._cluster_named(value, place)

    @kept
    def _read(self, resource: Resource) -> Launch:
        section = Section.of(resource, self._notes)
        data = section.section("LaunchTemplateData") if resource.type == _LAUNCH_TEMPLATE else section
        agent = with_init_metadata(self._agent_settings(data), resource, self._named(resource.origin.place))
        setup = self._setup(resource, data, agent)
        return Launch(setup=setup, cluster=agent.cluster, public_address=_public_address(data))

    def _setup(self, resource: Resource, data: Section, agent: AgentSettings) -> HostSetup:
        """What ``LaunchTemplateData``, a launch configuration or an instance's properties say."""
        is_configuration = resource.type == _LAUNCH_CONFIGURATION
        placement = data.section("Placement")
        group = placement.get("GroupName") or placement.get("GroupId") or data.get("PlacementGroupName")
        image = image_of(resource, data.get("ImageId"), self._notes)
        return HostSetup(
            image=image,
            image_written=image_written(data.get("ImageId")),
            user_data=replace(agent.data, actions_never_taken=frozenset()) if self._runs_on_hosts else agent.data,
            interfaces=tuple(map(_interface, data.sections("NetworkInterfaces"))),
            bought=bought_by_configuration(data) if is_configuration else bought_by_template(data, self._index),
            placement_group=self.is_cluster_group(group, resource.origin.place),
            launch_configuration=is_configuration,
            tenancy=placement.text("Tenancy") or data.text("PlacementTenancy") or data.text("Tenancy"),
            names_image=data.has("ImageId") if says_all(data) else UNKNOWN,
            vcpus=_vcpus(data.section("CpuOptions")) if data.has("CpuOptions") else None,
            **values_of(types_asked_for(data, _architecture(image)) or TypeChoice()),
        )


def launch_data(resource: Resource, index: Index) -> Section | None:
    """What hosts are made from: ``LaunchTemplateData``, a launch configuration or the properties of an instance.

    Returns:
        The section; None where no file that was read has it, or an instance is made from a template as well.
    """
    section = Section.of(resource, [])
    if resource.type == "AWS::EC2::Instance":
        return None if section.has("LaunchTemplate") else section
    configuration = index.find(section.get("LaunchConfigurationName"), _LAUNCH_CONFIGURATION, resource.origin.place)
    if configuration is not None:
        return Section.of(configuration, [])
    mixed = section.section("MixedInstancesPolicy").section("LaunchTemplate").section("LaunchTemplateSpecification")
    found = template_of(mixed if section.has("MixedInstancesPolicy") else section.section("LaunchTemplate"), index)
    return None if found is None else Section.of(found, []).section("LaunchTemplateData")


def template_of(specification: Section, index: Index) -> Resource | None:
    """The launch template that a ``LaunchTemplateSpecification`` points at; None where no file that was read has it."""
    names = (specification.get(each) for each in ("LaunchTemplateId", "LaunchTemplateName"))
    place = specification.resource.place
    return next(filter(None, (index.find(each, _LAUNCH_TEMPLATE, place) for each in names)), None)


def _interface(section: Section) -> NetworkInterface:
    return NetworkInterface(
        card=section.integer("NetworkCardIndex") or 0,
        device=section.integer("DeviceIndex") or 0,
        type=given(section.text("InterfaceType"), "interface"),
        public_address=section.flag("AssociatePublicIpAddress") or False,
    )


def _vcpus(options: Section) -> int | Unknown | None:
    cores, threads = options.integer("CoreCount"), options.integer("ThreadsPerCore")
    if cores is None or threads is None:  # EC2 takes both or none
        return None
    return UNKNOWN if isinstance(cores, Unknown) or isinstance(threads, Unknown) else cores * threads


def says_all(data: Section) -> bool:
    """Whether it says what hosts are made from: a launch configuration may be made like an instance that is there."""
    return not data.is_unknown and not data.has("InstanceId")


def _public_address(data: Section) -> bool | None:
    said = [each.get("AssociatePublicIpAddress") for each in (data, *data.sections("NetworkInterfaces"))]
    if not says_all(data) or not all(map(is_off, said)):
        return True
    return None if all(each is None for each in said) else False


def _architecture(image: HostImage | Unknown) -> Architecture | None:
    return None if isinstance(image, Unknown) else image.image.architecture
