"""The emulator takes its place in moto."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from botocore.model import Shape
from cryptography.hazmat.primitives.asymmetric import rsa
from moto.core import responses, serialize
from moto.core.base_backend import BackendDict
from moto.core.constants import MISSING
from moto.core.utils import camelcase_to_underscores, get_value, method_names_from_class

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
    # It asks anew, for each value of an answer, by which names its models may have it: another sixth.
    serialize.ResponseSerializer.get_value = _get_value_with_known_names(  # type: ignore[method-assign]
        serialize.ResponseSerializer.get_value
    )
    # It compares the ids of all models at each look at one; none is the copy of another.
    BackendDict.__eq__ = object.__eq__  # type: ignore[method-assign]
    # It makes a key for each subscription, each certificate and each key of KMS, which takes 50 ms; one is enough.
    vars(rsa)["generate_private_key"] = functools.cache(rsa.generate_private_key)


def _get_value_with_known_names(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """The value of a part of an answer, as `get_value` and the picker of attributes of moto 5.2.5 find it.

    Here the names under which a model may have it are kept: they follow from the class of the model, and from what the
    answer has there.
    """
    known: dict[tuple[object, ...], tuple[str, ...]] = {}

    @functools.wraps(theirs)
    def value_of(self: serialize.ResponseSerializer, value: Any, key: str, shape: Shape) -> Any:
        picker = self._value_picker
        if not isinstance(picker, serialize.XFormedAttributePicker):
            return theirs(self, value, key, shape)
        names = known.get(of := (type(value), key, shape))
        if names is None:
            service = self.operation_model.service_model
            context = serialize.AttributePickerContext(value, key, shape, self.operation_model, service)
            names = known[of] = tuple(dict.fromkeys(picker.get_possible_keys(context)))
        for name in names:
            found = get_value(value, name, MISSING)
            if found is not MISSING:
                break
        else:
            found = None
        if picker.response_transformers:
            path = f"{'.'.join(self.path)}.{key}"
            ends = (each for each in picker.response_transformers if path.endswith(each))
            return next((picker.response_transformers[end](found) for end in ends), found)
        return found

    return value_of
