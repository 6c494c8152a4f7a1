"""A launch template, a launch configuration or a single instance: what one host is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpu_constructs.fleet import (
    NOTHING_SAID,
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
from gpu_constructs.hardware import Architecture
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.images import image_of, image_written
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.instance_types import types_asked_for
from gpu_constructs.template.resources.launch_details import LaunchReader
from gpu_constructs.template.resources.purchases import bought_by_configuration, bought_by_template
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.security_groups import EGRESS, INGRESS, SecurityGroups
from gpu_constructs.template.resources.user_data import (
    NOT_KNOWN,
    AgentSettings,
    ClusterNamed,
    agent_settings,
    is_refused,
    is_too_long,
    with_init_metadata,
)
from gpu_constructs.values import dataclass

_LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
_LAUNCH_CONFIGURATION = "AWS::AutoScaling::LaunchConfiguration"
_PLACEMENT_GROUP = "AWS::EC2::PlacementGroup"
_RUN_ON_HOSTS = ("AWS::SSM::Association", "AWS::SSM::Document")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What one host is made from, and the cluster that its user data names, see `AgentSettings.cluster`."""

    setup: HostSetup
    cluster: str | Unknown | None = None

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
        self._security = SecurityGroups(index, notes)
        self._details = LaunchReader(index, self._security)
        self._notes = notes
        self._cluster_named = cluster_named
        self._runs_on_hosts = any(index.all(*_RUN_ON_HOSTS))
        self._known: dict[Reference, Launch] = {}
        # Hosts of one cluster often have the same user data, and reading it takes longer than all else about them.
        self._settings_by_text: dict[tuple[Place, str | Text], AgentSettings] = {}

    def specified(self, specification: Section) -> Launch:
        """What a ``LaunchTemplateSpecification`` points at."""
        for key in ("LaunchTemplateId", "LaunchTemplateName"):
            resource = self._index.find(specification.get(key), _LAUNCH_TEMPLATE, specification.resource.place)
            if resource is not None:
                return self._once(resource)
        return UNKNOWN_LAUNCH

    def configured(self, group: Section) -> Launch:
        """What the ``LaunchConfigurationName`` of an Auto Scaling group points at."""
        resource = self._index.find(group.get("LaunchConfigurationName"), _LAUNCH_CONFIGURATION, group.resource.place)
        if resource is None:
            return replace(UNKNOWN_LAUNCH, setup=replace(UNKNOWN_LAUNCH.setup, launch_configuration=True))
        return self._once(resource)

    def instance(self, resource: Resource) -> Launch:
        """What a single instance is made from."""
        properties = Section.of(resource, self._notes)
        own = self._once(resource)
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
            details=NOTHING_SAID,
            tenancy=own.setup.tenancy or template.setup.tenancy,
            **values_of((own if properties.has("InstanceType") else template).setup, TypeChoice),
        )
        return Launch(setup=setup, cluster=agent.cluster)

    def is_cluster_group(self, group: Value, near: Place) -> bool | Unknown:
        """Whether a placement group keeps its hosts close to each other."""
        if group is None:
            return False
        resource = self._index.find(group, _PLACEMENT_GROUP, near)
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
            return agent_settings(value, self._named(section))
        key = section.resource.place, value
        found = self._settings_by_text.get(key)
        if found is None:
            found = self._settings_by_text[key] = agent_settings(value, self._named(section))
        return found

    def _named(self, section: Section) -> ClusterNamed:
        """What a cluster is called that user data of a section names."""
        return lambda value: self._cluster_named(value, section.resource.place)

    def _once(self, resource: Resource) -> Launch:
        found = self._known.get(resource.reference)
        if found is None:
            section = Section.of(resource, self._notes)
            data = section.section("LaunchTemplateData") if resource.type == _LAUNCH_TEMPLATE else section
            agent = with_init_metadata(self._agent_settings(data), resource, self._named(data))
            found = Launch(setup=self._setup(resource, data, agent), cluster=agent.cluster)
            self._known[resource.reference] = found
        return found

    def _setup(self, resource: Resource, data: Section, agent: AgentSettings) -> HostSetup:
        """What ``LaunchTemplateData``, a launch configuration or an instance's properties say."""
        is_configuration = resource.type == _LAUNCH_CONFIGURATION
        placement = data.section("Placement")
        group = placement.get("GroupName") or placement.get("GroupId") or data.get("PlacementGroupName")
        image = image_of(resource, data.get("ImageId"), self._notes)
        return HostSetup(
            image=image,
            image_written=image_written(data.get("ImageId")),
            user_data=replace(
                agent.data,
                is_encoded=not is_refused(data.get("UserData")),
                actions_never_taken=frozenset() if self._runs_on_hosts else agent.data.actions_never_taken,
            ),
            interfaces=tuple(self._interface(each) for each in data.sections("NetworkInterfaces")),
            bought=bought_by_configuration(data) if is_configuration else bought_by_template(data, self._index),
            placement_group=self.is_cluster_group(group, resource.origin.place),
            launch_configuration=is_configuration,
            tenancy=placement.text("Tenancy") or data.text("PlacementTenancy") or data.text("Tenancy"),
            details=self._details.of(data),
            **values_of(types_asked_for(data, _architecture(image)) or TypeChoice()),
        )

    def _interface(self, section: Section) -> NetworkInterface:
        found = NetworkInterface(
            card=section.integer("NetworkCardIndex") or 0,
            device=section.integer("DeviceIndex") or 0,
            type=given(section.text("InterfaceType"), "interface"),
            public_address=section.flag("AssociatePublicIpAddress") or False,
        )
        if not found.is_efa:
            return found
        groups = self._security.listed(section, "Groups")
        closed = (each for each in (INGRESS, EGRESS) if self._security.without_all_traffic(groups, each))
        return replace(found, closed=tuple(f"{each} of {groups[-1].logical_id}" for each in closed))


def _architecture(image: HostImage | Unknown) -> Architecture | None:
    return None if isinstance(image, Unknown) else image.image.architecture
