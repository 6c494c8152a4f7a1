"""Names of services: namespaces of Cloud Map, and what Service Connect makes in them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ecs_emulator.local import Local, NotDeployedError

from tests.e2e.templates import Template, cluster_template, resource, service


def connected(*names: str, namespace: Any = None, **options: Any) -> Template:
    """Services of one cluster that Service Connect calls by these names, without tasks."""
    template = cluster_template()
    template["Resources"]["Task"]["Properties"]["ContainerDefinitions"][0]["PortMappings"] = [
        {"ContainerPort": 8000, "Name": name} for name in dict.fromkeys(names)
    ]
    for place, name in enumerate(names):
        made = service(count=0)
        named = {"PortName": name, "ClientAliases": [{"Port": 8000 + place}], **options}
        settings = {"Enabled": True, "Services": [named]}
        made["Properties"]["ServiceConnectConfiguration"] = settings | ({"Namespace": namespace} if namespace else {})
        template["Resources"][f"Service{place}"] = made
    return template


def with_namespace(template: Template, kind: str = "PrivateDnsNamespace") -> Template:
    """The same in a cluster whose services Service Connect finds in a namespace."""
    vpc = {"Vpc": {"Ref": "Vpc"}} if kind == "PrivateDnsNamespace" else {}
    template["Resources"]["Names"] = resource(f"ServiceDiscovery::{kind}", Name="models", **vpc)
    names = {"Namespace": {"Fn::GetAtt": ["Names", "Arn"]}}
    template["Resources"]["Cluster"]["Properties"]["ServiceConnectDefaults"] = names
    return template


def names(cloud: Local) -> list[str]:
    return sorted(each["Name"] for each in cloud.account.client("servicediscovery").list_services()["Services"])


@pytest.mark.parametrize("kind", ["HttpNamespace", "PrivateDnsNamespace", "PublicDnsNamespace"])
def test_service_connect_names_services_in_the_namespace_of_their_cluster_and_takes_the_names_back(
    cloud: Local, kind: str
) -> None:
    stack = cloud.deploy(with_namespace(connected("chat", "search"), kind))
    assert names(cloud) == ["chat", "search"]

    cloud.update(stack, with_namespace(connected("chat", "find"), kind))

    assert names(cloud) == ["chat", "find"]
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (connected("chat"), "Namespace is missing"),
        (connected("chat", namespace="elsewhere"), "namespace wasn't found"),
        (with_namespace(connected("chat", PortName="chart")), r"portName\(chart\) does not refer"),
        (with_namespace(connected("chat", ClientAliases=[])), "clientAliases must have 1 element"),
        (with_namespace(connected("chat", "chat")), "SC service is already used by arn:aws:servicedisc"),
        (
            with_namespace(connected("chat", "find", DiscoveryName="one")),
            "SC service is already used by arn:aws:servicedisc",
        ),
        (
            with_namespace(connected("chat", "find", ClientAliases=[{"DnsName": "one", "Port": 80}])),
            "client alias one:80 is already used",
        ),
    ],
)
def test_service_connect_refuses(cloud: Local, template: Template, said: str) -> None:
    with pytest.raises(NotDeployedError, match=said):
        cloud.deploy(template)


def test_names_of_cloud_map_are_unique_and_a_namespace_with_names_stays(cloud: Local) -> None:
    template = with_namespace(cluster_template())
    record = {"DnsRecords": [{"TTL": 60, "Type": "A"}], "NamespaceId": {"Ref": "Names"}}
    template["Resources"]["Chat"] = resource("ServiceDiscovery::Service", Name="chat", DnsConfig=record)
    stack = cloud.deploy(template)
    again = copy.deepcopy(template)
    again["Resources"]["Again"] = template["Resources"]["Chat"]

    with pytest.raises(NotDeployedError, match="with identifier 'chat' already exists"):
        cloud.update(stack, again)

    assert names(cloud) == ["chat"]
    cloud.destroy(stack)
