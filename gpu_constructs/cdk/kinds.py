"""Arguments of CDK's kinds are checked before CDK sees them, so that a refusal has the name that the user wrote.

What is expected stands in the signature.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature, unwrap
from typing import ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from gpu_constructs.cdk.arguments import flag, texts, variables
from gpu_constructs.cdk.calls import called, require_construct_id, written_if_refused
from gpu_constructs.errors import UnknownNameError, shown, unexpected

_Arguments = ParamSpec("_Arguments")
_Made = TypeVar("_Made")

_HALF = "[\ud800-\udfff]"  # half a character, with which no template can be read back
_WORD = "[A-Z][a-z0-9]*"
_MOST_MEMBERS = 8
_MOST_PLACES = 2
_A_SLIP = 0.9  # max_instance is max_instances, though it begins max_instance_lifetime

_IMAGE = "ecs.ContainerImage.from_registry({})"
_DURATION = "cdk.Duration.seconds({})"
_EXAMPLES: Mapping[str, str] = {
    "constructs.Construct": "self, where a Stack or another construct defines it",
    "cdk.Duration": _DURATION.format(30),
    "data.JobData": "JobData.s3(bucket, prefix='data/')",
    "ec2.IVpc": "ec2.Vpc(self, 'Vpc')",
    "ec2.UserData": "ec2.UserData.for_linux(), then add_commands('…')",
    "ec2.SubnetSelection": "ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)",
    "ecs.CapacityProviderStrategy": "ecs.CapacityProviderStrategy(capacity_provider='FARGATE', weight=1)",
    "ecs.ContainerImage": _IMAGE.format("'nvidia/cuda:12.8.1-base-ubuntu24.04'"),
    "batch.Secret": "batch.Secret.from_secrets_manager(secret)",
    "ecs.ICluster": "ecs.Cluster(self, 'Cluster', vpc=vpc)",
    "ecs.LogDriver": "ecs.LogDrivers.aws_logs(stream_prefix='train')",
    "ecs.Secret": "ecs.Secret.from_secrets_manager(secret)",
    "ecs.TaskDefinition": "ecs.Ec2TaskDefinition(self, 'Web')",
    "scheduler.ScheduleExpression": "scheduler.ScheduleExpression.cron(hour='2', minute='0')",
    "sfn.TaskInput": "sfn.TaskInput.from_object({'epochs': 3})",
}
"""A value of kinds that users meet most; other examples are made from the class."""

_MADE_FROM: Mapping[tuple[str, type], str] = {
    ("ecs.ContainerImage", str): _IMAGE,
    ("cdk.Duration", int): _DURATION,
    ("ec2.UserData", str): "ec2.UserData.for_linux(), then add_commands({})",
    ("cdk.Duration", float): _DURATION,
    ("ecs.ICluster", str): "ecs.Cluster.from_cluster_attributes(self, 'Cluster', cluster_name='my-cluster', vpc=vpc)",
    ("scheduler.ScheduleExpression", str): "scheduler.ScheduleExpression.expression({})",
}
"""What makes the kind of what users give instead."""

_LISTS_OF_TEXT: Mapping[str, str] = {
    "command": "['sh', '-c', 'nvidia-smi']",
    "dns_search_domains": "['example.internal']",
    "dns_servers": "['10.0.0.2']",
    "docker_security_options": "['no-new-privileges']",
    "entry_point": "['python', '-u']",
}
"""Arguments of containers that are lists of text, with an example; others have checks of their own."""

_MORE_MEMBERS: Mapping[str, tuple[str, ...]] = {"fsx.IFileSystem": ("dns_name",)}
"""What every file system of FSx has, and its interface does not name; those of EFS have all the rest."""

_OTHER_NAMES: Mapping[str, str] = {
    "capacity_provider_strategies": "capacity",
    "disk_gib": "storage=HostStorage(root_volume_gib=…)",
    "env": "environment",
    "gpu": "gpus",
    "gpu_count": "gpus",
    "launch_type": "capacity",
    "max_capacity": "max_instances",
    "memory_mib": "memory_limit_mib",
    "min_capacity": "min_instances",
    "ports": "port_mappings",
    "size_gib": "root_volume_gib",
    "spot": "purchase=Purchase.spot()",
}
"""What an argument is called where it has another name."""

_MODULES: Mapping[str, str] = {
    "acm": "certificatemanager",
    "actions": "cloudwatch_actions",
    "appscaling": "applicationautoscaling",
    "cloudmap": "servicediscovery",
    "elbv2": "elasticloadbalancingv2",
    "sfn": "stepfunctions",
}
"""Modules of CDK that are imported under another name."""


def checked(function: Callable[_Arguments, _Made]) -> Callable[_Arguments, _Made]:
    """Makes a public function refuse arguments that it does not have, or that are not of the kinds in its signature.

    Its refusals are written on the tree, see `written_if_refused`.
    """
    names = function.__code__.co_varnames

    @written_if_refused
    @wraps(function)
    def after_check(*given: _Arguments.args, **named: _Arguments.kwargs) -> _Made:
        require_kinds(function, {**dict(zip(names, given, strict=False)), **named})
        return function(*given, **named)

    return after_check


def names_checked(function: Callable[_Arguments, _Made]) -> Callable[_Arguments, _Made]:
    """Makes a function refuse arguments that it does not have; the values are checked by itself."""

    @wraps(function)
    def after_check(*given: _Arguments.args, **named: _Arguments.kwargs) -> _Made:
        _require_names(function, named)
        return function(*given, **named)

    return after_check


def with_names_checked(made: type[_Made]) -> type[_Made]:
    """Makes a dataclass refuse arguments that are not its fields: its own ``__init__`` would end in a ``TypeError``."""
    type.__setattr__(made, "__init__", names_checked(made.__init__))
    return made


def require_kinds(function: Callable[..., object], named: Mapping[str, object]) -> None:
    """Refuses arguments that a function does not have, or that are not of the kinds that its signature states.

    Numbers, and kinds that are not CDK's, are left to others, and so is a command where a launcher gives it a meaning.
    """
    _require_names(function, named)
    hints = _hints_of(function)
    for argument, value in named.items():
        if argument not in hints or (argument == "command" and "launcher" in hints):
            continue
        if value is not None or "None" not in str(hints[argument]):
            _require(argument, value, _kinds_of(function, argument))


def _require_names(function: Callable[..., object], named: Mapping[str, object]) -> None:
    for argument, value in named.items():
        if argument not in {"self", "cls"} and argument not in _hints_of(function):
            nearest = _nearest(argument, function) or _of_others(argument, named.get("self"))
            raise UnknownNameError(
                f"{called(function, named.get('self'))} has no such argument",
                argument=argument,
                value=value,
                nearest=nearest,
            )


def _nearest(argument: str, function: Callable[..., object]) -> tuple[str, ...]:
    """Where an argument belongs that a function does not have: to one of its values, or what has nearly its name."""
    kinds = _hints_of(function)
    if _OTHER_NAMES.get(argument, "").partition("=")[0] in kinds:
        return (_OTHER_NAMES[argument],)
    for name in kinds:
        for kind in _kinds_of(function, name):
            if is_dataclass(kind) and argument in {each.name for each in fields(kind) if each.init}:
                return (f"{name}={getattr(kind, '__name__', name)}({argument}=…)",)
    if slip := get_close_matches(argument, kinds, n=1, cutoff=_A_SLIP):
        return tuple(slip)
    if longer := tuple(each for each in kinds if argument in each.split("_") or each.startswith(f"{argument}_")):
        return longer[:_MOST_PLACES]
    return tuple(get_close_matches(argument, kinds, n=_MOST_PLACES, cutoff=0.6))


def _of_others(argument: str, of: object) -> tuple[str, ...]:
    """The other calls of one thing that have an argument, such as ``add_model_server(cache=…)``."""
    calls = {name: getattr(type(of), name) for name in dir(type(of)) if name.startswith("add_")}
    having = (name for name, call in calls.items() if inspect.isfunction(call) and argument in _hints_of(call))
    return tuple(f"{name}({argument}=…)" for name in having)[:_MOST_PLACES]


@cache
def _hints_of(function: Callable[..., object]) -> Mapping[str, object]:
    """What the signature says of each argument, as text where it is text: a call resolves what it gives."""
    hints: dict[str, object] = {}
    for name, hint in unwrap(function).__annotations__.items():
        if isinstance(hint, str) and hint.startswith("Unpack["):
            (options,) = get_args(_resolved(function, hint))
            hints |= _evaluated(options, None, {})
        elif name != "return":
            hints[name] = hint
    return hints


@cache
def _kinds_of(function: Callable[..., object], argument: str) -> tuple[object, ...]:
    """The kinds of an argument; what may be left out may be None as well."""
    return _alternatives(_resolved(function, _hints_of(function)[argument]))


def _resolved(function: Callable[..., object], hint: object) -> object:
    def resolved() -> None: ...

    resolved.__annotations__ = {"hint": hint}
    names = unwrap(function).__globals__
    # The ``__init__`` of a value has only what it needs, and the name of its module.
    return _evaluated(resolved, {**vars(sys.modules[names["__name__"]]), **names}, {})["hint"]


def _evaluated(
    hinted: Callable[..., object], names: Mapping[str, object] | None, more: Mapping[str, object]
) -> Mapping[str, object]:
    try:
        return get_type_hints(hinted, dict(names) if names else None, dict(more))
    except NameError as error:
        missing = str(error.name)
        return _evaluated(hinted, names, {**more, missing: _known_to_type_checkers(missing)})


def _known_to_type_checkers(name: str) -> object:
    """A module of CDK that is imported for type checkers alone, since it takes long to load; of others, anything."""
    try:
        return import_module(f"aws_cdk.aws_{_MODULES.get(name, name)}")
    except ModuleNotFoundError:
        return object


def _alternatives(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def _require(argument: str, value: object, kinds: tuple[object, ...]) -> None:
    if value is None and type(None) in kinds:
        return
    if argument in {"construct_id", "id"}:
        require_construct_id(value)
    known = [each for each in kinds if each is not type(None) and get_origin(each) is not dict]
    if len(known) != 1:
        return
    kind = known[0]
    if kind is bool:
        flag(argument, value)
    elif kind is str and not isinstance(value, str):
        _refuse(argument, value, "text", f"{argument}={shown(value) if isinstance(value, (int, float)) else '…'!r}")
    elif kind is str and isinstance(value, str) and re.search(_HALF, value):
        written = value.encode(errors="replace").decode()
        _refuse(argument, value, "text that can be written as UTF-8", f"{argument}={shown(written)}")
    elif _is_generic(kind, Mapping):
        _require_mapping(argument, value, get_args(kind)[1])
    elif _is_generic(kind, Sequence):
        _require_list(argument, value, get_args(kind)[0])
    elif isinstance(kind, type) and not _is_of(value, kind):
        name = _written(kind)
        a_name = f"{'an' if name[0] in 'aeio' else 'a'} {name}"
        _refuse(argument, value, a_name, _fix(argument, value, kind), allowed=_members(kind))


def _require_mapping(argument: str, value: object, of: object) -> None:
    if not isinstance(value, Mapping):
        _refuse(argument, value, "a mapping", f"{argument}={{'NAME': …}}")
    elif isinstance(of, type):
        example = repr("value") if of is str else _example(of)
        variables(argument, value, of=of, example=f"{{'NAME': {example}}}")


def _require_list(argument: str, value: object, of: object) -> None:
    """Refuses what is not a list of one kind; texts and numbers are left to others."""
    if of is str and argument in _LISTS_OF_TEXT:
        texts(argument, cast("Sequence[str]", value), example=_LISTS_OF_TEXT[argument])
    kinds = [each for each in _alternatives(of) if isinstance(each, type) and _is_of_cdk(each)]
    if len(kinds) != 1:
        return
    (kind,) = kinds
    if not isinstance(value, (list, tuple)) or not all(_is_of(each, kind) for each in value):
        _refuse(argument, value, f"a list of {_written(kind)}", f"{argument}=[{_example(kind)}]")


def _is_generic(kind: object, of: type) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, of)


def _is_of(value: object, kind: type) -> bool:
    """Whether CDK takes the value; yes for kinds that are not CDK's."""
    if not _is_of_cdk(kind):
        return True
    if isinstance(value, type):
        return False
    # An imported construct and a struct that Node has made are proxies, with an object for each of their interfaces.
    answering = vars(value).get("_delegates", ()) if type(value).__module__.startswith("jsii.") else (value,)
    if _is_interface(kind):
        # isinstance says nothing about an interface, and a proxy answers by asking Node; a class of CDK's does at once.
        members = [*(each for each in vars(kind) if not each.startswith("_")), *_MORE_MEMBERS.get(_written(kind), ())]
        return any(all(hasattr(type(each), member) for member in members) for each in answering)
    if isinstance(value, Mapping):
        return _makes(kind, value)
    return any(isinstance(each, kind) for each in answering)


