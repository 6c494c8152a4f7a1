"""The emulator as a server with a bootstrapped account, and the CDK command line in front of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ecs_emulator.account import Account
from ecs_emulator.process import emulator

from .cdk_cli import ROOT, Cdk

__all__ = ["Prepared", "Stage", "stage"]


@dataclass(frozen=True)
class Stage:
    """Where a story with the command line takes place.

    Args:
        cdk: The command line.
        account: The account that it deploys to.
    """

    cdk: Cdk
    account: Account


@dataclass(frozen=True)
class Prepared(Cdk):
    """The command line in a bootstrapped account, with an app that is synthesized: an app takes seconds to start.

    Args:
        assemblies: What it would synthesize, by the type of the hosts.
    """

    assemblies: Mapping[str, Path] = field(default_factory=dict)

    def bootstrap(self) -> None:
        """Done; `emulator/test_installed` has the command."""

    def synth(self, stack: str, context: Mapping[str, str]) -> Path:
        """The assembly for this type of the hosts."""
        assembly = self.assemblies[context["gpu_instance_type"]]
        assert (assembly / f"{stack}.template.json").exists()
        return assembly


@contextmanager
def stage(directory: Path) -> Iterator[Stage]:
    """Run an emulator while the context lasts.

    Args:
        directory: Where everything that is written goes.
    """
    assert Cdk.is_installed(), "no `cdk` on the PATH; `make setup` installs it"
    with emulator(directory) as running:
        # CDK's own validation takes half of a synth; `test_cdks_own_validation` has it for the app of the project.
        environment = {**running.environment(os.environ), "CDK_VALIDATION": "false"}
        account = Account(running)
        _bootstrap(account)
        yield Stage(Cdk(work=directory, environment=environment), account)


def _bootstrap(account: Account) -> None:
    """What ``cdk bootstrap`` does, as `scenario` and ``docs/emulator.md`` have it, without starting Node."""
    template = ROOT / "node_modules/aws-cdk/lib/api/bootstrap/bootstrap-template.yaml"
    account.client("cloudformation").create_stack(
        StackName="CDKToolkit", TemplateBody=template.read_text(), Capabilities=["CAPABILITY_NAMED_IAM"]
    )
