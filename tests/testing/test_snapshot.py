"""A normalized template: what is left out, what stays, and that it is always the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import assertions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as assets
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs.facts import IMAGES
from gpu_constructs.testing import normalized
from tests.examples import times
from tests.synthesis import Site

HASH, OTHER_HASH = "0123456789abcdef" * 4, "fedcba9876543210" * 4
RELEASE = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
NEXT = "al2023-ami-ecs-gpu-hvm-2023.0.20261113-kernel-6.1-x86_64-ebs"
PATH = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/{}/image_id"


def value(text: Any) -> Any:
    """What becomes of a value."""
    return normalized({"Resources": {"A": {"Type": "T", "Properties": {"P": text}}}})["Resources"]["A"]["Properties"][
        "P"
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (f"{HASH}.zip", "<asset>.zip"),
        (
            f"cdk-hnb659fds-assets-123456789012-eu-west-1/{HASH}.json",
            "cdk-hnb659fds-assets-<account>-eu-west-1/<asset>.json",
        ),
        (
            {"Fn::Sub": f"${{AWS::AccountId}}.dkr.ecr.${{AWS::Region}}.${{AWS::URLSuffix}}/cdk-assets:{HASH}"},
            {"Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/cdk-assets:<asset>"},
        ),
        ("arn:aws:iam::123456789012:role/gpu", "arn:aws:iam::<account>:role/gpu"),
        ("ami-0123456789abcdef0", "ami-<id>"),
        (PATH.format(RELEASE), PATH.format("<release>")),
        (f"{{{{resolve:ssm:{PATH.format(RELEASE)}}}}}", f"{{{{resolve:ssm:{PATH.format('<release>')}}}}}"),
        (("b", "a"), ["b", "a"]),
    ],
    ids=["file asset", "bucket", "image asset", "account", "AMI", "release", "dynamic reference", "tuple"],
)
def test_what_changes_by_itself_is_a_word(written: Any, expected: Any) -> None:
    assert value(written) == expected


@pytest.mark.parametrize("image", [each for each in IMAGES if each.known_release], ids=str)
def test_the_release_of_every_image_is_a_word(image: Any) -> None:
    pinned = image.pinned_ssm_parameter
    assert value(pinned.format(release=image.known_release)) == pinned.format(release="<release>")
    assert value(image.ssm_parameter) == image.ssm_parameter


def test_a_program_in_a_command_is_its_length_and_its_digest() -> None:
    def command(*words: Any) -> Any:
        return value([{"Name": "gpus", "Command": [*words]}])[0]["Command"]

    text = f"account = 123456789012\n{'pass' * 2048}\n"
    (shown,) = command(text)
    assert re.fullmatch(r"<program of 3 lines, sha256:[0-9a-f]{64}>", shown)
    assert command(shown) == [shown]
    assert command(text.replace("123456789012", "210987654321")) == [shown]
    assert command(text.replace("account", "number")) != [shown]
    assert command("python3", "x" * 4096, {"Ref": "A"}) == ["python3", "x" * 4096, {"Ref": "A"}]
    assert value({"UserData": text}) == {"UserData": text.replace("123456789012", "<account>")}


def test_what_cdk_adds_is_left_out_with_the_sections_that_it_made() -> None:
    added = {
        "Conditions": {"CDKMetadataAvailable": {"Fn::Equals": ["a", "b"]}},
        "Parameters": {"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>"}},
        "Resources": {
            "A": {"Type": "T", "Metadata": {"aws:cdk:path": "S/A/Resource", "gpu-constructs": {"gpu_memory_mib": 1}}},
            "B": {"Type": "T", "Metadata": {"aws:asset:path": "asset.1", "aws:asset:property": "Code"}},
            "CDKMetadata": {"Type": "AWS::CDK::Metadata"},
        },
        "Rules": {"CheckBootstrapVersion": {"Assertions": []}},
    }
    assert normalized(added) == {
        "Resources": {"A": {"Metadata": {"gpu-constructs": {"gpu_memory_mib": 1}}, "Type": "T"}, "B": {"Type": "T"}}
    }


def test_a_new_release_makes_no_difference_in_the_parameter_that_cdk_names_after_it() -> None:
    def with_release(release: str) -> dict[str, Any]:
        letters = "".join(filter(str.isalnum, PATH.format(release)))
        name = f"SsmParameterValue{letters}C96584B6F00A464EAD1953AFF4B05118Parameter"
        return {
            "Parameters": {name: {"Type": "AWS::SSM::Parameter::Value<String>", "Default": PATH.format(release)}},
            "Resources": {"A": {"Type": "T", "Properties": {"ImageId": {"Ref": name}}}},
        }

    first, second = normalized(with_release(RELEASE)), normalized(with_release(NEXT))
    assert first == second
    assert first["Resources"]["A"]["Properties"]["ImageId"]["Ref"] in first["Parameters"]


def test_legacy_asset_parameters_lose_their_hash_and_are_not_confused() -> None:
    def parameters(*hashes: str) -> dict[str, Any]:
        return {
            "Parameters": {f"AssetParameters{each}S3BucketABCDEF12": {"Type": "String"} for each in hashes},
            "Resources": {
                f"R{place}": {"Type": "T", "Properties": {"B": {"Ref": f"AssetParameters{each}S3BucketABCDEF12"}}}
                for place, each in enumerate(hashes)
            },
        }

    both = normalized(parameters(HASH, OTHER_HASH))
    assert list(both["Parameters"]) == [
        "AssetParameters<asset>S3BucketABCDEF12",
        "AssetParameters<asset>S3BucketABCDEF12-2",
    ]
    assert [each["Properties"]["B"]["Ref"] for each in both["Resources"].values()] == list(both["Parameters"])
    assert both == normalized(parameters("1" * 64, "2" * 64))


def test_a_cdk_template_is_taken_as_it_is_and_new_code_makes_no_difference(site: Site, tmp_path: Any) -> None:
    file = tmp_path / "file.txt"
    file.write_text("one")
    asset = assets.Asset(site.stack, "Asset", path=str(file))
    lambda_.Function(
        site.stack,
        "Fn",
        runtime=lambda_.Runtime.PYTHON_3_13,
        handler="index.handler",
        code=lambda_.Code.from_bucket_v2(asset.bucket, asset.s3_object_key),
    )
    template = assertions.Template.from_stack(site.stack)
    done = normalized(template)
    assert asset.asset_hash in json.dumps(template.to_json())
    assert asset.asset_hash not in json.dumps(done)
    assert done == normalized(template.to_json())
    assert {"Rules", "Parameters"} & set(done) == set()


PIECES = st.sampled_from(
    (
        *(HASH, OTHER_HASH, HASH[:32], "123456789012", "ami-", "0123abcd", "ABCDEF12", "12345678", "sha256:", "-2"),
        *(
            "Task",
            "A",
            "/",
            "/aws/service/",
            PATH.format(RELEASE),
            "<asset>",
            "<release>",
            "release",
            "1.66.0",
            "image_id",
        ),
        *(
            "/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/",
            "CDKMetadata",
            "aws:cdk:",
            "ExportsOutputRef",
            "\u00e9",
            "${",
            "}",
        ),
    )
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=5).map("".join)
JSON: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
RESOURCES = st.fixed_dictionaries({"Type": TEXTS}, optional={"Properties": JSON, "Metadata": JSON, "Default": TEXTS})
SECTIONS = st.sampled_from(("Parameters", "Resources", "Outputs", "Conditions", "Rules", "Description", "Metadata"))
TEMPLATES = st.dictionaries(SECTIONS, st.dictionaries(TEXTS, RESOURCES | JSON, max_size=5) | JSON, max_size=4)


# What holds for any template is asked of one and the same: making them up takes longer than all that is asked.
@settings(max_examples=times(8))
@given(TEMPLATES)
def test_any_template_is_normalized_for_good_in_order_and_loses_only_what_cdk_adds(
    template: dict[str, Any],
) -> None:
    done = normalized(template)
    assert normalized(done) == done
    assert json.loads(json.dumps(done)) == done
    added = {"CDKMetadata", "CDKMetadataAvailable", "BootstrapVersion", "CheckBootstrapVersion"}
    for section, content in template.items():
        if isinstance(content, dict):
            kept = done.get(section, {})
            assert len(content) - len(added & set(content)) <= len(kept) <= len(content)
    assert json.dumps(done) == json.dumps(done, sort_keys=True)
