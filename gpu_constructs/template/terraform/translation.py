"""A plan as the template that asks CloudFormation for the same, so that one reader and one set of rules judge both.

What only the apply knows is a reference where the configuration says to what, or else unknown, never a text. What must
not be shown is unknown as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from gpu_constructs.fleet import Place
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.node import Node, Path, Position
from gpu_constructs.template.documents.sources import Source
from gpu_constructs.template.terraform.images import Images
from gpu_constructs.template.terraform.kinds import KINDS
from gpu_constructs.template.terraform.lines import Sources
from gpu_constructs.template.terraform.links import Links
from gpu_constructs.template.terraform.plan import Instance, Plan, plan_of
from gpu_constructs.template.terraform.regions import Regions
from gpu_constructs.template.terraform.words import in_terraform
from gpu_constructs.template.terraform.writer import Known, Writer, in_words

_INCOMPLETE = "Terraform::Incomplete"
"""The macro of a plan that leaves something to a later one; as it is none that is known, what is read is not all."""

_ID = re.compile(r"(?:arn:[^\s]{1,2000}|[a-z]{1,8}-[0-9a-f]{8,17})")
_ARNS = ("arn", "arn_without_revision", "id")


def source_of(document: Document, *, name: str, region: str | None) -> Source:
    """The stack that a plan or a state is.

    Raises:
        UnreadableError: If it is in a form that is not read.
    """
    plan = plan_of(document.object(), file=document.file)
    made = _Translation(plan, document)
    places = made.places()
    regions = set(places.values())
    return Source(
        name=name,
        other_name=f"{name} ({document.file})",
        document=Document(file=document.file, data=made.template(), find=made.find),
        region=(next(iter(regions)) if len(regions) == 1 else None) or region,
        in_words=lambda text, address, is_marked: in_terraform(text, made.kind_of(address), is_marked=is_marked),
        place_of=lambda address: Place(places[address]) if places.get(address) else None,
        made_at=Sources(document.file, plan).line_of,
    )


class _Translation:
    """One plan made into a template, and where each part of that stands in the plan."""

    def __init__(self, plan: Plan, document: Document) -> None:
        self._plan = plan
        self._document = document
        self._has_lines = document.find is not None and (document.line(("format_version",)) or 1) > 1
        links = Links(plan)
        self._links = links
        self._known = Known(links=links, images=Images(plan.instances.values()), by_id=_by_id(plan))
        self._written = cache(self._write)

    def kind_of(self, address: str) -> str:
        """The type of a resource of Terraform."""
        instance = self._plan.instances.get(address)
        return "" if instance is None else instance.type

    def places(self) -> Mapping[str, str | None]:
        """The region of each resource."""
        regions = Regions(self._plan, self._links)
        made = (each for each in self._plan.instances.values() if _is_made(each))
        return {each.address: regions.of(each) for each in made}

    def template(self) -> dict[str, Node]:
        """The template."""
        resources: dict[str, Node] = {
            each.address: Writer(self._known, each).resource()
            for each in self._plan.instances.values()
            if _is_made(each)
        }
        return {"Resources": resources} if self._plan.is_whole else {"Resources": resources, "Transform": _INCOMPLETE}

    def find(self, path: Path) -> Position | None:
        """The argument behind a property, and its line where the plan is not all on one."""
        address = str(path[1]) if len(path) > 1 else ""
        instance = self._plan.instances.get(address)
        if instance is None:
            return None
        of = self._arguments(address, path[2:])
        line = column = 0
        if self._has_lines and (found := self._document.position((*instance.at, *of))) is not None:
            line, column = found.line, found.column
        return Position((*path[:2], *(("Properties", *of) if of else ())), line, column)

    def _arguments(self, address: str, path: Path) -> Path:
        writer = self._written(address)
        instance = self._plan.instances[address]
        if path[:1] == ("Properties",) and path[1:2] and str(path[1]) in instance.values:
            return path[1:]  # in the words of Terraform already
        for length in range(len(path), 0, -1):
            of = writer.paths.get(path[:length])
            if of is not None:
                text = writer.texts.get(path[:length])
                return of if text is None else (*of, *in_words(path[length:], text))
        return ()

    def _write(self, address: str) -> Writer:
        writer = Writer(self._known, self._plan.instances[address])
        writer.resource()
        return writer


def _is_made(instance: Instance) -> bool:
    """Whether a resource becomes one of the template."""
    return instance.type in KINDS and not instance.is_data


def _by_id(plan: Plan) -> dict[str, tuple[str, bool]]:
    """Resources that exist, by their ids and ARNs, each with whether that is the ARN."""
    found: dict[str, tuple[str, bool]] = {}
    for each in plan.instances.values():
        for name in _ARNS if _is_made(each) else ():
            value = each.values.get(name)
            if isinstance(value, str) and _ID.fullmatch(value):
                found.setdefault(value, (each.address, value.startswith("arn:")))
    return found
