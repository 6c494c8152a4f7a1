"""The templates of a small world, as somebody writes them by hand."""

from __future__ import annotations

import json
from typing import Any

from tests.properties.small_worlds import KINDS, TEAMS, ZONES, Design, Hosts, Work
from tests.template.resources.declared import resource

__all__ = ["files_of", "resources_of"]

_IMAGES = "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/%srecommended/image_id}}"
_ROLE = "arn:aws:iam::123456789012:role/runner"
_JOIN = "#!/bin/bash\necho ECS_CLUSTER=%s >> /etc/ecs/ecs.config\n"
_TEAM = """echo 'ECS_INSTANCE_ATTRIBUTES={"team": "%s"}' >> /etc/ecs/ecs.config\n"""
_NAME = "prod"


def files_of(design: Design) -> list[dict[str, Any]]:
    """The templates that are given in one call.

    Args:
        design: The world.
    """
    return _Writing(design).files()


def resources_of(number: int) -> frozenset[str]:
    """Logical ids of a task definition and what runs it."""
    return frozenset({f"Task{number}", f"Runner{number}"})


class _Writing:
    def __init__(self, design: Design) -> None:
        self._design = design
        self._of_hosts: dict[str, Any] = {}
        self._of_work: dict[str, Any] = {} if design.apart else self._of_hosts
        self._exports: dict[str, Any] = {}

    def files(self) -> list[dict[str, Any]]:
        design = self._design
        if not design.imported:
            named = {"ClusterName": _NAME} if design.named else {}
            self._of_hosts["Cluster"] = resource("ECS::Cluster", **named)
            self._export("Cluster")
        if design.where == "here":
            for number, each in enumerate(design.hosts):
                self._group(number, each)
            self._associated()
        for number, work in enumerate(design.works):
            self._work(str(number), work)
        for number, work in enumerate(design.daemons):
            self._work(f"OfDaemon{number}", work)
        parts = [(self._of_hosts, "hosts"), (self._of_work, "work")] if design.apart else [(self._of_hosts, "")]
        return [self._file(resources, of) for resources, of in parts if resources]

    def _file(self, resources: dict[str, Any], of: str) -> dict[str, Any]:
        knobs = [each for each in self._design.knobs if of in {"", each.thing}]
        parameters = {
            each.name: {
                "Type": "String" if each.attribute == "types" else "Number",
                "Default": each.written(each.values[0]),
                "AllowedValues": [each.written(one) for one in each.values],
            }
            for each in knobs
        }
        outputs = self._exports if of == "hosts" else {}
        return {
            **({"Parameters": parameters} if parameters else {}),
            "Resources": resources,
            **({"Outputs": outputs} if outputs else {}),
        }

    def _export(self, resource: str) -> None:
        if not self._design.named:
            self._exports[resource] = {"Value": {"Ref": resource}, "Export": {"Name": f"prod-{resource}"}}

    def _from_work(self, resource: str, name: str) -> object:
        """What the file of the tasks calls something of the file of the hosts."""
        if not self._design.apart:
            return {"Ref": resource}
        return name if self._design.named else {"Fn::ImportValue": f"prod-{resource}"}

    def _cluster(self) -> object:
        if self._design.imported:
            return _NAME if self._design.named else {"Fn::ImportValue": "elsewhere"}
        return self._from_work("Cluster", _NAME)

    def _knob(self, thing: str, number: int | str, attribute: str, value: object) -> Any:
        """A value, or the parameter that has it."""
        for each in self._design.knobs:
            if (each.thing, str(each.number), each.attribute) == (thing, str(number), attribute):
                return {"Ref": each.name}
        return value

    def _group(self, number: int, each: Hosts) -> None:
        types: list[Any] = [self._knob("hosts", number, "types", each.types[0]), *each.types[1:]]
        joined: object = _JOIN % _NAME
        if not self._design.imported:
            joined = {"Fn::Sub": _JOIN % "${Cluster}"}
        elif not self._design.named:
            joined = {"Fn::Sub": [_JOIN % "${Name}", {"Name": {"Fn::ImportValue": "elsewhere"}}]}
        if each.team:
            joined = _extended(joined, _TEAM % each.team)
        launched: dict[str, Any] = {
            "InstanceType": types[0],
            "ImageId": _IMAGES % ("gpu/" if KINDS[each.types[0]].gpus else ""),
            "IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole"},
            "UserData": {"Fn::Base64": joined},
        }
        if each.reserved is not None:
            self._of_hosts[f"Reservation{number}"] = resource(
                "EC2::CapacityReservation",
                AvailabilityZone=(each.zones or ZONES)[0],
                InstanceCount=each.reserved,
                InstancePlatform="Linux/UNIX",
                InstanceType=types[0],
                InstanceMatchCriteria="targeted",
            )
            target = {"CapacityReservationTarget": {"CapacityReservationId": {"Ref": f"Reservation{number}"}}}
            launched["CapacityReservationSpecification"] = target
        self._of_hosts[f"Launch{number}"] = resource("EC2::LaunchTemplate", LaunchTemplateData=launched)
        version = {
            "LaunchTemplateId": {"Ref": f"Launch{number}"},
            "Version": {"Fn::GetAtt": [f"Launch{number}", "LatestVersionNumber"]},
        }
        overrides = [{"InstanceType": one} for one in types]
        mixed = {"LaunchTemplate": {"LaunchTemplateSpecification": version, "Overrides": overrides}}
        self._of_hosts[f"Group{number}"] = resource(
            "AutoScaling::AutoScalingGroup",
            MinSize=str(each.least),
            MaxSize=self._knob("hosts", number, "most", str(each.most)),
            VPCZoneIdentifier=[self._subnet(one) for one in each.zones] or ["subnet-1"],
            **({"LaunchTemplate": version} if len(types) == 1 else {"MixedInstancesPolicy": mixed}),
        )
        if each.has_provider:
            named = {"Name": f"provider{number}"} if self._design.named else {}
            group = {"AutoScalingGroupArn": {"Ref": f"Group{number}"}, "ManagedScaling": {"Status": "ENABLED"}}
            provider = f"Provider{number}"
            self._of_hosts[provider] = resource("ECS::CapacityProvider", AutoScalingGroupProvider=group, **named)
            self._export(provider)

    def _subnet(self, zone: str) -> object:
        name = f"Subnet{ZONES.index(zone)}"
        cidr = f"10.0.{ZONES.index(zone)}.0/24"
        self._of_hosts[name] = resource("EC2::Subnet", VpcId="vpc-1", CidrBlock=cidr, AvailabilityZone=zone)
        return {"Ref": name}

    def _associated(self) -> None:
        providers = [{"Ref": each} for each in self._of_hosts if each.startswith("Provider")]
        # Who imports a cluster associates the providers of this stack there.
        cluster = self._cluster() if self._design.imported else {"Ref": "Cluster"}
        if providers:
            self._of_hosts["Association"] = resource(
                "ECS::ClusterCapacityProviderAssociations",
                Cluster=cluster,
                CapacityProviders=providers,
                DefaultCapacityProviderStrategy=[],
            )

    def _work(self, number: str, each: Work) -> None:
        container: dict[str, Any] = {
            "Name": "main",
            "Image": "busybox",
            "Cpu": each.cpu,
            "Memory": self._knob("work", number, "memory", each.memory),
        }
        if each.gpus is not None:
            asked = {"Type": "GPU", "Value": self._knob("work", number, "gpus", each.gpus)}
            container["ResourceRequirements"] = [asked]
        if each.port:
            container["PortMappings"] = [{"ContainerPort": 80, "HostPort": each.port}]
        self._of_work[f"Task{number}"] = resource(
            "ECS::TaskDefinition",
            Family=f"task{number}",
            NetworkMode="awsvpc" if each.awsvpc else "bridge",
            RequiresCompatibilities=["EC2"],
            ContainerDefinitions=[container],
            **({"PlacementConstraints": _constraints(each)} if _constraints(each) else {}),
        )
        if each.starter != "nothing":
            self._of_work[f"Runner{number}"] = getattr(self, f"_{each.starter}")(number, each)

    def _how(self, each: Work, network: str = "AwsvpcConfiguration") -> dict[str, Any]:
        how: dict[str, Any] = {}
        if each.way == "strategy":
            how["CapacityProviderStrategy"] = [
                {"CapacityProvider": self._provider(provider), "Base": base, "Weight": weight}
                for provider, base, weight in each.strategy
            ]
        elif each.way == "EC2":
            how["LaunchType"] = "EC2"
        if each.awsvpc:
            how["NetworkConfiguration"] = {network: {"Subnets": ["subnet-1"], "SecurityGroups": ["sg-1"]}}
        return how

    def _provider(self, number: int) -> object:
        if self._design.where != "here":
            return f"provider{number}"
        return self._from_work(f"Provider{number}", f"provider{number}")

    def _service(self, number: str, each: Work) -> dict[str, Any]:
        return resource(
            "ECS::Service",
            Cluster=self._cluster(),
            TaskDefinition={"Ref": f"Task{number}"},
            DesiredCount=self._knob("work", number, "copies", each.copies),
            **self._how(each),
            **({"PlacementConstraints": [{"Type": "distinctInstance"}]} if each.distinct else {}),
        )

    def _daemon(self, number: str, each: Work) -> dict[str, Any]:
        return resource(
            "ECS::Service",
            Cluster=self._cluster(),
            TaskDefinition={"Ref": f"Task{number}"},
            SchedulingStrategy="DAEMON",
            **self._how(each),
        )

    def _rule(self, number: str, each: Work) -> dict[str, Any]:
        parameters = {
            "TaskDefinitionArn": {"Ref": f"Task{number}"},
            "TaskCount": each.copies,
            **self._how(each, "AwsVpcConfiguration"),
        }
        target = {"Id": "run", "Arn": self._arn(), "RoleArn": _ROLE, "EcsParameters": parameters}
        return resource("Events::Rule", ScheduleExpression="rate(1 day)", Targets=[target])

    def _schedule(self, number: str, each: Work) -> dict[str, Any]:
        parameters = {"TaskDefinitionArn": {"Ref": f"Task{number}"}, "TaskCount": each.copies, **self._how(each)}
        target = {"Arn": self._arn(), "RoleArn": _ROLE, "EcsParameters": parameters}
        window = {"Mode": "OFF"}
        return resource(
            "Scheduler::Schedule", ScheduleExpression="rate(1 day)", FlexibleTimeWindow=window, Target=target
        )

    def _machine(self, number: str, each: Work) -> dict[str, Any]:
        given = {"Cluster": "${Cluster}", "TaskDefinition": "${Task}", "Count": each.copies, **self._how(each)}
        variables = {"Cluster": self._cluster(), "Task": {"Ref": f"Task{number}"}}
        for item in given.get("CapacityProviderStrategy", ()):
            name = f"Item{len(variables)}"
            variables[name], item["CapacityProvider"] = item["CapacityProvider"], f"${{{name}}}"
        state = {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "Parameters": given, "End": True}
        definition = {"StartAt": "Run", "States": {"Run": state}}
        if int(number) % 2:
            written: dict[str, Any] = {"Definition": definition, "DefinitionSubstitutions": variables}
        else:
            written = {"DefinitionString": {"Fn::Sub": [json.dumps(definition), variables]}}
        return resource("StepFunctions::StateMachine", RoleArn=_ROLE, **written)

    def _arn(self) -> object:
        """The cluster of a target, which is an ARN."""
        if not self._design.imported and not self._design.apart:
            return {"Fn::GetAtt": ["Cluster", "Arn"]}
        if self._design.named:
            return {"Fn::Sub": f"arn:aws:ecs:${{AWS::Region}}:${{AWS::AccountId}}:cluster/{_NAME}"}
        return {
            "Fn::Sub": [
                "arn:aws:ecs:${AWS::Region}:${AWS::AccountId}:cluster/${Name}",
                {"Name": self._cluster()},
            ]
        }


def _constraints(each: Work) -> list[dict[str, str]]:
    zone = [f"attribute:ecs.availability-zone == {each.zone}"] if each.zone else []
    team = [f"attribute:team == {TEAMS[0]}"] if each.has_team else []
    return [{"Type": "memberOf", "Expression": one} for one in (*zone, *team)]


def _extended(joined: Any, line: str) -> object:
    """User data with another line, whatever it is written with."""
    if isinstance(joined, str):
        return joined + line
    text = joined["Fn::Sub"]
    return {"Fn::Sub": text + line if isinstance(text, str) else [text[0] + line, text[1]]}
