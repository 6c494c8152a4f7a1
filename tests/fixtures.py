"""What every test of a construct needs: a fresh app, and its template as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from gpu_constructs.facts import catalogue
from tests.examples import times
from tests.synthesis import Ground, Landlord, Site, Tenant, app_in

# A busy machine fails no test. Of what is generated, each run tries a few examples.
hypothesis.settings.register_profile("untimed", deadline=None, max_examples=times(15))
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def forget_declared_types(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A test begins without declared types, and a call forgets those that it has declared."""

    def forget() -> None:
        monkeypatch.setattr(catalogue, "_OF_THE_PROCESS", {})

    forget()
    return forget


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(app_in(tmp_path))


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One for all tests of a module that read the same template: it is built once and synthesized once."""
    return Site(app_in(tmp_path_factory.mktemp("shared")))


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cloud assembly of the reference stacks."""
    from tests.stacks.told import tell  # noqa: PLC0415 - cdk-nag, which few tests need

    folder = tmp_path_factory.mktemp("told")
    tell(folder)
    return folder


@pytest.fixture(scope="module")
def landlord(tmp_path_factory: pytest.TempPathFactory) -> Landlord:
    """Whose hosts the tenants of a module share."""
    return Landlord(app_in(tmp_path_factory.mktemp("landlord")))


@pytest.fixture
def tenant(landlord: Landlord) -> Iterator[Tenant]:
    """A stack of its own with task definitions on shared hosts, in a third of the time of a site of its own."""
    yield Tenant(landlord, "Tenant")
    landlord.app.node.try_remove_child("Tenant")


@pytest.fixture(scope="module")
def _ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(app_in(tmp_path_factory.mktemp("ground")))


@pytest.fixture
def ground(_ground: Ground) -> Iterator[Ground]:
    """A cluster of the module, on which the services of a test stand until its end; they are not synthesized."""
    yield _ground
    _ground.sweep()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One for all cases of a module that are refused and leave nothing behind."""
    return Site(app_in(tmp_path_factory.mktemp("untouched")))


@pytest.fixture
def recommended_flags(tmp_path: Path) -> Site:
    """The same with every feature flag that `cdk init` sets today."""
    return Site(app_in(tmp_path, Site.recommended_context()))
