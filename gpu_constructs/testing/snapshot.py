"""A template as a snapshot keeps it: what changes by itself is left out, what somebody should read is all there."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts import IMAGES
from gpu_constructs.template import Inputs
from gpu_constructs.testing.reading import HasTemplate, at_hand

if TYPE_CHECKING:
    from aws_cdk import Stack, Stage


# What CDK adds to a template besides the constructs of the app, by section.
_ADDED = {
    "Conditions": {"CDKMetadataAvailable"},
    "Parameters": {"BootstrapVersion"},
    "Resources": {"CDKMetadata"},
    "Rules": {"CheckBootstrapVersion"},
}

# Metadata that shows where an asset is on the disk of the synth, and repeats the logical id.
_CDK_METADATA = ("aws:cdk:", "aws:asset:")

# `name()` of a token that a snapshot has in the place of what changes. None of them matches a pattern below.
_ASSET, _ACCOUNT, _RELEASE, _AMI = "<asset>", "<account>", "<release>", "ami-<id>"

# SHA-256 in hexadecimal, as CDK names assets; the digest by which somebody pinned a container image stays.
_HASH = re.compile(r"(?<![0-9a-f])(?<!sha256:)[0-9a-f]{64}(?![0-9a-f])")
_ACCOUNT_ID = re.compile(r"(?<![0-9A-Za-z])[0-9]{12}(?![0-9A-Za-z])")
_AMI_ID = re.compile(r"(?<![0-9A-Za-z])ami-[0-9a-f]{8,17}(?![0-9A-Za-z])")

# `CurrentVersion` of a function and `Deployment` of an API end in a hash of the code (aws-cdk-lib,
# aws-lambda/lib/function-hash.ts and aws-apigateway/lib/deployment.ts): a new asset gives them new ids.
_CONTENT_SUFFIX = re.compile(r"(?<=[0-9A-F]{8})(?:[0-9a-f]{32})+$")

# A longer word in the command of a container is a program, whose text is reviewed where it was written.
_LONGEST_WORD = 4096

_WORD = re.compile(r"[0-9A-Za-z]+")


def normalized(template: HasTemplate | Stack | Stage | Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """A template without what changes from one synth, account or release to the next, ready for a snapshot.

    Asset hashes are ``<asset>``, account ids ``<account>``, releases of machine images ``<release>``, AMI ids
    ``ami-<id>``; CDK's metadata and the check of the bootstrap version are left out, and keys are in order. A program
    in the command of a container, such as that of `GpuMonitoring`, is its length and its digest. What is left is JSON,
    does not change if it is normalized again, and is not a template to deploy::

        assert normalized(Template.from_stack(stack)) == snapshot(extension_class=JSONSnapshotExtension)

    Args:
        template: What `gpus` takes, except a fleet.

    Returns:
        The template; of an app, a stage or a directory, the templates of all stacks by their names.

    Raises:
        InvalidValueError: It is none of these, or nested too deeply.
        UnreadableError: It cannot be read.
    """
    found, _ = at_hand(template, "template")
    if isinstance(found, Mapping):
        return _normalized(found)
    stacks = Inputs([found]).stacks()
    if not Path(found).is_dir():
        return _normalized(stacks.documents[str(found)].object())
    return {each.name: _normalized(stacks.documents[each.file].object()) for each in stacks.evaluators}


def _normalized(data: Mapping[str, Any]) -> dict[str, Any]:
    kept = _without_additions(data)
    renamed = _new_ids(_ids(kept))

    def rewritten(text: str) -> str:
        named = _stable_release(_WORD.sub(lambda word: renamed.get(word[0], word[0]), text))
        return _AMI_ID.sub(_AMI, _ACCOUNT_ID.sub(_ACCOUNT, _HASH.sub(_ASSET, named)))

    try:
        result: dict[str, Any] = _rewritten(kept, rewritten)
    except (RecursionError, ValueError):  # ValueError: a key that is a number of thousands of digits
        raise InvalidValueError(
            "it is nested too deeply, or a part of itself", argument="template", allowed="a template"
        ) from None
    return result


def _without_additions(template: Mapping[str, Any]) -> dict[str, Any]:
    kept = {}
    for section, content in template.items():
        if section not in _ADDED or not isinstance(content, Mapping):
            kept[section] = content
            continue
        left = {key: _without_metadata(value) for key, value in content.items() if key not in _ADDED[section]}
        if left or not content:
            kept[section] = left
    return kept


def _without_metadata(resource: Any) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(resource, Mapping) or not isinstance(resource.get("Metadata"), Mapping):
        return resource
    left = {key: value for key, value in resource["Metadata"].items() if not str(key).startswith(_CDK_METADATA)}
    return {key: left if key == "Metadata" else value for key, value in resource.items() if key != "Metadata" or left}


def _ids(template: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section in ("Parameters", "Conditions", "Resources", "Outputs", "Rules", "Mappings"):
        content = template.get(section)
        if isinstance(content, Mapping):
            yield from ((key, value) for key, value in content.items() if isinstance(key, str))


def _new_ids(ids: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Logical ids that are written otherwise; no two become the same."""
    wanted = {old: _wanted(old, value) for old, value in ids}
    taken = {old for old, new in wanted.items() if old == new}.union(*_ADDED.values())
    renamed = {}
    for old, new in wanted.items():
        if old != new:
            renamed[old] = _free(new, taken)
            taken.add(renamed[old])
    return renamed


