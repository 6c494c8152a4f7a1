"""What the tests share."""

import json
from pathlib import Path

import pytest
from aws_cdk import App


@pytest.fixture(scope="module")
def app() -> App:
    """An app with the settings of ``cdk.json``, as ``cdk synth`` gives them to it."""
    settings = json.loads((Path(__file__).parents[1] / "cdk.json").read_text(encoding="utf-8"))
    return App(context=settings["context"])
