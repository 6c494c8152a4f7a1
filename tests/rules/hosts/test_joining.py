"""Hosts that cannot register with their role."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import Severity
from gpu_constructs.rules.hosts.joining import has_credentials
from tests.rules.given import GPU_TASK, a_pool, only, running_on

_ALONE = a_pool(has_provider=False)
_WITHOUT_ROLE = replace(_ALONE, details=replace(_ALONE.details, names_profile=False))


@pytest.mark.parametrize(
    ("fleet", "severity"),
    [
        (Fleet(pools=(_WITHOUT_ROLE,)), Severity.WARNING),  # a group with an ECS image for something else
        (Fleet(pools=(_WITHOUT_ROLE,), tasks=(GPU_TASK,)), Severity.ERROR),
        (Fleet(pools=(replace(_WITHOUT_ROLE, has_provider=True),)), Severity.ERROR),
        (running_on(_WITHOUT_ROLE), Severity.ERROR),
    ],
)
def test_hosts_without_a_role_are_an_error_where_the_files_use_ecs(fleet: Fleet, severity: Severity) -> None:
    assert only(has_credentials, fleet).severity is severity
