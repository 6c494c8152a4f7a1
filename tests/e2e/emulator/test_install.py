"""What the emulator changes so that moto takes less time says the same as moto's own, or is gone after the import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from unittest.mock import patch

from botocore.loaders import JSONFileLoader, Loader
from botocore.model import Shape
from ecs_emulator.loading import files_read_once
from ecs_emulator.local import local
from moto.core.serialize import AttributePickerContext, XFormedAttributePicker

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


def test_an_import_leaves_nothing_in_other_packages() -> None:
    subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, check=True)


def test_files_of_botocore_are_read_once_for_as_long_as_moto_is_imported() -> None:
    own = JSONFileLoader.load_file
    with files_read_once():
        assert Loader().load_data("endpoints") is Loader().load_data("endpoints")
    assert JSONFileLoader.load_file is own
    assert Loader().load_data("endpoints") is not Loader().load_data("endpoints")


def test_names_that_are_kept_per_class_are_those_of_moto() -> None:
    asked, different = 0, []
    with local() as cloud:
        kept = XFormedAttributePicker.get_possible_keys
        own = vars(kept)["__wrapped__"]

        def both(self: XFormedAttributePicker, context: AttributePickerContext) -> Iterable[str]:
            nonlocal asked
            asked += 1
            names = tuple(kept(self, context))
            if names != tuple(dict.fromkeys(own(self, context))):
                different.append((context, names))
            return names

        with patch.object(XFormedAttributePicker, "get_possible_keys", both):
            stack = cloud.deploy(cluster_template())
            cloud.inventory()
            cloud.destroy(stack)
    assert asked > 500
    assert different == []


class Cluster:
    """Moto finds its ``clusterName`` as ``name`` too."""


def test_each_class_has_its_own_names_for_the_same_part_of_an_answer() -> None:
    shape, picker = Shape("String", {"type": "string"}), XFormedAttributePicker()
    with local():
        asked = [AttributePickerContext(of(), "clusterName", shape) for of in (str, Cluster)]
        names = [set(picker.get_possible_keys(each)) for each in asked]
    assert names == [{"clusterName", "cluster_name"}, {"clusterName", "cluster_name", "Name", "name"}]
