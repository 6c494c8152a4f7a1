"""From whatever a test has at hand to what there is to assert: a template, a stack, an app, a file, a dictionary."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gpu_constructs.check.configuration import Configuration, configuration_of
from gpu_constructs.check.report import Report, check_files
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts.aws_limits import is_region
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import check
from gpu_constructs.testing.assertions import GpuAssertions

if TYPE_CHECKING:
    from aws_cdk import Stack, Stage

AT_HAND = "a Template, a stack, an app, a template as a dictionary or a path"


@runtime_checkable
class HasTemplate(Protocol):
    """What can give its template as plain data, such as `aws_cdk.assertions.Template`."""

    def to_json(self) -> Mapping[str, Any]:
        """The template."""


def gpus(
    source: HasTemplate | Stack | Stage | Mapping[str, object] | Fleet | str | Path,
    *,
    parameters: Mapping[str, str] | None = None,
    region: str | None = None,
    configuration: str | Path | None = None,
) -> GpuAssertions:
    """Reads what is asserted about.

    Args:
        source: `aws_cdk.assertions.Template`; a stack, alone; an app or a stage with all its stacks, so that what one
            imports from another is known; a template or a task definition as a dictionary; the path of such a file or
            of a cloud assembly; or a fleet. A stack or an app is synthesized by ``synth()``, after which CDK lets
            nothing be added to it.
        parameters: Values of CloudFormation parameters by name, instead of their defaults.
        region: Where it is deployed to, where it does not say so itself.
        configuration: A file such as ``gpu-constructs.yaml``, whose instance types, hosts, parameters and region count
            as they do for the command line.

    Raises:
        UnreadableError: It cannot be read.
    """
    said = Configuration() if configuration is None else configuration_of(str(configuration))
    with for_one_check(said.instance_types):
        return GpuAssertions(_reviewed(source, parameters, region, said))


def _reviewed(source: object, parameters: Mapping[str, str] | None, region: str | None, said: Configuration) -> Report:
    if isinstance(source, Fleet):
        return Report(fleet=source, findings=check(source))
    _require_parameters(parameters)
    path, own_region = at_hand(source, "source", f"{AT_HAND}, or a fleet")
    return check_files(
        [path],
        parameters=parameters or said.parameters,
        region=region or own_region or said.region,
        hosts=said.hosts,
        partial=said.partial,
    )


def _require_parameters(parameters: object) -> None:
    if parameters is None:
        return
    items = list(parameters.items()) if isinstance(parameters, Mapping) else [(None, None)]
    if not all(isinstance(each, str) for item in items for each in item):
        raise InvalidValueError(
            f"got {shown(parameters)}", argument="parameters", value=parameters, allowed="texts by name"
        )


def at_hand(
    source: object, argument: str, allowed: str = AT_HAND
) -> tuple[str | Path | Mapping[str, object], str | None]:
    """The template that was given, or the path at which it lies; and the region of a stack, where it is known."""
    if isinstance(source, HasTemplate):
        return source.to_json(), None
    if isinstance(source, str | Path | Mapping):
        return source, None
    # Whoever holds a construct has imported CDK; everybody else is spared the start of Node.
    cdk = sys.modules.get("aws_cdk")
    if cdk is not None and isinstance(source, cdk.Stage):
        return str(source.synth().directory), None
    if cdk is not None and isinstance(source, cdk.Stack):
        assembly = cdk.Stage.of(source).synth()
        region = str(source.region)
        return str(Path(assembly.directory, source.template_file)), region if is_region(region) else None
    raise InvalidValueError(
        f"nothing to read in {shown(source)}",
        argument=argument,
        value=source,
        allowed=allowed,
    )
