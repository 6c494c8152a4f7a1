"""What each process of the pre-training does at its checkpoints, on a stand-in for torch."""

from __future__ import annotations

import io
import json
import sys

import boto3
import pytest
from moto import mock_aws

from stacks.pre_training_work import PROGRAM


class Torch:
    """Whatever is asked of it is itself again, apart from what counts steps and keeps them."""

    def __init__(self) -> None:
        self.steps = 0

    def __getattr__(self, name: str) -> Torch:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Torch:
        return self

    def __sub__(self, _: object) -> Torch:
        return self

    def get_rank(self) -> int:
        return 0

    def rand(self, *_: object, **__: object) -> Torch:
        self.steps += 1
        return self

    def save(self, state: dict[str, object], file: io.BytesIO) -> None:
        file.write(json.dumps({"steps": state["steps"]}).encode())

    def load(self, file: io.BytesIO, map_location: str) -> dict[str, object]:
        return {**json.load(file), "model": map_location, "optimizer": map_location}


def steps_of_a_run(monkeypatch: pytest.MonkeyPatch) -> int:
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch)
    exec(PROGRAM, {})  # noqa: S102 - it is the program of the container
    return torch.steps


def test_it_goes_on_from_its_last_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "LOCAL_RANK": "0",
        "JOB_CHECKPOINTS": "s3://kept/Pretrain/",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="kept")
        assert steps_of_a_run(monkeypatch) == 1000
        s3.put_object(Bucket="kept", Key="Pretrain/last.pt", Body=json.dumps({"steps": 900}))
        assert steps_of_a_run(monkeypatch) == 100
        last = s3.get_object(Bucket="kept", Key="Pretrain/last.pt")["Body"].read()
    assert json.load(io.BytesIO(last)) == {"steps": 1000}
