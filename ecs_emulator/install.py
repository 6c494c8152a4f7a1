"""The emulator takes its place in moto."""

from __future__ import annotations

import functools

from cryptography.hazmat.primitives.asymmetric import rsa
from moto.core import responses
from moto.core.base_backend import AccountSpecificBackend, BackendDict
from moto.core.utils import camelcase_to_underscores, method_names_from_class
from moto.utilities.aws_headers import gen_amzn_requestid_long

from .loading import files_read_once

with files_read_once():
    from . import (
        alarms,
        autoscaling,
        autoscaling_resources,
        batch,
        batch_resources,
        bootstrap_resources,
        cloud_map,
        cloud_trail,
        cloudformation,
        cloudwatch_resources,
        ecs,
        ecs_resources,
        ecs_responses,
        event_targets,
        executions,
        file_systems,
        functions,
        image_repositories,
        images,
        lifecycle_hooks,
        load_balancers,
        messages,
        permissions,
        pipes,
        placement_groups,
        quotas,
        reservations,
        scheduled_actions,
        schedules,
        secrets,
        security_groups,
        serializing,
        service_scaling,
        stack_outputs,
        stacks,
        targets,
        tasks,
        warm_pools,
    )

__all__ = ["RESOURCES", "install"]

RESOURCES = (
    alarms,
    autoscaling_resources,
    batch_resources,
    bootstrap_resources,
    cloud_map,
    ecs_resources,
    executions,
    file_systems,
    functions,
    image_repositories,
    lifecycle_hooks,
    load_balancers,
    messages,
    pipes,
    placement_groups,
    reservations,
    scheduled_actions,
    schedules,
    secrets,
    security_groups,
    service_scaling,
    warm_pools,
    cloudwatch_resources,
)
"""The modules whose resource types exist from the moment they are imported."""


PARTS = (
    autoscaling,
    batch,
    cloud_trail,
    cloudformation,
    ecs,
    ecs_responses,
    event_targets,
    executions,
    images,
    lifecycle_hooks,
    permissions,
    placement_groups,
    quotas,
    reservations,
    serializing,
    stack_outputs,
    stacks,
    targets,
    tasks,
    warm_pools,
)
"""The modules that put something in the place of moto's own."""


def install() -> None:
    """Put the emulator in the place of moto's own models; before moto answers its first request."""
    for part in PARTS:
        part.install()
    # Moto lists the methods of a class at each request, which takes a sixth of its time.
    vars(responses)[method_names_from_class.__name__] = functools.cache(method_names_from_class)
    vars(responses)[camelcase_to_underscores.__name__] = functools.cache(camelcase_to_underscores)
    # It draws 52 letters for the id of each request, an eighth of a call. All have one: nobody asks AWS about them.
    vars(responses)[gen_amzn_requestid_long.__name__] = _request_id
    # It asks boto for the regions of a service each time that an account gets a model of it.
    AccountSpecificBackend._generate_regions = _generate_regions  # type: ignore[assignment,method-assign]
    # It compares the ids of all models at each look at one; none is the copy of another.
    BackendDict.__eq__ = object.__eq__  # type: ignore[method-assign]
    # It makes a key for each subscription, each certificate and each key of KMS, which takes 50 ms; one is enough.
    vars(rsa)["generate_private_key"] = functools.cache(rsa.generate_private_key)


_regions_of_moto = AccountSpecificBackend._generate_regions.__wrapped__


def _generate_regions(_: object, service: str) -> list[str]:
    """Asks once for all accounts; moto's own cache has an entry for each backend."""
    return _regions(service)


@functools.cache
def _regions(service: str) -> list[str]:
    regions: list[str] = _regions_of_moto(None, service)
    return regions


def _request_id(headers: dict[str, str]) -> str:
    return headers.setdefault("x-amzn-requestid", "of-the-emulator")
