"""A launch template, a launch configuration or a single instance: what one host is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gpu_constructs.fleet import UNKNOWN, Bought, HostImage, NetworkInterface, Unknown
from gpu_constructs.hardware import Architecture
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.images import host_image, image_written
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.instance_types import TypeChoice, types_asked_for
from gpu_constructs.template.resources.purchases import bought_by_configuration, bought_by_template
from gpu_constructs.template.resources.section import Notes, Section
from gpu_constructs.template.resources.user_data import (
    NOT_KNOWN,
    AgentSettings,
    ClusterNamed,
    agent_settings,
    is_too_long,
    with_init_metadata,
)

__all__ = ["UNKNOWN_LAUNCH", "Launch", "Launches"]

_LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
_LAUNCH_CONFIGURATION = "AWS::AutoScaling::LaunchConfiguration"
_PLACEMENT_GROUP = "AWS::EC2::PlacementGroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What one host is made from.

    Attributes:
        types: Its instance type, or what it must be.
        image: Its machine image.
        agent: What it sets for its agent at boot.
        interfaces: Its network interfaces, where they are listed.
        bought: How it is bought.
        placement_group: Whether it is in a cluster placement group.
        is_configuration: Whether this is a launch configuration.
        image_written: Its machine image as written, where nothing else is known about it.
    """

    types: TypeChoice
    image: HostImage | Unknown
    agent: AgentSettings
    interfaces: tuple[NetworkInterface, ...] = ()
    bought: Bought = field(default_factory=Bought)
    placement_group: bool | Unknown = False
    is_configuration: bool = False
    image_written: str | None = None

    @property
    def architecture(self) -> Architecture | None:
        """Architecture of the image; None where it is not known."""
        return None if isinstance(self.image, Unknown) else self.image.image.architecture


UNKNOWN_LAUNCH = Launch(
    types=TypeChoice(has_unknown=True),
    image=UNKNOWN,
    agent=NOT_KNOWN,
    bought=Bought(option=UNKNOWN),
    placement_group=UNKNOWN,
)
"""What is known of a launch template that the files that were read do not define."""


class Launches:
    """Reads launch templates, each once."""

    def __init__(self, index: Index, notes: Notes, cluster_named: ClusterNamed) -> None:
        self._index = index
        self._notes = notes
        self._cluster_named = cluster_named
        self._known: dict[Reference, Launch] = {}
        # Hosts of one cluster often have the same user data, and reading it takes longer than all else about them.
        self._settings_by_text: dict[str | Text, AgentSettings] = {}

    def specified(self, specification: Section) -> Launch:
        """What a ``LaunchTemplateSpecification`` points at."""
        for key in ("LaunchTemplateId", "LaunchTemplateName"):
            resource = self._index.find(specification.get(key), _LAUNCH_TEMPLATE)
            if resource is not None:
                return self._once(resource, lambda found: self._data(found.section("LaunchTemplateData")))
        return UNKNOWN_LAUNCH

    def configured(self, group: Section) -> Launch:
        """What the ``LaunchConfigurationName`` of an Auto Scaling group points at."""
        resource = self._index.find(group.get("LaunchConfigurationName"), _LAUNCH_CONFIGURATION)
        if resource is None:
            return replace(UNKNOWN_LAUNCH, is_configuration=True)
        return self._once(resource, self._configuration)

    def instance(self, resource: Resource) -> Launch:
        """What a single instance is made from."""
        properties = Section.of(resource, self._notes)
        own = self._once(resource, self._data)
        if properties.get("LaunchTemplate") is None:
            return own
        # What the instance says itself goes before its template.
        template = self.specified(properties.section("LaunchTemplate"))
        return replace(
            template,
            types=own.types if properties.has("InstanceType") else template.types,
            image=own.image if properties.has("ImageId") else template.image,
            image_written=(own if properties.has("ImageId") else template).image_written,
            agent=own.agent if properties.has("UserData") else template.agent,
        )

    def _data(self, data: Section) -> Launch:
        """What ``LaunchTemplateData`` or an instance's properties say."""
        image = host_image(data.get("ImageId"))
        architecture = None if isinstance(image, Unknown) else image.image.architecture
        placement = data.section("Placement")
        group = placement.get("GroupName") or placement.get("GroupId") or data.get("PlacementGroupName")
        return Launch(
            types=types_asked_for(data, architecture) or TypeChoice(),
            image=image,
            image_written=image_written(data.get("ImageId")),
            agent=self._agent_settings(data),
            interfaces=tuple(_interface(each) for each in data.sections("NetworkInterfaces")),
            bought=bought_by_template(data),
            placement_group=UNKNOWN if placement.is_unknown else self.is_cluster_group(group),
        )

    def is_cluster_group(self, group: Value) -> bool | Unknown:
        """Whether a placement group keeps its hosts close to each other."""
        if group is None:
            return False
        resource = self._index.find(group, _PLACEMENT_GROUP)
        if resource is None:
            return UNKNOWN
        strategy = Section.of(resource, self._notes).text("Strategy")
        return strategy if isinstance(strategy, Unknown) else strategy in {None, "cluster"}

    def _agent_settings(self, section: Section) -> AgentSettings:
        value = section.get("UserData")
        if is_too_long(value):
            # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
            section.note("expects 16 KB at most, which is what EC2 takes, and is not read", None, "UserData")
        if not isinstance(value, (str, Text)):
            return agent_settings(value, self._cluster_named)
        found = self._settings_by_text.get(value)
        if found is None:
            found = self._settings_by_text[value] = agent_settings(value, self._cluster_named)
        return found

    def _configuration(self, properties: Section) -> Launch:
        return Launch(
            types=types_asked_for(properties, None) or TypeChoice(),
            image=host_image(properties.get("ImageId")),
            image_written=image_written(properties.get("ImageId")),
            agent=self._agent_settings(properties),
            bought=bought_by_configuration(properties),
            is_configuration=True,
        )

    def _once(self, resource: Resource, read: Callable[[Section], Launch]) -> Launch:
        found = self._known.get(resource.reference)
        if found is None:
            found = read(Section.of(resource, self._notes))
            with_init = with_init_metadata(found.agent, resource, self._cluster_named)
            found = self._known[resource.reference] = replace(found, agent=with_init)
        return found


def _interface(section: Section) -> NetworkInterface:
    card, device = section.integer("NetworkCardIndex"), section.integer("DeviceIndex")
    kind, public = section.text("InterfaceType"), section.flag("AssociatePublicIpAddress")
    return NetworkInterface(
        card=0 if card is None else card,
        device=0 if device is None else device,
        type="interface" if kind is None else kind,
        public_address=False if public is None else public,
    )
