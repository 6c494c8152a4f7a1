"""What the program of the recommender makes of its data set."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from types import ModuleType

import boto3
import pytest
from moto import mock_aws

from tests.synthesis import ROOT


def program() -> ModuleType:
    path = ROOT / "stacks" / "recommender_image" / "train.py"
    spec = importlib.util.spec_from_file_location("recommender_program", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


@pytest.fixture(scope="module")
def shop() -> Iterator[Callable[[str], str]]:
    """Trains on a text alone, and returns the result."""
    places = {"DATA": "data/", "RESULTS": "results/", "JOB_CHECKPOINTS": "checkpoints/one/"}
    given = {"JOB_NAME": "one", "AWS_DEFAULT_REGION": "us-east-1"}

    with pytest.MonkeyPatch.context() as environment, mock_aws():
        for name, value in {**{name: f"s3://shop/{prefix}" for name, prefix in places.items()}, **given}.items():
            environment.setenv(name, value)
        client, main = boto3.client("s3"), program().main
        client.create_bucket(Bucket="shop")

        def trained_on(text: str) -> str:
            for each in client.list_objects_v2(Bucket="shop").get("Contents", ()):
                client.delete_object(Bucket="shop", Key=each["Key"])
            client.put_object(Bucket="shop", Key="data/a.csv", Body=text)
            main()
            return str(client.get_object(Bucket="shop", Key="results/one.csv")["Body"].read().decode())

        yield trained_on


def test_a_blank_line_is_passed_over(shop: Callable[[str], str]) -> None:
    assert "bob,map" in shop("ann,tent\n\nann,map\nbob,tent\n").splitlines()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s3://shop/data/ has no lines of customer,product"),
        ("ann", "s3://shop/data/a.csv: expects lines of customer,product, got 'ann'"),
        ("customer,product,day\nann,tent,1", "got 'customer,product,day'"),
    ],
)
def test_other_data_end_it_with_a_message(shop: Callable[[str], str], text: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        shop(text)
