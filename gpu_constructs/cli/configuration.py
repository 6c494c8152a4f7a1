"""The configuration of a command: the one that its arguments name, or that of the working directory.

What reads it is loaded only where there is one: it takes longer than a whole command that needs none.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from importlib import import_module
from typing import cast

from gpu_constructs.configuration_files import CONFIGURATION_FILES
from gpu_constructs.hardware import InstanceType


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """Adds the argument that names a configuration."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"a configuration in YAML or JSON, instead of {CONFIGURATION_FILES[0]} in the working directory; options "
        "given here replace what it says",
    )


def declared_types(arguments: argparse.Namespace) -> Mapping[str, InstanceType]:
    """The instance types that the configuration declares, by name.

    Raises:
        UnreadableError: It cannot be read, or something in it is wrong.
    """
    if arguments.config is None and not any(map(os.path.exists, CONFIGURATION_FILES)):
        return {}
    reader = import_module("gpu_constructs.checking.configuration")
    return cast("Mapping[str, InstanceType]", reader.found_configuration(arguments.config).instance_types)
