"""What a project says once for every check: ``gpu-constructs.yaml`` in the working directory or around it.

::

    region: eu-west-1
    fail_on: warning
    hosts: {g6.xlarge: 4}
    instance_types:
      g9.xlarge: {vcpus: 4, memory_mib: 16384, gpus: 1, gpu_model: R200}

It is read by the reader of templates, with its limits and its lines. It may be YAML, JSON or TOML, or a table of
``pyproject.toml``.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from gpu_constructs.check.acknowledgements import Acceptance
from gpu_constructs.check.repository import top_of, upwards
from gpu_constructs.errors import GpuConstructsError, shown
from gpu_constructs.facts import InstanceType, instance_type
from gpu_constructs.facts.budget import BYTES, ENTRIES, HOSTS, NAME
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES, CONFIGURATION_TABLE, for_one_check
from gpu_constructs.facts.declared import declared_type_of, instance_types_of_declarations
from gpu_constructs.facts.names import may_be_region
from gpu_constructs.facts.values import dataclass
from gpu_constructs.rules import Severity, known_id
from gpu_constructs.rules.other_ids import id_now
from gpu_constructs.template.documents import Document, Files
from gpu_constructs.template.model import UnreadableError

UNCHECKED_TASKS, NEVER = "unchecked", "never"
FAIL_ON = (*map(str, Severity), UNCHECKED_TASKS, NEVER)
"""What makes a check fail."""

_TYPES = "instance_types"
_PYPROJECT = "pyproject.toml"
_TOOL, _WRONG = "gpu-constructs", "gpu_constructs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What the file says; what it leaves out is empty.

    Attributes:
        hosts: How many hosts of each type are in the clusters whose hosts no file defines.
        region: Region of templates that do not say it themselves.
        fail_on: What makes a check fail, one of `FAIL_ON`.
        ignore: Ids of rules that are left out; some may be asked no more.
        partial: Whether there is more than the files that are checked.
        together: Whether directories and assemblies are checked as one.
        include: Patterns of the files in directories that are looked at alone.
    """

    file: str | None = None
    instance_types: Mapping[str, InstanceType] = field(default_factory=dict)
    hosts: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    region: str | None = None
    fail_on: str | None = None
    ignore: tuple[str, ...] = ()
    partial: bool = False
    together: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    accept: tuple[Acceptance, ...] = ()
    baseline: str | None = None

    @property
    def folder(self) -> str:
        """The directory that its paths are from."""
        return os.path.dirname(self.file or "") or os.curdir


def found_configuration(named: str | None = None, paths: Sequence[str] = ()) -> Configuration:
    """The configuration that is named, or the nearest to what is checked; an empty one where there is none.

    Raises:
        UnreadableError: It cannot be read, something in it is wrong, or there are two.
    """
    file = _nearest(paths) if named is None else named
    return Configuration() if file is None else configuration_of(file)


def configuration_of(file: str) -> Configuration:
    """Reads a configuration; an error has the line, the values allowed and the fix."""
    try:
        document = _document_of(file)
        content = {} if document.data is None else document.object()  # it may hold comments alone
    except UnreadableError as error:
        raise UnreadableError(
            error.reason, file=file, line=error.line, column=error.column, allowed=_KEYS_IN_WORDS, fix=error.fix
        ) from None
    for key in document.twice:
        raise UnreadableError(f"{shown(key)} is written twice", file=file, line=document.line((key,)))
    read = _Reader(document)
    for key in content:
        if key not in _ALLOWED:
            read.refuse(f"a configuration has no {shown(key)}", key, allowed=_KEYS_IN_WORDS, fix=_near(key, _ALLOWED))
    # The types first: hosts may be of them.
    types = {key: read.value(key, content[key]) for key in content if key == _TYPES}
    with for_one_check(types.get(_TYPES, {})):
        others = {key: read.value(key, content[key]) for key in content if key != _TYPES}
    given = others.pop("ignore", ())
    others["ignore"] = tuple(each for each in given if isinstance(each, str))
    others["accept"] = tuple(each for each in given if isinstance(each, Acceptance))
    if "baseline" in others:
        others["baseline"] = os.path.join(os.path.dirname(file), others["baseline"])
    return Configuration(file=file, **types, **others)


