"""The mistakes of a page about GPUs on ECS, in one template: each is found and said in words."""

from __future__ import annotations

from pathlib import Path

from gpu_constructs.check.report import check_files

_FILE = Path(__file__).with_name("wrong_advice.json")
_SAID = {
    "the type 'gpu' does not exist, it is written GPU": "GPU020",
    "a resource requirement has no key Count (Value says how many)": "GPU020",
    "a resource requirement has no key Capabilities (the environment variable NVIDIA_DRIVER_CAPABILITIES": "GPU020",
    "image al2023 has no driver for the T4 of g4dn.xlarge: no task gets it, unless the user data installs": "GPU099",
}


def test_each_mistake_is_said_and_nothing_else() -> None:
    found = [each for each in check_files([_FILE]).findings if each.severity != "info"]
    assert {each.rule for each in found} == set(_SAID.values())
    for words, rule in _SAID.items():
        assert any(each.rule == rule and words in each.message for each in found), words
    # The driver that is installed by hand needs an image that has one.
    assert "al2023-gpu" in next(each.fix for each in found if each.rule == "GPU099")
