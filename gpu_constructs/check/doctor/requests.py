"""Requests for GPUs, and numbers, in forms that Amazon ECS and AWS Batch do not take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial

from gpu_constructs.check.doctor.proposals import Proposal, below, member
from gpu_constructs.errors import shown
from gpu_constructs.fleet.keys import GPU_WORDS, plain
from gpu_constructs.rules.finding import and_list
from gpu_constructs.template.documents.edits import TextEdits
from gpu_constructs.template.documents.node import Node, Path

_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_NEEDS = "ResourceRequirements"
_KEYS = frozenset({"type", "value", "sharingstrategy"})
_NUMBER = re.compile("[0-9]{1,9}")
_COUNTS = ("value", "count", "amount", "number", "quantity", "limits")

# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html and, for jobs,
# https://docs.aws.amazon.com/batch/latest/APIReference/API_ContainerProperties.html
_NUMBERS = frozenset(
    {"containerport", "cpu", "hostport", "memory", "memoryreservation", "starttimeout", "stoptimeout", "vcpus"}
)
_TAKEN = {bool: "true or false", int: "a number", list: "a list", str: "a text"}
_SWITCHES = frozenset(
    {"disablenetworking", "essential", "interactive", "privileged", "pseudoterminal", "readonlyrootfilesystem"}
)


def containers(data: Node) -> Iterator[tuple[Path, dict[str, Node]]]:
    """The containers in a file: of task definitions, and of jobs."""
    for path, node in below(data):
        name = str(path[-1]).lower() if path else "containerdefinitions"
        if name == "containerproperties" and isinstance(node, dict):
            yield path, node
        items = node if name == "containerdefinitions" and isinstance(node, list) else ()
        yield from (((*path, number), each) for number, each in enumerate(items) if isinstance(each, dict))


def misformed(file: str, data: Node) -> Iterator[Proposal]:
    """What ECS does not read: other keys for GPUs, an object in place of a list, texts in place of numbers."""
    is_request = not (isinstance(data, dict) and "Resources" in data)
    for path, container in containers(data):
        if (found := _request(file, path, container)) is not None:
            yield found
        yield from _values(file, path, container, is_request=is_request, is_right=found is None)
    for key, value in map(partial(member, data), ("cpu", "memory") if is_request else ()):
        if type(value) is int:
            yield _other(file, (key,), value, str(value))
    key, value = member(data, "requiresCompatibilities") if is_request else ("", None)
    if isinstance(value, str) and value:
        yield _other(file, (key,), value, [value])


def _request(file: str, path: Path, container: dict[str, Node]) -> Proposal | None:
    words = [each for each in container if plain(each) in GPU_WORDS]
    needs, asked = member(container, _NEEDS)
    entries = asked if isinstance(asked, list) else [asked] if needs else []
    odd = [each for each in entries if _is_odd(each)]
    is_wrong = words or odd or (needs and not isinstance(asked, list))
    is_open = any(map(_is_function, (asked, *entries, *(container[word] for word in words))))
    of_gpus = [each for each in entries if "gpu" in str(member(each, "type")[1] or "gpu").lower()]
    if (
        not is_wrong
        or is_open
        or any(each not in of_gpus for each in odd)
        or not all(container[word] for word in words)
    ):
        return None  # in the last case it asks for none
    name, kind, value = _spelled(is_pascal=any(each[:1].isupper() for each in container))
    number = next((each for each in map(_count, (*of_gpus, *(container[word] for word in words))) if each), "1")
    right = [each for each in entries if each not in odd and (member(each, "type")[1] != "GPU" or _is_share(each))]
    right += [] if any(map(_is_share, right)) else [{kind: "GPU", value: number}]

    def edit(text: TextEdits) -> None:
        if not needs:
            text.rename((*path, words[0]), name)
        text.put((*path, needs or name), right)
        for word in words if needs else words[1:]:
            text.remove((*path, word))

    said = and_list([*words, *([needs] if needs else [])])
    message = f"container {_named(container)} asks for GPUs by {said}, in a form that ECS does not read"
    change, here = f"{name}: {json.dumps(right)}", (*path, needs or words[0])
    return Proposal(file, here, message, change, edit, "GPU020", property_name=_NEEDS, is_sure=True)


def _spelled(*, is_pascal: bool) -> tuple[str, str, str]:
    return (_NEEDS, "Type", "Value") if is_pascal else (f"r{_NEEDS[1:]}", "type", "value")


def _is_function(node: Node) -> bool:
    return isinstance(node, dict) and any(each == "Ref" or each.startswith("Fn::") for each in node)


def _is_share(entry: Node) -> bool:
    return bool(member(entry, "sharingStrategy")[0])


def _is_odd(entry: Node) -> bool:
    """Whether an entry has other keys than those of the API, or is no object; what a function gives is not known."""
    return not isinstance(entry, dict) or not (_is_function(entry) or all(each.lower() in _KEYS for each in entry))


def _count(entry: Node) -> str:
    """How many GPUs an entry, or the value of a key, asks for."""
    held = next(filter(None, (member(entry, each)[1] for each in _COUNTS)), "") if isinstance(entry, dict) else entry
    return str(held).lstrip("0") if re.fullmatch("0*[1-9][0-9]?", str(held)) else ""


def _values(
    file: str, path: Path, container: dict[str, Node], *, is_request: bool, is_right: bool
) -> Iterator[Proposal]:
    """Single values: texts and numbers in place of each other, which the AWS CLI and the SDKs refuse, and a word."""
    for here, value in below(container, path):
        above, name = (str(here[len(path)]).lower(), str(here[-1]).lower()) if here[len(path) :] else ("", "")
        is_entry, is_number = above == _NEEDS.lower() and is_right, isinstance(value, (int, float))
        if is_entry and name == "type" and isinstance(value, str) and value != "GPU" and value.upper() == "GPU":
            yield _other(file, here, value, "GPU")
        elif is_request and name == "value" and (is_entry or above == "environment") and is_number:
            yield _other(file, here, value, str(value).lower() if isinstance(value, bool) else str(value))
        elif is_request and name in _NUMBERS and isinstance(value, str) and _NUMBER.fullmatch(value):
            is_own = len(here) == len(path) + 1 or above == "portmappings"
            yield from [_other(file, here, value, int(value))] if is_own else []
        elif is_request and len(here) == len(path) + 1 and name in _SWITCHES and value in ("true", "false"):
            yield _other(file, here, value, value == "true")


def _other(file: str, path: Path, old: Node, new: str | int | list[Node]) -> Proposal:
    was, now = json.dumps(old), json.dumps(new)
    takes = f"the API takes {_TAKEN[type(new)]}"
    message = f"{path[-1]} {was}: {f'it is written {new}' if new == 'GPU' else takes}"
    edit, rule = partial(TextEdits.put, path=path, value=new), "GPU020" if new == "GPU" else ""
    return Proposal(file, path, message, f"{path[-1]} {now}", edit, rule, is_sure=True)


def _named(container: dict[str, Node]) -> str:
    return shown(str(member(container, "name")[1]))


def without_variable(file: str, path: Path, container: dict[str, Node]) -> Proposal | None:
    """A request for one GPU in the place of the variable by which a container saw all GPUs of its host."""
    key, variables = member(container, "environment")
    items = variables if isinstance(variables, list) else []
    found = next((number for number, each in enumerate(items) if member(each, "name")[1] == _VISIBLE), None)
    if found is None:
        return None
    name, kind, value = _spelled(is_pascal=key[0].isupper())
    has_request = bool(member(container, _NEEDS)[0])
    share = '{"SharingStrategy": {"NvidiaMps": {"Memory": MiB}}} for each container that shares a GPU'
    instead = f'{name}: [{{"{kind}": "GPU", "{value}": "1"}}] instead of it, or with {share}'

    def edit(text: TextEdits) -> None:
        if not has_request:
            text.add(path, name, [{kind: "GPU", value: "1"}])
        text.remove((*path, key, found))

    said, here = f"container {_named(container)} sets {_VISIBLE} and asks for", (*path, key, found)
    if has_request:
        message = f"{said} GPUs: the ECS agent overwrites it"
        return Proposal(file, here, message, f"leave {_VISIBLE} out", edit, "GPU037")
    message = f"{said} no GPU: it sees some only where NVIDIA is Docker's default runtime, and ECS counts none of them"
    return Proposal(file, here, message, instead, edit, "GPU025", property_name=_NEEDS)