def _makes(struct: type, value: Mapping[str, object]) -> bool:
    """Whether CDK makes one of its structs of the keys and values of a mapping."""
    try:
        struct(**value)
    except (TypeError, AttributeError):  # the second where it is no struct, such as Duration
        return False
    return True


def _is_of_cdk(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in {"aws_cdk", "constructs"}


def _is_interface(kind: type) -> bool:
    return getattr(kind, "_is_protocol", False)


def _written(kind: type) -> str:
    """A class as users write it after CDK's usual imports: ``ecs.ContainerImage``."""
    module = kind.__module__.rpartition(".")[2].removeprefix("aws_")
    return f"{next((short for short, name in _MODULES.items() if name == module), module)}.{kind.__name__}"


def _fix(argument: str, value: object, kind: type) -> str:
    if issubclass(kind, Enum):
        wanted, usual = _plain(value), "ONE_MONTH" if kind.__name__ == "RetentionDays" else next(iter(kind)).name
        return f"{_written(kind)}.{next((each.name for each in kind if _plain(each.name) == wanted), usual)}"
    if hasattr(type(value), argument) and (words := re.findall(_WORD, type(value).__name__)):
        return f"{words[-1].lower()}.{argument}"  # endpoint.listener, cluster.vpc
    made = next(
        (form for (made, given), form in _MADE_FROM.items() if made == _written(kind) and type(value) is given), None
    )
    if made is None:
        return (_imported(value, kind) if isinstance(value, str) and _is_interface(kind) else None) or _example(kind)
    return made.format(shown(value))


def _imported(value: str, kind: type) -> str | None:
    """How CDK refers to what is there already by its ARN, its id or its name: by a class method of the class."""
    made = getattr(sys.modules[kind.__module__], kind.__name__.removeprefix("I"), None)
    word = re.findall(_WORD, kind.__name__)[-1].lower()
    is_arn = value.startswith("arn:")
    for end in ("_arn",) if is_arn or "://" in value else ("_id", "_name", "_arn"):
        ways = (each for each in dir(made) if each.startswith("from_"))
        for way in sorted(ways, key=lambda each: not each.endswith(end)):
            others = [*signature(getattr(made, way)).parameters.values()][2:]
            named = [each for each in others if each.name.endswith(f"{word}{end}")]
            if named and all(each in named or each.default is not Parameter.empty for each in others):
                written = shown(value) if is_arn or end != "_arn" else "'arn:…'"
                by_name = f"{named[0].name}=" if named[0].kind is Parameter.KEYWORD_ONLY else ""
                return f"{_written(kind).replace('.I', '.')}.{way}(self, '{kind.__name__[1:]}', {by_name}{written})"
    return None


def _example(kind: type) -> str:
    if (written := _written(kind)) in _EXAMPLES:
        return _EXAMPLES[written]
    if _is_interface(kind):
        return f"{written.replace('.I', '.')}(…)"
    takes = signature(kind).parameters.values()
    needed = (each.name for each in takes if each.default is Parameter.empty and "VAR_" not in each.kind.name)
    return f"{written}({', '.join(f'{each}=…' for each in needed) or '…'})"


def _members(kind: type) -> str | None:
    if not issubclass(kind, Enum) or len(kind) > _MOST_MEMBERS:
        return None
    return ", ".join(f"{_written(kind)}.{each.name}" for each in kind)


def _plain(name: object) -> str:
    return shown(name).strip("'").lower().replace("_", "").replace("-", "")


def _refuse(argument: str, value: object, expected: str, fix: str, *, allowed: str | None = None) -> None:
    raise unexpected(argument, value, expected, allowed=allowed, fix=fix or None)
