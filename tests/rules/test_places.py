"""A finding is at the line that has to be changed: where the corrected example of its rule differs."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.template.documents.node import Node, Path
from tests.reports import examples, of_wrong

_PAIR = "two things do not go together, and the example changes the other one"
_TASK_OR_HOSTS = "the finding is at what the task asks for, and the example changes the hosts"

ELSEWHERE = {
    "GPU298": "the listener lacks an action, and the finding is at the service that needs one",
    "GPU004": _PAIR,
    "GPU030": _TASK_OR_HOSTS,
    "GPU032": _TASK_OR_HOSTS,
    "GPU033": _TASK_OR_HOSTS,
    "GPU060": _TASK_OR_HOSTS,
    "GPU061": _TASK_OR_HOSTS,
    "GPU062": _TASK_OR_HOSTS,
    "GPU064": _TASK_OR_HOSTS,
    "GPU085": "GPUs of the hosts stay idle: the finding is at the hosts, the example changes the task",
    "GPU097": _PAIR,
    "GPU117": _PAIR,
    "GPU165": "the example adds a scheduled action, which is a resource of its own",
    "GPU190": "the example changes the name of the role that is passed",
    "GPU195": "the example gives the association a cluster of its own",
    "GPU203": "the strategy of the deployment or the room may be changed",
    "GPU206": "the example changes a rule of the security group, which has several",
    "GPU217": "the strategy names a provider, and the example adds the association",
    "GPU208": "the task names the image, and the example adds an endpoint",
    "GPU228": "the example adds endpoints, which are resources of their own",
    "GPU396": "the launch template names the key, and the example changes its policy",
    "GPU391": "the group is in the block that is over, whose times are those of a scheduled action",
    "GPU229": "the task is what was not judged, and the example gives it hosts of the file",
    "GPU234": _TASK_OR_HOSTS,
    "GPU235": _TASK_OR_HOSTS,
    "GPU254": "the example adds a rule of the security group, which is a resource of its own",
    "GPU257": "the task names the role, and the example changes what it allows",
    "GPU275": "the role is named here, and the example changes whom it trusts",
    "GPU277": "the launch template names the group, and the example changes a rule of it",
    "GPU342": "the finding is at the nodes that wait, and the example gives their job a time limit",
}
"""Rules whose example changes something else, each with the reason."""

_LEAST = 3  # steps to a section of a resource: Resources, its name, Properties


def differences(one: Node, other: Node, path: Path = ()) -> Iterator[tuple[Path, bool]]:
    """Every value that differs, and whether only the second one has it."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key in one and key in other:
                yield from differences(one[key], other[key], (*path, key))
            else:
                yield (*path, key), key in other
    elif isinstance(one, list) and isinstance(other, list):
        for index in range(max(len(one), len(other))):
            if index < min(len(one), len(other)):
                yield from differences(one[index], other[index], (*path, index))
            else:
                yield (*path, index), index < len(other)
    elif one != other:
        yield path, False


def leads_to(place: Path, changed: Path, *, is_new: bool) -> bool:
    """Whether a place is a changed value, in it, or the property or section in which it is."""
    if place[: len(changed)] == changed:
        return True
    least = min(_LEAST - 1, len(changed) - 1) if is_new else _LEAST + 1
    return changed[: len(place)] == place and len(place) >= least


def places(rule: str) -> list[tuple[Path, bool]]:
    """Where its example has findings, and whether the corrected one differs there."""
    example = examples()[rule]
    changed = list(differences(example.template(example.wrong), example.template(example.right)))
    return [
        (
            each.origin.path,
            each.origin.line is not None
            and any(leads_to(each.origin.path, path, is_new=is_new) for path, is_new in changed),
        )
        for each in of_wrong(rule).findings
        if each.rule == rule and each.origin is not None
    ]


def test_a_finding_is_where_the_corrected_example_differs() -> None:
    found = {rule: places(rule) for rule in examples()}
    assert all(found.values())
    elsewhere = {rule: [path for path, is_right in each if not is_right] for rule, each in found.items()}
    assert elsewhere == {rule: [each[0][0]] if rule in ELSEWHERE else [] for rule, each in found.items()}
