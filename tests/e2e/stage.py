"""The emulator as a server with a bootstrapped account, and the CDK command line in front of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .account import Account
from .cdk_cli import Cdk
from .server import ROOT, emulator

__all__ = ["Stage", "stage"]


@dataclass(frozen=True)
class Stage:
    """Where a story with the command line takes place.

    Args:
        cdk: The command line.
        account: The account that it deploys to.
    """

    cdk: Cdk
    account: Account


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
        yield Stage(Cdk(project=ROOT, work=directory, environment=environment), account)


def _bootstrap(account: Account) -> None:
    """What ``cdk bootstrap`` does, as `scenario` and ``docs/emulator.md`` have it, without starting Node."""
    template = ROOT / "node_modules/aws-cdk/lib/api/bootstrap/bootstrap-template.yaml"
    account.client("cloudformation").create_stack(
        StackName="CDKToolkit", TemplateBody=template.read_text(), Capabilities=["CAPABILITY_NAMED_IAM"]
    )
