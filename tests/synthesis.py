"""A stack with a network and a cluster on it, and readers of the template that comes out."""

from __future__ import annotations

import json
import runpy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast
from unittest.mock import patch

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import cx_api
from constructs import Construct, IConstruct

from gpu_constructs import GpuCapacity, GpuCluster, GpuConstructsError, GpuTaskDefinition, ManagedGpuCapacity
from gpu_constructs.check.report import check_files
from gpu_constructs.tasks.task_target import Capacity

ROOT = Path(__file__).parents[1]

Properties = dict[str, Any]
_Refusal = TypeVar("_Refusal", bound=Exception)
_Hosts = TypeVar("_Hosts", GpuCapacity, ManagedGpuCapacity)

_WARNING = "aws:cdk:warning"
"""How the metadata of a cloud assembly says that an entry is one (CDK's `cx_api` has the name in JavaScript only)."""


WITHOUT: Any = {"tree_metadata": False, "analytics_reporting": False, "stack_traces": False}
"""What CDK adds of its own and no test looks at: a third of a synth, and some of each construct."""


def app_in(folder: Path | str | None = None, context: Mapping[str, Any] | None = None) -> cdk.App:
    """Without that."""
    return cdk.App(outdir=None if folder is None else str(folder), context=context, **WITHOUT)


def synthesized(name: str, define: Callable[[cdk.Stack], object]) -> Properties:
    """The template of one stack, of which nothing else stays."""
    with TemporaryDirectory() as folder:
        app = app_in(Path(folder))
        define(cdk.Stack(app, name))
        app.synth()
        template: Properties = json.loads(Path(folder, f"{name}.template.json").read_text())
        return template


def until_said(text: str, capfd: pytest.CaptureFixture[str]) -> str:
    """All of stderr once it has a text: what CDK prints comes from Node through a thread, at any time after a synth."""
    said, deadline = "", time.monotonic() + 20
    while text not in said and time.monotonic() < deadline:
        said += capfd.readouterr().err
        time.sleep(0.01)
    return said


@contextmanager
def unwritten() -> Iterator[None]:
    """Keeps refusals off the tree, for what is tried in an app that is synthesized all the same."""
    with patch("gpu_constructs.cdk.calls.write_on"):
        yield


@contextmanager
def swallowed() -> Iterator[None]:
    """Goes on after a refusal; what was refused before anything was made leaves nothing in the template."""
    with unwritten(), suppress(GpuConstructsError):
        yield


def synth_the_app(folder: Path, context: Mapping[str, Any]) -> Path:
    """Synthesizes the app of this project in this process, with the flags of its ``cdk.json`` and a context besides."""

    class Given(cdk.App):
        def __init__(self) -> None:
            super().__init__(outdir=str(folder), context={**Site.recommended_context(), **context}, **WITHOUT)

    with patch.object(cdk, "App", Given):
        runpy.run_path(str(ROOT / "app.py"))
    return folder


