"""Texts in JSON or YAML, each read once, as plain values with the lines of its values, and the templates among them.

A template comes with how those that it names are found, also as published assets
(https://docs.aws.amazon.com/cdk/v2/guide/assets.html). What is a plan of Terraform or OpenTofu, and what one is made
from, is told apart here; what a plan says is read elsewhere.

https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpu_constructs.errors import shown
from gpu_constructs.facts.budget import BYTES, STEPS_OF_BYTE, TOTAL_BYTES, work
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin, Place, SourceLine
from gpu_constructs.template.documents.json_text import JsonLines, parse_json
from gpu_constructs.template.documents.node import Node, Path, Position, TooDeepError, members, plain_values, under
from gpu_constructs.template.model import UnreadableError, Value, end_of

HOW_TO_PLAN = "terraform plan -out=tf.plan && terraform show -json tf.plan > plan.json"
"""How a plan is made that can be read."""

LATER: dict[str, Node] = {"Terraform::KnownAfterApply": None}
"""What stands in the template of a plan for a value that only the apply knows, or that must not be shown."""

_KEYS = frozenset({"format_version", "terraform_version"})
_STATE_FILE = frozenset({"lineage", "serial", "terraform_version"})
_ARCHIVE, _IN_ARCHIVE = b"PK\x03\x04", b"tfplan"
# What the action setup-terraform writes around the output of Terraform.
_COMMAND, _WORKFLOW = "[command]", "::"


def is_plan(data: Node) -> bool:
    """Whether a parsed file is a plan or a state of Terraform or OpenTofu, be it in a form that is not read."""
    return isinstance(data, dict) and (data.keys() >= _KEYS or data.keys() >= _STATE_FILE)


def without_wrapper(text: str) -> str:
    """A text without the lines that CI writes around the output of Terraform; line numbers stay."""
    if not text.startswith(_COMMAND):
        return text
    lines = text.split("\n")
    return "\n".join("" if each.startswith((_COMMAND, _WORKFLOW)) else each for each in lines)


def require_no_source(file: str, content: bytes) -> None:
    """Refuses what a plan is made from, and a plan that only Terraform itself can read: says how to make one."""
    if content.startswith(_ARCHIVE) and _IN_ARCHIVE in content:
        reason, fix = "a saved plan, which only Terraform itself reads", f"terraform show -json {file} > plan.json"
    elif file.lower().endswith((".tf", ".tofu", ".tf.json", ".tfvars", ".tfvars.json")):
        reason, fix = "a configuration of Terraform, not a plan", HOW_TO_PLAN
    else:
        return
    raise UnreadableError(reason, file=file, allowed="a plan in JSON", fix=f"{fix}, and name plan.json")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Document:
    """A file's values.

    Attributes:
        twice: Keys that are written twice; the last one counts, as for CloudFormation.
        find: Finds where a path is in its text; None where no text is at hand.
        written: The text of a single value of a YAML file, such as ``010`` and ``yes``.
        content: What the file holds; None where somebody else has parsed it.
    """

    file: str
    data: Node
    twice: Sequence[str] = ()
    find: Callable[[Path], Position | None] | None = None
    written: Callable[[Path], str | None] = lambda _path: None
    content: bytes | None = None

    @classmethod
    def read(cls, content: bytes, *, file: str) -> Document:
        """Parses a text, which adds to the work that the call may do."""
        work().left += STEPS_OF_BYTE * len(content)
        require_no_source(file, content)
        text = without_wrapper(_decoded(content, file))
        if not text.strip():
            raise UnreadableError(
                "the file is empty", file=file, allowed="a CloudFormation template or a task definition"
            )
        if text.lstrip()[0] in "{[":
            try:
                data, twice = parse_json(text, file=file)
            except UnreadableError:
                # YAML's flow style looks like JSON too; a file's name says what it is meant to be.
                if not file.lower().endswith((".yaml", ".yml", ".template")):
                    raise
            else:
                return cls(file=file, data=data, twice=twice, find=JsonLines(text, twice).find, content=content)
        # Loaded where a file is YAML: the reader of it takes longer than a whole template in JSON.
        from gpu_constructs.template.documents.yaml_text import YamlText  # noqa: PLC0415

        read = YamlText(text, file=file)
        found, twice = read.find, read.twice
        return cls(file=file, data=read.data, twice=twice, find=found, written=read.written, content=content)

    @classmethod
    def of(cls, template: Mapping[str, object], *, file: str) -> Document:
        """Takes what somebody else has parsed."""
        try:
            return cls(file=file, data=plain_values(template))
        except (TooDeepError, RecursionError):
            raise UnreadableError("nested too deeply, or too large", file=file) from None

    def object(self, allowed: str = "a template with Resources") -> dict[str, Node]:
        """The object that it is."""
        if isinstance(self.data, dict):
            return self.data
        kind = "a list" if isinstance(self.data, list) else "a single value"
        raise UnreadableError(f"{kind}, not an object", file=self.file, allowed=allowed)

    def position(self, path: Path) -> Position | None:
        """Where a path is, or the deepest part of it that is there; None where no text is at hand."""
        # A list of containers alone is what the key of a task definition would hold.
        steps = path[1:] if isinstance(self.data, list) else path
        return None if self.find is None else self.find(steps)

    def line(self, path: Path) -> int | None:
        """The line of a path, or of the deepest part of it that is there; None where no text is at hand."""
        found = self.position(path)
        return None if found is None else found.line


def _decoded(content: bytes, file: str) -> str:
    if len(content) > BYTES:
        raise UnreadableError(f"larger than {BYTES // 1024**2} MiB", file=file, allowed="a template of at most 1 MB")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise UnreadableError("UTF-16 or UTF-32", file=file, allowed="UTF-8", fix="save the file as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            "not a text in UTF-8",
            file=file,
            line=content.count(b"\n", 0, error.start) + 1,
            fix="save the file as UTF-8",
        ) from None
    if "\0" in text:
        raise UnreadableError("a binary file", file=file, allowed="JSON or YAML", fix="save it as text, in UTF-8")
    return text


_PLAIN = "a plain file, or - for the standard input"


class Files:
    """The files of one call.

    Attributes:
        documents: What was read, by the file's name as the user sees it.
    """

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self._bytes = 0
        self._real: dict[str, str] = {}

    def inside(self, root: str, path: str, *, wanted_by: str) -> Document:
        """A file that another one names; a plain file, and none outside of a directory."""
        self.require_inside(root, path, wanted_by=wanted_by)
        return self.read(path, only_plain=True)

    def is_inside(self, root: str, path: str) -> bool:
        """Whether a path stays in a directory, links followed."""
        try:
            folder = self._real.get(root) or self._real.setdefault(root, os.path.realpath(root))
            found = os.path.realpath(path)
            # What is still a link leads in a circle.
            return f"{found}/".startswith(f"{folder.rstrip('/')}/") and not os.path.islink(found)
        except (OSError, ValueError):  # a NUL in it
            return False

    def require_inside(self, root: str, path: str, *, wanted_by: str) -> None:
        """Refuses a path that leads out of a directory, be it over a link."""
        if not self.is_inside(root, path):
            raise UnreadableError(
                f"names a file outside of its directory: {shown(path)}", file=wanted_by, allowed=f"files in {root}"
            )

    def take(self, document: Document) -> Document:
        """Keeps a document that was read elsewhere."""
        self.documents[document.file] = document
        return document

    def read(self, file: str, *, only_plain: bool = False) -> Document:
        """A file that the user named, which may be the pipe of a shell; or one that must be a plain file."""
        if file in self.documents:
            return self.documents[file]
        try:
            mode = os.stat(file).st_mode
            if only_plain and not stat.S_ISREG(mode):
                raise UnreadableError("a device, a pipe or a directory", file=file, allowed="a plain file")
            # What a shell opens for <(...) is not on the disk.
            if stat.S_ISFIFO(mode) and not os.path.realpath(file).startswith(("/dev/", "/proc/")):
                raise UnreadableError("a named pipe, and nothing may ever be written to it", file=file, allowed=_PLAIN)
            with open(file, "rb") as opened:
                content = opened.read(BYTES + 1)
        except (OSError, ValueError) as error:
            if isinstance(error, UnreadableError):
                raise
            text = getattr(error, "strerror", None) or str(error)
            raise UnreadableError(f"cannot be read: {text[:1].lower()}{text[1:]}", file=file) from None
        self._bytes += len(content)
        if self._bytes > TOTAL_BYTES:
            raise UnreadableError(f"more than {TOTAL_BYTES // 1024**2} MiB in all files together", file=file)
        return self.take(Document.read(content, file=file))


FindNested = Callable[[Mapping[str, Node], Value], "Document | None"]
"""Finds the template of a nested stack, given its declaration and its worked out ``TemplateURL``."""

InWords = Callable[[str, str, bool], str]

_SYNTHESIZED = ".template.json"
TEMPLATE_ENDINGS = (_SYNTHESIZED, ".template.yaml", ".template.yml", ".template", ".json", ".yaml", ".yml")
"""How files end that are templates by their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """What a construct of ours warned of when the app was made; `id` is that of a rule, or, say, ``cpu-units``."""

    origin: Origin
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One template and what is known about its stack.

    Attributes:
        name: What the stack is called where nothing else has that name.
        other_name: What it is called where something else has it; None for its name with the file's.
        stack_name: Its name where it is deployed; None if nothing says.
        region: Where it is deployed to; None where only the deploy knows.
        account: The id of the account that it is deployed to, likewise.
        nested: Finds the templates of its nested stacks.
        construct: Finds the path of the CDK construct of a logical id.
        made_at: Finds the line that made a resource, by the path of its construct or else by its logical id.
        acknowledged: Looks up what the app accepts of a stack, by construct path and by id.
        warnings: Looks up what our constructs warned of.
        in_words: Says a piece of a text in the words of the file, given the logical id of what it is about, and whether
            it is the name of a property; None where these are the words of CloudFormation.
        place_of: Finds where one resource is deployed to, where not all of its stack are in one place.
        is_of_assembly: Whether it is one stack of an app of which all are read.
        platform_of: Finds what an image that the app builds is built for, such as ``linux/arm64``, by the image's tag.
    """

    name: str
    document: Document
    other_name: str | None = None
    stack_name: str | None = None
    region: str | None = None
    account: str | None = None
    nested: FindNested = lambda _declaration, _url: None
    construct: Callable[[str], str | None] = lambda _logical_id: None
    made_at: Callable[[str], SourceLine | None] = lambda _construct_path: None
    in_words: InWords | None = None
    place_of: Callable[[str], Place | None] = lambda _logical_id: None
    is_of_assembly: bool = False
    acknowledged: Callable[[], Mapping[str, Mapping[str, str]]] = dict
    warnings: Callable[[], Iterable[Warned]] = tuple
    platform_of: Callable[[str], str | None] = lambda _tag: None


def nested_beside(file: str, files: Files) -> FindNested:
    """Finds nested templates by their path, as ``aws cloudformation package`` does, or among assets of ``cdk synth``.

    Only files in the template's own directory or below are read.
    """
    folder = os.path.dirname(file)

    def read(path: str) -> Document | None:
        full = os.path.normpath(os.path.join(folder, path))
        if not files.is_inside(folder or ".", full) or not os.path.isfile(full):
            return None
        return files.inside(folder or ".", full, wanted_by=file)

    def find(declaration: Mapping[str, Node], url: Value) -> Document | None:
        path = asset_path(declaration)
        if path is not None:
            return read(path)
        if isinstance(url, str) and "://" not in url:
            return read(url)
        published_as, ending = last_step(url), _SYNTHESIZED
        assets = read(f"{os.path.basename(file)[: -len(ending)]}.assets.json") if file.endswith(ending) else None
        asset = dict(published(assets.data)).get(published_as or "") if assets is not None else None
        return None if asset is None else read(asset)

    return find


def stack_name_of(file: str) -> str:
    """What a template is called that nothing but its file names."""
    name = os.path.basename(file)
    ending = next((each for each in TEMPLATE_ENDINGS if name.lower().endswith(each)), "")
    return (name[: -len(ending)] if ending else name) or file


def asset_path(declaration: Mapping[str, Node]) -> str | None:
    """The template of a nested stack as a file of the assembly, which the CDK command line notes; or None."""
    path = under(declaration, "Metadata", "aws:asset:path")
    return path if isinstance(path, str) else None


def published(assets: Node) -> Iterator[tuple[str, str]]:
    """Names under which files are published, each with the file's path from the manifest of the assets."""
    for source, key in _destinations(assets, "files", "objectKey"):
        path = source.get("path")
        if isinstance(path, str) and source.get("packaging") == "file":
            yield key.rpartition("/")[2], path


def platforms(assets: Node) -> Iterator[tuple[str, str]]:
    """Tags of the images that are built for a platform that the app names, each with that, from the same manifest."""
    for source, tag in _destinations(assets, "dockerImages", "imageTag"):
        platform = source.get("platform")
        if isinstance(platform, str):
            yield tag, platform


def _destinations(assets: Node, kind: str, name_key: str) -> Iterator[tuple[Mapping[str, Node], str]]:
    """The source of each asset, once with each name that it gets in a destination."""
    for asset in members(under(assets, kind)).values():
        for each in members(under(asset, "destinations")).values():
            name = under(each, name_key)
            if isinstance(name, str):
                yield members(under(asset, "source")), name


def last_step(url: Value) -> str | None:
    """The last step of a URL, of which the first pieces may be unknown; None if that is."""
    end = end_of(url)
    return end.rpartition("/")[2] if "/" in end else None
