"""Tokens are told from values before anything is compared."""

from __future__ import annotations

import aws_cdk as cdk
import pytest

from gpu_constructs.cdk.tokens import is_token
from tests.synthesis import Site


def test_what_cdk_resolves_later_is_a_token(site: Site) -> None:
    parameter = cdk.CfnParameter(site.stack, "P", type="Number")
    assert is_token(parameter.value_as_string)
    assert is_token(parameter.value_as_number)
    assert is_token(f"prefix-{parameter.value_as_string}")
    assert is_token(cdk.Aws.REGION)
    assert is_token(cdk.CfnParameter(site.stack, "L", type="CommaDelimitedList").value_as_list[0])


def test_a_dynamic_reference_that_is_written_out_is_one() -> None:
    assert is_token("{{resolve:ssm:/my/type}}")
    assert is_token("g6.{{resolve:secretsmanager:mine:SecretString:size}}")
    assert is_token("dummy-value-for-/my/type")


@pytest.mark.parametrize(
    "value",
    [
        "g6.xlarge",
        "{{ jinja }}",
        "${Token",
        "${Token[",
        0,
        -1,
        10**300,
        -(10**300),
        -1.5e300,
        float("-inf"),
        float("nan"),
        True,
        None,
        [],
    ],
)
def test_what_a_user_writes_is_not(value: object) -> None:
    assert not is_token(value)
