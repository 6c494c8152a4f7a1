"""What is asked of AWS, against a local imitation of EC2 and SSM and recorded forms of the Price List."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

from gpu_constructs.account import ask
from gpu_constructs.account.ask import price_in
from gpu_constructs.account.calls import clients_of
from gpu_constructs.cli import main
from gpu_constructs.facts.image_table import IMAGES


def entry(name: object = "g6.xlarge", usd: object = "0.8048", unit: str = "Hrs", **terms: Any) -> str:
    dimension = {"unit": unit, "pricePerUnit": {"USD": usd}}
    on_demand = {"A.B": {"priceDimensions": {"A.B.C": dimension}}}
    product = {"attributes": {"instanceType": name, "regionCode": "us-east-1"}}
    return json.dumps({"product": product, "terms": terms or {"OnDemand": on_demand}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "[" * 100_000,
        "{}",
        entry(name=7),
        entry(usd="free"),
        entry(usd="nan"),
        entry(usd="0.0000000000"),
        entry(usd="-1"),
        entry(usd="1e300"),
        entry(unit="Quantity"),
        entry(Reserved={}),
        entry(OnDemand={"A": {}, "B": {}}),
    ],
)
def test_an_entry_that_is_not_a_price_an_hour_has_none(text: str) -> None:
    assert price_in(text) is None


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield monkeypatch


def with_prices(monkeypatch: pytest.MonkeyPatch, *pages: dict[str, Any]) -> None:
    """Lets the Price List answer with these pages."""
    pricing = boto3.client("pricing", region_name="us-east-1")
    stub = Stubber(pricing)
    for page in pages:
        stub.add_response("get_products", page)
    stub.activate()
    of_account = clients_of(None)
    monkeypatch.setattr(
        ask,
        "clients_of",
        lambda _: lambda service, region: pricing if service == "pricing" else of_account(service, region),
    )


def test_refresh_writes_a_catalogue_of_what_aws_answers(
    account: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = (
        {"PriceList": [entry(), "{"], "NextToken": "2"},
        {"PriceList": [entry("../x", "1"), entry("g9.xlarge", "2")]},
    )
    with_prices(account, *pages)
    account.setattr(ask, "IMAGES", [each for each in IMAGES if each.name == "al2023-gpu"])
    # A region with few types, its accelerated ones among them.
    there = INSTANCE_TYPE_OFFERINGS["region"]["me-south-1"]
    few = [each for each in there if each["InstanceType"].startswith(("c5.", "g4dn.", "inf1."))]
    account.setitem(INSTANCE_TYPE_OFFERINGS["region"], "me-south-1", few)
    assert main(["catalog", "refresh", str(tmp_path / "newer"), "--region", "me-south-1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "accelerated.json:"
    assert said[1].startswith("  the file: recorded 2026-09-29 -> ")
    assert "  me-south-1: g9.xlarge unknown -> 2.0" in said
    assert said[-1].startswith("GPU_CONSTRUCTS_CATALOG=")
    prices = json.loads((tmp_path / "newer" / "prices.json").read_text(encoding="utf-8"))["regions"]["me-south-1"]
    assert next(iter(prices.values())) == {"g6.xlarge": 0.8048, "g9.xlarge": 2.0}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["catalog", "refresh", "newer", *arguments]) == 2
    said = capsys.readouterr().err
    assert "internal error" not in said
    assert not Path("newer").exists()
    return said


def test_what_aws_refuses_is_said_with_the_call(
    account: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ec2 = boto3.client("ec2", region_name="us-east-1")
    stub = Stubber(ec2)
    stub.add_client_error("describe_regions", "UnauthorizedOperation", "You are not authorized")
    stub.add_response("describe_instance_type_offerings", {"InstanceTypeOfferings": [{"Location": "us-east-1"}]})
    stub.activate()
    account.setattr(ask, "clients_of", lambda _: lambda _service, _region: ec2)
    assert "AWS did not answer ec2:DescribeRegions" in refused(capsys)
    form = "AWS answered ec2:DescribeInstanceTypeOfferings in us-east-1 in an unknown form"
    assert form in refused(capsys, "--region", "us-east-1")


def test_without_boto3_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "gpu_constructs.account.ask")
    monkeypatch.delitem(sys.modules, "gpu_constructs.account.calls", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert "pip install 'gpu-constructs[account]'" in refused(capsys)
