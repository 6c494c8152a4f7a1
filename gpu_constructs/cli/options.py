"""Arguments that several commands take, and the instance types that a configuration declares."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from importlib import import_module
from typing import cast

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import BYTES
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES, CONFIGURATION_TABLE


def add_format(parser: argparse.ArgumentParser, *more: str) -> None:
    """Adds the argument that chooses between text, JSON and whatever else a command writes."""
    parser.add_argument("--format", choices=["text", "json", *more], default="text", help="default: text")


def add_repeated(parser: argparse.ArgumentParser, flag: str, metavar: str, what: str) -> None:
    """Adds an argument that can be given several times."""
    parser.add_argument(flag, action="append", default=[], metavar=metavar, help=f"{what}; can be repeated")


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """Adds the argument that names a configuration."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"a configuration in YAML, JSON or TOML, instead of the nearest {CONFIGURATION_FILES[0]} or "
        "pyproject.toml; options given here replace what it says",
    )


def _is_configured() -> bool:
    """Whether this directory or one around it, as far as its repository goes, may have a configuration."""
    folder, above = "", os.getcwd()
    while folder != above and not (folder and os.path.lexists(f"{folder}/.git")):
        folder, above = above, os.path.dirname(above)
        files = (f"{folder}/{each}" for each in CONFIGURATION_FILES)
        if any(map(os.path.exists, files)) or _has_table(f"{folder}/pyproject.toml"):
            return True
    return False


def declared_types(arguments: argparse.Namespace) -> Mapping[str, InstanceType]:
    """The instance types that the configuration declares, by name."""
    # The reader loads much that a listing has no other use for.
    if arguments.config is None and not _is_configured():
        return {}
    reader = import_module("gpu_constructs.check.configuration")
    return cast("Mapping[str, InstanceType]", reader.found_configuration(arguments.config).instance_types)


def _has_table(file: str) -> bool:
    try:
        with open(file, encoding="utf-8") as opened:
            return re.search(CONFIGURATION_TABLE, opened.read(BYTES)) is not None
    except (OSError, ValueError):
        return False
