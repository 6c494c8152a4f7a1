"""A rule of a security group for another protocol than TCP lets no request of a load balancer in."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from tools.rule_examples import example_of


def closed(protocol: str, of_targets: str = "HTTP") -> bool:
    example = example_of("GPU206")
    template: Any = deepcopy(example.template(example.right))  # its parts are shared with other examples
    template["Resources"]["LetIn"]["Properties"]["IpProtocol"] = protocol
    template["Resources"]["Targets"]["Properties"]["Protocol"] = of_targets
    return "GPU206" in {each.rule for each in check_files([template]).findings}


@pytest.mark.parametrize(
    ("protocol", "of_targets", "expected"),
    [("udp", "HTTP", True), ("17", "TCP", True), ("udp", "UDP", False)],
)
def test_only_tcp_counts_for_requests_over_tcp(protocol: str, of_targets: str, expected: bool) -> None:
    assert closed(protocol, of_targets) is expected
