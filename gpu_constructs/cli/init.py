"""``gpu-constructs init``: a configuration that explains itself."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_constructs.check.configuration import found_configuration
from gpu_constructs.cli.output import say
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES

EXAMPLES = f"""\
examples:
  gpu-constructs init    writes {CONFIGURATION_FILES[0]} into the working directory, and replaces nothing

exit codes:
  0 written, 2 there is a configuration already, or it cannot be written
"""

_TEXT = """\
# What every `gpu-constructs check` of this repository says. An option of the command line replaces the same one here.

# region: eu-west-1              # where templates are deployed that do not say it
fail_on: error                   # exit with 1 at: error, warning, info, unchecked or never
# exclude: [legacy/]             # patterns as in .gitignore, from this directory; include: these files alone
# partial: true                  # more hosts and services are in files that are not here
# together: true                 # check everything as one; else each directory and each assembly by itself
# hosts: {g6.xlarge: 4}          # hosts of clusters that no file defines
# parameters: {Size: 4}          # values of template parameters, instead of their defaults
# severity: {GPU002: info}       # findings of a rule as: error, warning or info
# baseline: gpu-constructs-baseline.json   # tell what is new; written by check --update-baseline

# Findings that are all right: why, and where. path, resource and until are optional.
# ignore:
#   - {rule: GPU002, path: legacy/, reason: these stacks are frozen, until: 2027-01-31}

# Instance types that are newer than the catalogue.
# instance_types:
#   g9.xlarge: {vcpus: 4, memory_mib: 16384, gpus: 1, gpu_model: R200}
"""


def define(_: argparse.ArgumentParser) -> None:
    pass


def run(_: argparse.Namespace) -> int:
    """Writes the file, where the directory has no configuration yet."""
    file = CONFIGURATION_FILES[0]
    there = found_configuration(paths=[""]).file
    if there is not None and Path(there).parent == Path():
        raise GpuConstructsError(f"{there} is there already", fix="change it, or delete it first")
    try:
        with Path(file).open("x", encoding="utf-8") as opened:
            opened.write(_TEXT)
    except OSError as error:
        raise GpuConstructsError(f"cannot write {file}: {error.strerror}") from None
    say(f"{file} is written")
    return 0