def _free(name: str, taken: Container[str]) -> str:
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def _wanted(logical_id: str, value: Any) -> str:  # noqa: ANN401 - JSON
    written, before = logical_id, None
    while written != before:
        before = written
        written = _CONTENT_SUFFIX.sub("", _HASH.sub(_ASSET, written))
    default = value.get("Default") if isinstance(value, Mapping) else None
    if isinstance(default, str):
        # CDK names the parameter of an SSM look-up after the whole path, its release among it.
        path, named = _letters(default), _letters(_stable_release(default))
        if path and path != named and path in written:
            written = written.replace(path, named)
    return written


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text))


def _stable_release(text: str) -> str:
    if "/aws/service/" not in text:
        return text
    for pattern in _release_patterns():
        text = pattern.sub(rf"\g<1>{_RELEASE}\g<2>", text)
    return text


@cache
def _release_patterns() -> tuple[re.Pattern[str], ...]:
    """What matches the public parameter of each image with any release but the moving one."""
    found = {}
    for image in IMAGES:
        before, after = image.pinned_ssm_parameter.split("{release}")
        found[before] = re.compile(
            rf"({re.escape(before)})(?!recommended/|latest/)[0-9A-Za-z._-]*[0-9][0-9A-Za-z._-]*({re.escape(after)})"
        )
    return tuple(found.values())


def _rewritten(value: Any, rewritten: Callable[[str], str]) -> Any:  # noqa: ANN401 - JSON in, JSON out
    match value:
        case str():
            return rewritten(value)
        case bool() | int() | float() | None:
            return value
        case Mapping():
            return _in_order(((rewritten(str(key)), each) for key, each in value.items()), rewritten)
        case list() | tuple():
            return [_rewritten(each, rewritten) for each in value]
        case dt.date():
            return rewritten(value.isoformat())
        case _:
            return rewritten(str(value))


def _digest(word: Any) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(word, str) or len(word) <= _LONGEST_WORD:
        return word
    found = hashlib.sha256(word.encode(errors="surrogatepass")).hexdigest()
    return f"<program of {word.count(chr(10)) + 1} lines, sha256:{found}>"


def _in_order(items: Iterable[tuple[str, Any]], rewritten: Callable[[str], str]) -> dict[str, Any]:
    """The items by key; keys that only now are the same are numbered, so that none is lost."""
    found: dict[str, Any] = {}
    for key, value in items:
        written = _rewritten(value, rewritten)
        if key == "Command" and isinstance(written, list):
            written = [*map(_digest, written)]
        found[_free(key, found)] = written
    return dict(sorted(found.items()))
