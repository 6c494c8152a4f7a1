"""The emulator takes its place in moto."""

from __future__ import annotations

from . import (
    autoscaling,
    autoscaling_resources,
    bootstrap_resources,
    cloudformation,
    ecs,
    ecs_resources,
    ecs_responses,
    images,
    stacks,
)

__all__ = ["RESOURCES", "install"]

RESOURCES = (autoscaling_resources, bootstrap_resources, ecs_resources)
"""The modules whose resource types exist from the moment they are imported."""


def install() -> None:
    """Put the emulator in the place of moto's own models; before moto answers its first request."""
    for part in (autoscaling, cloudformation, ecs, ecs_responses, images, stacks):
        part.install()
