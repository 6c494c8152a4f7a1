"""The emulator in this process: no server, no CDK command line, so that dozens of stacks take seconds.

    with local() as cloud:
        stack = cloud.deploy(template)          # or deploy_assembly(Path(app.synth().directory), "my-stack")
        cloud.account.hosts(stack.outputs["ClusterName"])
        cloud.destroy(stack)

Everything that `Account` and `inventory` do works here too: boto's requests are answered by moto's backends without a
socket. It is the same model as in `server`, not another one. The first `local` of a process takes two seconds; after
that, a stack of a cluster is made in 20 ms and deleted in 5.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from moto.backends import get_backend
from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.model_instances import reset_model_data
from moto.core.models import botocore_stubber
from moto.ecs.models import ecs_backends

from .account import Account
from .in_process import InProcess
from .install import install
from .inventory import inventory
from .process import ACCOUNT, REGION
from .running import RunningEcs

__all__ = ["BOOTSTRAP_VERSION", "Ask", "Deployed", "Local", "NotDeployedError", "local"]

Ask = Callable[..., tuple[int, str]]
"""A command line: its words; its exit code and what it said."""
BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"
"""The parameter with which the CDK's default synthesizer asks whether the account is bootstrapped."""


class NotDeployedError(AssertionError):
    """A stack did not end as it should; the text has the state and the reason."""


@dataclass(frozen=True)
class Deployed:
    """One stack that stands.

    Args:
        id: The stack.
        outputs: Its outputs.
        reason: What CloudFormation says of how it ended, such as what an update could not delete.
    """

    id: str
    outputs: Mapping[str, str]
    reason: str = ""


@contextmanager
def local() -> Iterator[Local]:
    """An account of its own, bootstrapped and otherwise empty; what is in it is forgotten at the end."""
    _install_once()
    with _answered():
        account = _account()
        account.client("ssm").put_parameter(Name=BOOTSTRAP_VERSION, Value="30", Type="String")
        yield Local(account)


_NAMED_OTHERWISE = {
    "network_interfaces": "enis",
    "security_groups": "groups",
    "schedules": "in each group",
    "vpc_endpoints": "vpc_end_points",
}
"""What moto's models call other than the operation that lists it; it keeps no schedule in what has their name."""
_MADE_WITH_THE_FIRST = frozenset({"placement_groups"})
"""Attributes that the emulator adds to moto's model with the first one."""


@contextmanager
def _answered() -> Iterator[None]:
    """As `mock_aws`, without its thousand patterns for requests of others than boto: they take longer than a stack."""
    botocore_stubber.enabled = True
    try:
        yield
    finally:
        botocore_stubber.enabled = False
        _forget()
        reset_model_data()


def _forget() -> None:
    """As `BackendDict.reset`, which puts a new model with a new default VPC into the place of each before it goes."""
    for models in BackendDict._instances:  # type: ignore[misc]
        for _, _, model in [*models.iter_backends()]:
            if type(model).reset is not BaseBackend.reset:  # such as that of S3, which closes files
                model.reset()
        models.clear()
    BackendDict._instances.clear()  # type: ignore[misc]


def _is_used(given: Mapping[int, object], service: str, listed: str) -> bool:
    """Whether moto's model of the service holds more than is given; to ask the others takes most of an inventory."""
    models = get_backend(service).iter_backends()  # type: ignore[call-overload]
    return any(_holds_more(model, _NAMED_OTHERWISE.get(listed, listed), given) for _, _, model in models)


def _holds_more(model: BaseBackend, listed: str, given: Mapping[int, object]) -> bool:
    """Of what is listed, where the model keeps it by this name; elsewhere, whether it holds anything at all."""
    held = vars(model)
    if listed not in held and listed not in _MADE_WITH_THE_FIRST:
        return any(each and not isinstance(each, str) for each in held.values())
    return any(id(each) not in given for each in _things(held.get(listed, ())))


def _given() -> Mapping[int, object]:
    """By identity, what AWS puts into a new account and an inventory looks at: the default VPC and what that has."""
    return {id(each): each for each in _things(vars(get_backend("ec2")[ACCOUNT][REGION]))}


def _things(held: Any) -> Iterator[object]:
    """What an attribute of a model holds, such as subnets by their zones."""
    if isinstance(held, (Mapping, list, set, tuple)):
        for each in held.values() if isinstance(held, Mapping) else held:
            yield from _things(each)
    else:
        yield held