class Site:
    """One app with one stack; what is not asked for is not made."""

    def __init__(self, app: cdk.App, stage: cdk.Stage | None = None, *, name: str = "Stack") -> None:
        self.app = app
        self.stack = cdk.Stack(stage or app, name)
        self._paths: dict[str, str] = {}

    @staticmethod
    def recommended_context() -> dict[str, Any]:
        context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
        return context

    @cached_property
    def vpc(self) -> ec2.IVpc:
        """One that is there already: a new one takes a quarter of the time of a test."""
        return ec2.Vpc.from_vpc_attributes(
            self.stack,
            "Vpc",
            vpc_id="vpc-12345678",
            vpc_cidr_block="10.0.0.0/16",
            availability_zones=["us-east-1a", "us-east-1b"],
            public_subnet_ids=["subnet-aaaaaaa1", "subnet-aaaaaaa2"],
            public_subnet_route_table_ids=["rtb-aaaaaaa1", "rtb-aaaaaaa2"],
            private_subnet_ids=["subnet-bbbbbbb1", "subnet-bbbbbbb2"],
            private_subnet_route_table_ids=["rtb-bbbbbbb1", "rtb-bbbbbbb2"],
        )

    def make_vpc(self) -> None:
        """Makes the network part of the stack, for tests that look at its subnets and routes."""
        self.vpc = ec2.Vpc(self.stack, "Vpc", nat_gateways=1, restrict_default_security_group=False)

    @cached_property
    def one_zone(self) -> ec2.SubnetSelection:
        return ec2.SubnetSelection(subnets=[self.vpc.private_subnets[0]])

    @cached_property
    def cluster(self) -> GpuCluster:
        return GpuCluster(self.stack, "Cluster", vpc=self.vpc)

    @cached_property
    def l4(self) -> GpuCapacity:
        return self.cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=8)

    @cached_property
    def image(self) -> ecs.ContainerImage:
        return ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")

    def capacity(self, *instance_types: str, name: str = "Capacity", **arguments: Any) -> GpuCapacity:
        given = {"instance_types": list(instance_types), "max_instances": 4, **arguments}
        return self._add(GpuCluster.add_capacity, name, given)

    def managed(self, name: str = "Managed", **arguments: Any) -> ManagedGpuCapacity:
        return self._add(GpuCluster.add_managed_capacity, name, arguments)

    def _add(self, add: Callable[..., _Hosts], name: str, given: dict[str, Any]) -> _Hosts:
        return add(self.cluster, name, **given)

    def task(self, *capacity: Capacity, name: str = "Task", **arguments: Any) -> GpuTaskDefinition:
        return GpuTaskDefinition(self.stack, name, capacity=list(capacity) or [self.l4], **arguments)

    def plain_cpu_task(self) -> ecs.Ec2TaskDefinition:
        task = ecs.Ec2TaskDefinition(self.stack, "Web")
        task.add_container("web", image=self.image, memory_limit_mib=512)
        return task

    @property
    def _assembly(self) -> cx_api.CloudAssembly:
        return self.app.synth()

    def template(self, stack: cdk.Stack | None = None) -> Properties:
        # `assertions.Template` would carry the whole template through Node once more.
        file = Path(self._assembly.directory, (stack or self.stack).template_file)
        template: Properties = json.loads(file.read_text(encoding="utf-8"))
        return template

    def number(self, name: str) -> int:
        """A number that is only known at deploy time; the type checker takes a CDK number for a float."""
        return cast("int", cdk.CfnParameter(self.stack, name, type="Number").value_as_number)

    def properties(self, resource_type: str, stack: cdk.Stack | None = None) -> list[Properties]:
        return [each.get("Properties", {}) for each in self.resources(resource_type, stack).values()]

    def resources(self, resource_type: str, stack: cdk.Stack | None = None) -> dict[str, Properties]:
        """Those of a type by their logical ids, with what they have beside properties."""
        every = self.template(stack).get("Resources", {})
        return {logical_id: each for logical_id, each in every.items() if each["Type"] == resource_type}

    def resource(self, resource_type: str) -> Properties:
        (found,) = self.resources(resource_type).values()
        return found

    def only(self, resource_type: str) -> Properties:
        (properties,) = self.properties(resource_type)
        return properties

    def launch_template(self) -> Properties:
        data: Properties = self.only("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
        return data

    def container(self) -> Properties:
        (container,) = self.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
        return dict(container)

    def warnings(self, *, unchanged: bool = False) -> list[str]:
        """Warnings that a user sees at synth, acknowledged ones left out: the rule, the message, the fix.

        Args:
            unchanged: Whether nothing has been added since the app was synthesized last.
        """
        folder = Path((self._assembly if unchanged else self.app.synth(force=True)).directory)
        report = folder / "validation-report.json"
        found = [
            f"{each['ruleName']} {each['description']}; {each.get('suggestedFix', '')}"
            for plugin in (json.loads(report.read_text())["pluginReports"] if report.exists() else ())
            if plugin["pluginName"] == "gpu-constructs"
            for each in plugin["violations"]
        ]
        # `assertions.Annotations` would synthesize the app once more.
        metadata = folder / self.stack.template_file.replace(".template.", ".metadata.")
        at_constructs = json.loads(metadata.read_text()) if metadata.exists() else {}
        said = [str(each.get("data")) for of in at_constructs.values() for each in of if each["type"] == _WARNING]
        return [*found, *(each for each in said if "gpu-constructs::" in each)]

    def findings(self, rule: str) -> list[str]:
        """What a rule says of the app that was synthesized, whatever its severity."""
        with suppress(RuntimeError):  # the check at synth says it too, and an error ends it
            self.app.synth(force=True)
        found = check_files([self.app.outdir]).findings
        return [each.message for each in found if each.rule == rule]

    @contextmanager
    def refuses(self, error: type[_Refusal], match: str | None = None) -> Iterator[pytest.ExceptionInfo[_Refusal]]:
        """Something is refused, and nothing of it is left behind."""
        before = self.children()
        with pytest.raises(error, match=match) as refused:
            yield refused
        assert self.children() == before

    def children(self) -> list[str]:
        """Paths of all constructs, for what must not be left behind."""
        return sorted(map(self._path, self.stack.node.find_all()))

    def _path(self, construct: IConstruct) -> str:
        # An object of JavaScript has one reference, which costs no message to Node.
        reference: str = cast("Any", construct).__jsii_ref__.ref
        if reference not in self._paths:
            # Asked as text, a construct says its path with one message instead of two.
            self._paths[reference] = cast("cdk.Resource", construct).to_string()
        return self._paths[reference]


class Landlord(Site):
    """Hosts for the tests of a module: one capacity for the same arguments, each in a cluster of its own."""

    def __init__(self, app: cdk.App) -> None:
        super().__init__(app)
        self._made: dict[str, object] = {}

    def _place(self, name: str) -> tuple[GpuCluster, str]:
        return GpuCluster(self.stack, f"Cluster{len(self._made)}", vpc=self.vpc), name

    def _add(self, add: Callable[..., _Hosts], name: str, given: dict[str, Any]) -> _Hosts:
        key = f"{name} {given}"
        if key not in self._made:
            self._made[key] = add(*self._place(name), **given)
        return cast("_Hosts", self._made[key])


class Ground(Landlord):
    """A cluster that stays while what a test adds to the stack is swept away after it: for what is refused.

    One capacity stands for the same arguments. What services changed in the cluster stays, so nothing is read of it.
    """

    def __init__(self, app: cdk.App) -> None:
        super().__init__(app)
        self._staying = {"Vpc": self.vpc, "Cluster": self.cluster}

    def _place(self, name: str) -> tuple[GpuCluster, str]:
        return self.cluster, f"{name}{len(self._made)}"

    def sweep(self) -> None:
        """Removes what stands on the stack and in the app besides."""
        staying = {"Stack", *self._staying}
        for scope in (self.stack.node, self.app.node):
            for each in scope.children:
                name = self._path(each).rpartition("/")[2]
                if name not in staying:
                    scope.try_remove_child(name)


class Tenant(Site):
    """A stack of its own with tasks on the hosts of a landlord, which are not synthesized with it.

    A task definition refers to its hosts by their types alone; services and checks at synth need a whole site.
    """

    def __init__(self, landlord: Landlord, name: str) -> None:
        self._stage = cdk.Stage(landlord.app, name)
        super().__init__(landlord.app, self._stage)
        self._landlord = landlord
        self.vpc = landlord.vpc

    @property
    def _assembly(self) -> cx_api.CloudAssembly:
        return self._stage.synth()

    @cached_property
    def l4(self) -> GpuCapacity:
        return self._landlord.l4

    def _add(self, add: Callable[..., _Hosts], name: str, given: dict[str, Any]) -> _Hosts:
        return self._landlord._add(add, name, given)


def warned(construct: Construct) -> list[str]:
    """Warnings that a construct and those in it got when they were defined, without a synth."""
    metadata = (entry for each in construct.node.find_all() for entry in each.node.metadata)
    return [str(entry.data) for entry in metadata if entry.type == _WARNING]


def user_data(launch_template_data: Properties) -> str:
    """The user data as a host reads it, with references as ``<LogicalId>``."""
    body = launch_template_data["UserData"]["Fn::Base64"]
    if isinstance(body, str):
        return body
    return "".join(
        part if isinstance(part, str) else f"<{part.get('Ref') or part.get('Fn::ImportValue')}>"
        for part in body["Fn::Join"][1]
    )