class _Reader:
    """Reads values of one document, and refuses wrong ones at their line."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def refuse(self, problem: str, *path: str | int, allowed: str | None = None, fix: str | None = None) -> NoReturn:
        """Raises what is wrong at a place."""
        steps = ".".join(map(str, path))
        line = self._document.line(path)
        raise UnreadableError(f"{steps}: {problem}", file=self._document.file, line=line, allowed=allowed, fix=fix)

    def value(self, key: str, written: Any) -> Any:  # noqa: ANN401 - JSON in, the fields of a configuration out
        """What a key says."""
        is_right, allowed = _ALLOWED[key]
        if not is_right(written):
            # Values of parameters may be secrets, and are not quoted.
            self.refuse(
                "expects an object" if _OBJECT[0] is is_right else f"got {shown(written)}", key, allowed=allowed
            )
        if key not in _ENTRIES:
            return tuple(written) if isinstance(written, list) else written
        found = dict[Any, Any]()
        for name, each in enumerate(written) if isinstance(written, list) else written.items():
            with self._at(key, name, of=each):
                _ENTRIES[key](self, name, each, found)
        return tuple(found.values()) if isinstance(written, list) else found

    @contextmanager
    def _at(self, *path: str | int, of: object) -> Iterator[None]:
        """Says of what others refuse where it is."""
        try:
            yield
        except UnreadableError:
            raise
        except GpuConstructsError as error:
            below = (error.argument,) if isinstance(of, dict) and error.argument in of else ()
            self.refuse(error.problem, *path, *below, allowed=error.allowed, fix=error.fix)

    def type(self, name: str, value: Any, found: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        if not isinstance(value, dict):
            self.refuse(f"got {shown(value)}", _TYPES, name, allowed="an object", fix="{vcpus: …, memory_mib: …}")
        with for_one_check(found):
            # A number such as 10.10 loses its last digit; the text keeps it.
            facts = {
                each: (self._document.written((_TYPES, name, each)) if isinstance(fact, float) else None) or fact
                for each, fact in value.items()
            }
            found.update(instance_types_of_declarations([declared_type_of(name, facts)]))

    def hosts(self, name: str, value: Any, found: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= HOSTS:
            self.refuse(f"got {shown(value)}", "hosts", name, allowed=f"a number of hosts from 1 to {HOSTS}")
        found[instance_type(name).name] = value

    def parameter(self, name: str, value: Any, found: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        """A value of a parameter as it is written, as on the command line; it may be a secret, and is not quoted."""
        if not isinstance(value, (str, int, float)):
            self.refuse("expects a single value", "parameters", name, allowed="a text, a number, true or false")
        as_json = str(value).lower() if isinstance(value, bool) else str(value)
        found[name] = self._document.written(("parameters", name)) or as_json

    def ignored(self, place: int, value: Any, found: dict[int, Any]) -> None:  # noqa: ANN401 - JSON
        """A rule that is left out, or findings of one that are accepted with a reason."""
        if isinstance(value, str):
            found[place] = known_id(value)
            return
        for key in value:
            if key not in _OF_ACCEPTANCE:
                problem = f"what is accepted has no {shown(key)}"
                self.refuse(problem, "ignore", place, key, allowed=_ACCEPTANCE_IN_WORDS, fix=_near(key, _OF_ACCEPTANCE))
        texts = {key: str(each).strip() for key, each in value.items() if not isinstance(each, (dict, list, bool))}
        missing = [each for each in ("rule", "reason") if not texts.get(each)]
        if missing or len(texts) < len(value):
            what = f"{missing[0]} is missing" if missing else "expects texts"
            self.refuse(what, "ignore", place, allowed=_ACCEPTANCE_IN_WORDS, fix="{rule: GPU002, reason: …}")
        until = texts.pop("until", None)
        try:
            last = None if until is None else dt.date.fromisoformat(until)
        except ValueError:
            self.refuse(f"got {shown(until)}", "ignore", place, "until", allowed="a day such as 2027-01-31")
        line = self._document.line(("ignore", place))
        where = self._document.file if line is None else f"{self._document.file}:{line}"
        found[place] = Acceptance(**{**texts, "rule": known_id(texts["rule"])}, until=last, place=where)

    def severity(self, name: str, value: Any, found: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        if value not in list(map(str, Severity)):
            self.refuse(f"got {shown(value)}", "severity", name, allowed=", ".join(Severity))
        found[id_now(known_id(name))] = Severity(value)


def _is_list(value: Any, *of: type) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, list) and len(value) <= ENTRIES and all(isinstance(each, of) for each in value)


_OF_ACCEPTANCE = ("rule", "reason", "path", "resource", "until")
_ACCEPTANCE_IN_WORDS = f"{', '.join(_OF_ACCEPTANCE)}, of which the first two are needed"


def _near(key: str, names: Iterable[str]) -> str | None:
    found = get_close_matches(key[:NAME].lower().replace("-", "_"), names, n=1)
    return f"did you mean {found[0]}?" if found else None


_YES_OR_NO = (lambda value: isinstance(value, bool), "true or false")
_PATTERNS = (lambda value: _is_list(value, str), "a list of patterns as in .gitignore, such as [legacy/]")
_OBJECT = (lambda value: isinstance(value, dict) and len(value) <= ENTRIES, f"up to {ENTRIES} entries by name")
_ALLOWED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "baseline": (lambda value: isinstance(value, str) and value != "", "a file, such as gpu-constructs-baseline.json"),
    "exclude": _PATTERNS,
    "fail_on": (lambda value: value in FAIL_ON, ", ".join(FAIL_ON)),
    "hosts": _OBJECT,
    "ignore": (
        lambda value: _is_list(value, str, dict),
        "a list of rules, such as [GPU002] or [{rule: GPU002, path: old/, reason: why}]",
    ),
    "include": _PATTERNS,
    _TYPES: _OBJECT,
    "parameters": _OBJECT,
    "partial": _YES_OR_NO,
    "region": (lambda value: isinstance(value, str) and may_be_region(value), "a name such as eu-west-1"),
    "severity": _OBJECT,
    "together": _YES_OR_NO,
}
"""What each key may say."""
_KEYS_IN_WORDS = f"{', '.join(_ALLOWED)} in YAML, JSON or TOML"

_ENTRIES: Mapping[str, Callable[[_Reader, Any, Any, dict[Any, Any]], None]] = {
    "hosts": _Reader.hosts,
    "ignore": _Reader.ignored,
    _TYPES: _Reader.type,
    "parameters": _Reader.parameter,
    "severity": _Reader.severity,
}
"""What reads each entry of a key that has several, into what is returned."""


# -- where it is said: in a file of its own, or in a table of pyproject.toml -------------------------------------------


def _nearest(paths: Sequence[str]) -> str | None:
    """The configuration of what is checked: of its directory, or of the nearest around it in the same repository.

    Where there is none, that of the working directory counts.

    Raises:
        UnreadableError: A directory has two.
    """
    for folder in dict.fromkeys(_folders(paths)):
        names = [os.path.join(folder, each) for each in CONFIGURATION_FILES]
        table = os.path.join(folder, _PYPROJECT)
        found = [each for each in names if os.path.isfile(each)]
        found += [table] if os.path.isfile(table) and re.search(CONFIGURATION_TABLE, _text(table)) else []
        named = [min(os.path.relpath(each), each, key=len) for each in found]
        if len(named) > 1:
            fix = "delete one, or take --config"
            raise UnreadableError(f"there is {named[1]} too", file=named[0], allowed="one configuration", fix=fix)
        if named:
            return named[0]
    return None


def _folders(paths: Sequence[str]) -> Iterator[str]:
    here = os.getcwd()
    named = [os.path.abspath(each) for each in paths if each != "-" and os.path.exists(each)]
    folders = [each if os.path.isdir(each) else os.path.dirname(each) for each in named]
    for start in [*([os.path.commonpath(folders)] if folders else []), here]:
        # Beyond a repository, or the working directory, begin the files of others.
        last = top_of(start) or (here if f"{start}/".startswith(f"{here.rstrip('/')}/") else start)
        for each in upwards(start):
            yield each
            if each == last:
                break


def _document_of(file: str) -> Document:
    """What a configuration says, with the lines of its keys; TOML's reader says none."""
    if not file.endswith(".toml"):
        if os.path.isfile(file) and not os.path.getsize(file):
            return Document(file=file, data=None)
        return Files().read(file, only_plain=True)
    text = _text(file)
    try:
        table = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not TOML: {error}", file=file) from None
    tools = table.get("tool") if isinstance(table.get("tool"), dict) else {}
    own = tools.get(_TOOL)
    if _WRONG in tools:
        raise UnreadableError(f"[tool.{_WRONG}] is not read", file=file, fix=f"[tool.{_TOOL}]")
    if own is None and os.path.basename(file) != _PYPROJECT:
        own = table
    return Document(file=file, data=own)


def _text(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return opened.read(BYTES).decode()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a text in UTF-8"
        raise UnreadableError(f"cannot be read: {why.lower()}", file=file) from None