@functools.cache
def _install_once() -> None:
    install()


@functools.cache
def _account() -> Account:
    """Its clients are made once per process, which takes longer than a stack; moto answers them in every `local`."""
    return Account(InProcess())


class Local:
    """CloudFormation in such an account.

    Args:
        account: The account.
    """

    def __init__(self, account: Account) -> None:
        self.account = account
        self._client = account.client("cloudformation")
        self._given = _given()
        self._names = (f"stack-{number}" for number in itertools.count())

    def deploy(self, template: Mapping[str, Any], name: str | None = None, **parameters: str) -> Deployed:
        """Create a stack from a template, with values of its parameters.

        Raises:
            NotDeployedError: It ends in another state than ``CREATE_COMPLETE``; what was made is deleted again.
        """
        name = name or next(self._names)
        stack = self._client.create_stack(
            StackName=name,
            TemplateBody=json.dumps(template),
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )["StackId"]
        try:
            return self._ended(stack, "CREATE_COMPLETE")
        except NotDeployedError:
            self._client.delete_stack(StackName=stack)
            raise

    def deploy_assembly(self, assembly: Path, name: str) -> Deployed:
        """Create one stack of a cloud assembly, such as ``Path(app.synth().directory)``."""
        manifest = json.loads((assembly / "manifest.json").read_text())
        properties = manifest["artifacts"][name]["properties"]
        template = json.loads((assembly / properties["templateFile"]).read_text())
        return self.deploy(template, properties.get("stackName", name))

    def update(self, stack: Deployed, template: Mapping[str, Any]) -> Deployed:
        """Update a stack; its parameters keep what they have, as ``cdk deploy`` has it.

        Raises:
            NotDeployedError: It ends in another state than ``UPDATE_COMPLETE``.
        """
        had = self._client.describe_stacks(StackName=stack.id)["Stacks"][0].get("Parameters", [])
        kept = {each["ParameterKey"] for each in had} & template.get("Parameters", {}).keys()
        self._client.update_stack(
            StackName=stack.id,
            TemplateBody=json.dumps(template),
            Parameters=[{"ParameterKey": each, "UsePreviousValue": True} for each in sorted(kept)],
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        return self._ended(stack.id, "UPDATE_COMPLETE")

    def destroy(self, stack: Deployed) -> None:
        """Delete a stack.

        Raises:
            NotDeployedError: It ends in another state than ``DELETE_COMPLETE``.
        """
        self._client.delete_stack(StackName=stack.id)
        self._ended(stack.id, "DELETE_COMPLETE")

    def switch(self, name: str, value: str) -> None:
        """Tell the emulator about the world outside the account, see `ecs_emulator.switches`."""
        self.account.client("ssm").put_parameter(Name=f"/emulator/{name}", Value=value, Type="String", Overwrite=True)

    def minutes(self, cluster: str, count: int = 1) -> None:
        """Let everything in a cluster happen that takes some minutes.

        Args:
            cluster: Its name.
            count: How many minutes (default: 1).
        """
        ecs = cast("RunningEcs", ecs_backends[ACCOUNT][REGION])
        for _ in range(count):
            ecs.pass_a_minute(cluster)

    def run(self, cluster: str, task: str, provider: str, *, minutes: int = 5) -> str:
        """Start a task on a capacity provider and let it have what it needs.

        Returns:
            Its state after that.
        """
        (arn,) = self.account.run(
            cluster=cluster, taskDefinition=task, capacityProviderStrategy=[{"capacityProvider": provider, "weight": 1}]
        ).tasks
        self.minutes(cluster, minutes)
        described = self.account.client("ecs").describe_tasks(cluster=cluster, tasks=[arn])["tasks"][0]
        return str(described["lastStatus"])

    def inventory(self) -> frozenset[tuple[str, str]]:
        """Everything that costs money or blocks a name; the same before a deploy and after a destroy."""
        return inventory(self.account.client, functools.partial(_is_used, self._given))

    def _ended(self, stack: str, wanted: str) -> Deployed:
        described = self._client.describe_stacks(StackName=stack)["Stacks"][0]
        if described["StackStatus"] != wanted:
            raise NotDeployedError(f"{described['StackStatus']}: {described.get('StackStatusReason', '')}")
        values = {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}
        return Deployed(stack, values, described.get("StackStatusReason", ""))
