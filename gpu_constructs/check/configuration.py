"""What a project says once for every check: ``gpu-constructs.yaml`` in the working directory, and hosts of no file.

::

    region: eu-west-1
    fail_on: warning
    hosts: {g6.xlarge: 4}
    instance_types:
      g9.xlarge: {vcpus: 4, memory_mib: 16384, gpus: 1, gpu_model: R200}

It is read by the reader of templates, with its limits and its lines, and like these may be JSON.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from difflib import get_close_matches
from typing import Any, NoReturn

from gpu_constructs.check.acknowledgements import Acceptance
from gpu_constructs.check.configuration_files import document_of, nearest
from gpu_constructs.errors import GpuConstructsError, IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts import InstanceType, default_image, instance_type
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.budget import DESCRIBED, ENTRIES, HOSTS, NAME
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.declared import declared_type_of, instance_types_of_declarations
from gpu_constructs.facts.names import may_be_region
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Fleet, HostImage, Pool, PoolKind, Task, Unknown, Workload
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, pools_of
from gpu_constructs.rules import Severity, known_id
from gpu_constructs.rules.retired import id_now
from gpu_constructs.template.documents import Document
from gpu_constructs.template.model import UnreadableError

UNCHECKED_TASKS, NEVER = "unchecked", "never"
FAIL_ON = (*map(str, Severity), UNCHECKED_TASKS, NEVER)
"""What makes a check fail."""

_TYPES = "instance_types"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What the file says; what it leaves out is empty.

    Attributes:
        file: Its name; None where there is none.
        instance_types: Types that the catalogue does not have, by name.
        hosts: How many hosts of each type are in the clusters whose hosts no file defines.
        parameters: Values of template parameters.
        region: Region of templates that do not say it themselves.
        fail_on: What makes a check fail, one of `FAIL_ON`.
        ignore: Ids of rules that are left out; some may be asked no more.
        partial: Whether there is more than the files that are checked.
        together: Whether directories and assemblies are checked as one.
        include: Patterns of the files in directories that are looked at alone.
        exclude: Patterns of those that are left out.
        severity: How grave findings of some rules are.
        accept: Findings that are accepted, with a reason.
        baseline: The file of the baseline.
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
    file = nearest(paths) if named is None else named
    return Configuration() if file is None else configuration_of(file)


def configuration_of(file: str) -> Configuration:
    """Reads a configuration; an error has the line, the values allowed and the fix."""
    try:
        document = document_of(file)
        content = {} if document.data is None else document.object()  # it may hold comments alone
    except UnreadableError as error:
        raise UnreadableError(
            error.reason, file=file, line=error.line, column=error.column, allowed=_allowed_keys(), fix=error.fix
        ) from None
    for key in document.twice:
        raise UnreadableError(f"{shown(key)} is written twice", file=file, line=document.line((key,)))
    read = _Reader(document)
    for key in content:
        if key not in _ALLOWED:
            read.refuse(f"a configuration has no {shown(key)}", key, allowed=_allowed_keys(), fix=_near(key, _ALLOWED))
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
                self.refuse(problem, "ignore", place, key, allowed=_of_acceptance(), fix=_near(key, _OF_ACCEPTANCE))
        texts = {key: str(each).strip() for key, each in value.items() if not isinstance(each, (dict, list, bool))}
        missing = [each for each in ("rule", "reason") if not texts.get(each)]
        if missing or len(texts) < len(value):
            what = f"{missing[0]} is missing" if missing else "expects texts"
            self.refuse(what, "ignore", place, allowed=_of_acceptance(), fix="{rule: GPU002, reason: …}")
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


def _is_object(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) and len(value) <= ENTRIES


def _is_list(value: Any, *of: type) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, list) and len(value) <= ENTRIES and all(isinstance(each, of) for each in value)


_OF_ACCEPTANCE = ("rule", "reason", "path", "resource", "until")


def _of_acceptance() -> str:
    return f"{', '.join(_OF_ACCEPTANCE)}, of which the first two are needed"


def _near(key: str, names: Iterable[str]) -> str | None:
    found = get_close_matches(key[:NAME].lower().replace("-", "_"), names, n=1)
    return f"did you mean {found[0]}?" if found else None


_YES_OR_NO = (lambda value: isinstance(value, bool), "true or false")
_PATTERNS = (lambda value: _is_list(value, str), "a list of patterns as in .gitignore, such as [legacy/]")
_OBJECT = (_is_object, f"up to {ENTRIES} entries by name")
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

_ENTRIES: Mapping[str, Callable[[_Reader, Any, Any, dict[Any, Any]], None]] = {
    "hosts": _Reader.hosts,
    "ignore": _Reader.ignored,
    _TYPES: _Reader.type,
    "parameters": _Reader.parameter,
    "severity": _Reader.severity,
}
"""What reads each entry of a key that has several, into what is returned."""


def _allowed_keys() -> str:
    return f"{', '.join(_ALLOWED)} in YAML, JSON or TOML"


_CLUSTER = "of the described hosts"
"""Stands for every cluster that only the deploy names."""


def with_hosts(fleet: Fleet, described: Mapping[str, int]) -> Fleet:
    """A fleet with more hosts in each cluster whose hosts are in no file that was read.

    They run a task as launch type EC2 does: the files do not say which capacity provider is which. With them, the hosts
    of these clusters are all described.

    Raises:
        UnknownNameError: No instance type is called so.
        InvalidValueError: There is less than one host, or there are more types and clusters than can be judged.
    """
    types = {instance_type(name): _number(name, number) for name, number in described.items()}
    if not types:
        return fleet
    workloads = tuple([_moved(each) if _is_elsewhere(fleet, each) else each for each in fleet.workloads])
    clusters: dict[str | Unknown | None, list[Workload]] = {}
    for each, old in zip(workloads, fleet.workloads, strict=True):
        if each is not old:
            clusters.setdefault(each.cluster, []).append(each)
    if len(types) * len(clusters) > DESCRIBED:
        raise InvalidValueError(
            f"{len(types)} types of hosts are described for each of {len(clusters)} clusters",
            argument="hosts",
            allowed=f"up to {DESCRIBED} hosts, each type counted once for each cluster",
            fix="describe the types that the clusters have, or check fewer files at once",
        )
    several = len(clusters) > 1
    places = {name: _region(of) for name, of in clusters.items()} or {None: _region(fleet.tasks)}
    pools = [
        replace(_pool(kind, number, f" in {cluster or 'default'}" if several else ""), cluster=cluster, region=region)
        for cluster, region in places.items()
        for kind, number in types.items()
    ]
    strays = [each for each in fleet.strays if isinstance(each.cluster, Unknown)]
    still = {each.pool.name for workload in workloads for each in workload.strategy if each.pool is not None}
    kept = [each for each in fleet.pools if not each.is_of_unknown_group or each.name in still]
    return replace(fleet, pools=(*kept, *pools), workloads=workloads, strays=tuple(strays))


def _region(on_them: Iterable[Workload | Task]) -> str | None:
    """The region of hosts, by what runs on them; None where that is not known, or where there are several."""
    regions = {None if each.origin is None else each.origin.place.region for each in on_them}
    return regions.pop() if len(regions) == 1 else None


def _number(name: str, number: int) -> int:
    if number < 1:
        raise InvalidValueError(f"{number} hosts of {shown(name)}", argument="hosts", value=number, allowed="1 or more")
    return number


def _is_elsewhere(fleet: Fleet, workload: Workload) -> bool:
    """Whether no file says on which hosts a workload runs."""
    if workload.strategy:
        return all(
            each.pool.is_of_unknown_group if each.pool else each.provider not in FARGATE_PROVIDERS
            for each in workload.strategy
        )
    return workload.launch_type in EC2_LAUNCH_TYPES and not pools_of(fleet, workload)


def _moved(workload: Workload) -> Workload:
    cluster = _CLUSTER if isinstance(workload.cluster, Unknown) else workload.cluster
    return replace(workload, strategy=(), launch_type="EC2", cluster=cluster)


def usual_image(each: InstanceType) -> HostImage | Unknown:
    """What is taken for the machine image of hosts that run: the one that the library would choose, of any release."""
    try:
        return HostImage(image=replace(default_image(each), agent_version=None), release="custom")
    except IncompatibleError:
        return UNKNOWN


def _pool(each: InstanceType, number: int, where: str) -> Pool:
    return Pool(
        name=f"{number} described {'host' if number == 1 else 'hosts'} {each.name}{where}",
        instance_types=(each,),
        image=usual_image(each),
        min_instances=number,
        max_instances=number,
        kind=PoolKind.AUTO_SCALING_GROUP,
        managed_scaling=False,
        has_provider=False,
    )
