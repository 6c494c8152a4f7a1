"""What the emulator changes so that moto takes less time says the same as moto's own, or is gone after the import."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from botocore.loaders import JSONFileLoader, Loader
from botocore.model import Shape
from ecs_emulator.loading import files_read_once
from ecs_emulator.local import local
from moto.core.serialize import AttributePickerContext, ResponseSerializer, XFormedAttributePicker

from tests.e2e.cdk_cli import ROOT
from tests.e2e.templates import cluster_template

IMPORTED = """
from botocore.loaders import JSONFileLoader
before = JSONFileLoader.load_file
import ecs_emulator.local, ecs_emulator.server
assert JSONFileLoader.load_file is before
from openapi_spec_validator import validate
assert vars(ecs_emulator.local.get_backend("apigateway").backend)["import_rest_api"].__globals__["validate"] is validate
"""


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # some are made at each look


def test_an_import_leaves_nothing_in_other_packages() -> None:
    subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, check=True)


def test_files_of_botocore_are_read_once_for_as_long_as_moto_is_imported() -> None:
    own = JSONFileLoader.load_file
    with files_read_once():
        assert Loader().load_data("endpoints") is Loader().load_data("endpoints")
    assert JSONFileLoader.load_file is own
    assert Loader().load_data("endpoints") is not Loader().load_data("endpoints")


def test_values_of_answers_are_those_that_moto_finds() -> None:
    asked, different = 0, []
    with local() as cloud:
        ours = ResponseSerializer.get_value

        def both(self: ResponseSerializer, value: Any, key: str, shape: Shape) -> Any:
            nonlocal asked
            asked += 1
            path = ".".join(self.path)
            context = AttributePickerContext(value, key, shape, self.operation_model, self.service_model, path)
            found, of_moto = ours(self, value, key, shape), self._value_picker(context)
            if len({_ADDRESS.sub("", repr(each)) for each in (found, of_moto)}) > 1:
                different.append((context, found))
            return found

        with patch.object(ResponseSerializer, "get_value", both):
            stack = cloud.deploy(cluster_template())
            cloud.inventory()
            cloud.destroy(stack)
    assert asked > 500
    assert different == []


class Service:
    """Its name is not that of its cluster."""

    name = "inference"


class Cluster(Service):
    """Moto finds its ``clusterName`` as ``name`` too."""


def test_each_class_has_its_own_names_for_the_same_part_of_an_answer() -> None:
    shape, picker = Shape("String", {"type": "string"}), XFormedAttributePicker()
    answer: Any = SimpleNamespace(_value_picker=picker, operation_model=None, service_model=None, path=[])
    with local():
        found = [ResponseSerializer.get_value(answer, of(), "clusterName", shape) for of in (Service, Cluster)]
    assert found == [None, "inference"]
