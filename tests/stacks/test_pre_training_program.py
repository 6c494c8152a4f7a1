"""What each process of the pre-training does at its checkpoints, on a stand-in for torch."""

from __future__ import annotations

import io
import json
import sys
from unittest.mock import MagicMock

import boto3
import pytest
from moto import mock_aws

from stacks.pre_training_work import PROGRAM


def torch_that_keeps_steps() -> MagicMock:
    torch = MagicMock()
    torch.distributed.get_rank.return_value = 0
    torch.save = lambda state, file: file.write(json.dumps({"steps": state["steps"]}).encode())
    torch.load = lambda file, map_location: {**json.load(file), "model": map_location, "optimizer": map_location}
    return torch


def steps_of_a_run(monkeypatch: pytest.MonkeyPatch) -> int:
    torch = torch_that_keeps_steps()
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
    exec(PROGRAM, {})  # noqa: S102 - it is the program of the container
    return int(torch.rand.call_count)


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
        s3.put_object(Bucket="kept", Key="Pretrain/last.pt", Body=json.dumps({"steps": 700}))
        assert steps_of_a_run(monkeypatch) == 300
        last = s3.get_object(Bucket="kept", Key="Pretrain/last.pt")["Body"].read()
    assert json.load(io.BytesIO(last)) == {"steps": 1000}
