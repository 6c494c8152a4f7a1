"""What of old files is to be changed today? What can be changed safely is a patch, all else is advice with its place.

`requests` and `hosts` propose changes, `proposals` says what one is, and the fixes of the rules are proposals too. Each
is made in memory and kept only if the check of the changed files finds nothing new.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from gpu_constructs.check.at_places import Writing
from gpu_constructs.check.doctor.hosts import launch_templates, retired
from gpu_constructs.check.doctor.proposals import Proposal, below, member, resources
from gpu_constructs.check.doctor.requests import containers, misformed, without_variable
from gpu_constructs.check.report import Asked, Report, reported
from gpu_constructs.check.repository import World
from gpu_constructs.check.worlds import declared, joined
from gpu_constructs.facts.budget import STEPS, one_call
from gpu_constructs.fleet import Fleet, Origin, Pool, Workload
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.template import Inputs, Places, UnreadableError
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.edits import TextEdits
from gpu_constructs.template.documents.node import Node, Path

_AGED = frozenset({"GPU001", "GPU003", "GPU025", "GPU037", "GPU055", "GPU072", "GPU106"})
"""Rules whose warnings are about what is older than today's Amazon ECS."""

_LARGEST = 1024 * 1024  # bytes of a template that CloudFormation takes
_READ, _ASKED = 8 * 1024 * 1024, 512 * 1024  # characters that are read for changes, and checked for single ones
_ROUNDS = 2  # one change may make the next one possible
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_RUNTIME = "default-runtime"
_WITHOUT = "leave it out: the ECS agent sets the NVIDIA runtime for tasks that ask for GPUs"
_STRATEGY, _WITH_STRATEGY = "CapacityProviderStrategy", ["AWS::ECS::Service", "AWS::ECS::CapacityProvider"]
_SECTIONS = frozenset({"Mappings", "Parameters", "Resources"})
# https://docs.aws.amazon.com/linux/al2023/ug/imdsv2.html
_IMDSV1 = re.compile(r"(?is)(?!.*-aws-ec2-metadata-token|.*'HttpTokens': 'optional').*169\.254\.169\.254/latest/")
_ASKS = "user data asks 169.254.169.254 without a token, which Amazon Linux 2023 takes only with HttpTokens: optional"
# Arguments of CDK by the property that they write.
_IN_CDK = {
    "ImageId": "machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU)",
    "InstanceType": "instance_type=ec2.InstanceType(…)",
    "LaunchTemplate": "launch_template=ec2.LaunchTemplate(…) of the AutoScalingGroup",
    "LaunchType": "capacity_provider_strategies=[ecs.CapacityProviderStrategy(…)] of the service",
    "ResourceRequirements": "gpu_count=… of add_container",
}


class Change(NamedTuple):
    """One thing to change: where, what is wrong, what is to be written, and by which argument of CDK in an app."""

    origin: Origin
    message: str
    change: str
    argument: str = ""
    rule: str = ""
    is_in_patch: bool = False


class Examination(NamedTuple):
    """What is to be changed in some files, a diff of each, what the check finds in them, and files that others name."""

    changes: tuple[Change, ...]
    patches: Mapping[str, str]
    report: Report
    beyond: frozenset[str]


def examine(world: World, asked: Asked) -> Examination:
    """What is to be changed in one world; where one file spoils all, in each file alone."""
    with one_call(STEPS):
        inputs = asked.inputs(world.inputs, found=world.found, lenient=True)
        given, _ = declared(inputs, asked.given)
        try:
            patient = _Patient(inputs, partial(reported, asked=replace(asked, given=given)))
        except UnreadableError as error:
            if len(world.inputs) > 1:
                alone = [examine(replace(world, inputs=(each,)), asked) for each in world.inputs]
                changes, patches, reports, beyond = zip(*alone, strict=True)
                patch = {file: text for each in patches for file, text in each.items()}
                return Examination(sum(changes, ()), patch, joined(reports), frozenset().union(*beyond))
            report = Report(fleet=Fleet(), findings=(), worlds=0, unreadable=(*inputs.unreadable, error))
            return Examination((), {}, report, frozenset())
        for propose in (misformed, launch_templates, retired):
            files = _read(patient.report, of_terraform=propose is retired)
            patient.treat([each for file, data in files for each in propose(file, data)])
        for step in (_fixes, _variables, _strategies) * _ROUNDS:
            patient.treat(list(step(patient.report)))
        told = sorted(patient.changes(), key=lambda each: (each.origin.file or "", each.origin.line or 0))
        report = replace(patient.first, worlds=int(not inputs.is_empty))
        return Examination(tuple(told), patient.patches(), report, inputs.beyond)


class _Patient:
    """Files that are changed step by step; the first report is of the files as they are."""

    def __init__(self, inputs: Inputs, ask: Callable[[Inputs], Report]) -> None:
        self._inputs, self._ask = inputs, ask
        self.report = self.first = ask(inputs)
        self._resources = {
            (each.origin.file, each.logical_id): each.origin
            for stack in self.first.stacks.stacks
            for each in stack.resources.values()
        }
        made = {each.file for each in self._resources.values() if each.construct_path is not None}
        self._programs = made | self.first.stacks.words.keys()
        self._texts: dict[str, str] = {}
        self._made: list[Change] = []
        self._refused: dict[tuple[str, Path, str], tuple[Proposal, str]] = {}
        self._renamed: dict[tuple[str, str | int], str | int] = {}
        self._left, self._asked = _READ, 0

    def treat(self, proposals: Sequence[Proposal]) -> None:
        """Makes all proposals that can be made, or one after the other those that leave nothing worse."""
        if self._refusal(proposals):
            for each in proposals:
                self._asked += len(self._texts.get(each.file, ""))
                if why := self._refusal([each]) if self._asked < _ASKED else "too much is to be changed at once":
                    self._refused[each.file, each.path, each.rule] = each, why

    def _refusal(self, proposals: Sequence[Proposal]) -> str:
        """Makes what can be made of some proposals, or says why that is worse."""
        texts, done = dict(self._texts), list[Proposal]()
        for file in dict.fromkeys(each.file for each in proposals):
            barred, document = self._barred(file), self.first.stacks.documents[file]
            asks = any(_IMDSV1.match(str(each)) for each in resources(document.data).values())
            written = "" if barred else (document.content or b"").decode().removeprefix("\ufeff")
            text = TextEdits(texts.get(file) or written, self._left)
            for each in proposals:
                unsafe = _ASKS if asks and each.rule == "GPU003" else barred
                if each.file == file and (why := unsafe or text.tried(each.edit)):
                    self._refused[file, each.path, each.rule] = each, why
                elif each.file == file:
                    done.append(each)
            self._left, texts[file] = text.left, text.text
        if not done:
            return ""
        try:
            documents = {file: Document.read(texts[file].encode(), file=file) for file in {each.file for each in done}}
            inputs = self._inputs.with_documents(documents)
            there = self._ask(inputs)
        except UnreadableError as error:
            return str(error)
        more = next(iter(_grave(there) - _grave(self.report)), None)
        if more is not None and not all(each.is_sure for each in done):
            return f"with it {more[0]} is found in {more[1]}"
        for each in done:
            self._refused.pop((each.file, each.path, each.rule), None)
            self._made.append(self._change(each))
            if each.becomes:
                self._renamed[each.file, each.becomes] = each.path[1]
        self._inputs, self.report = inputs, there
        self._texts |= {file: texts[file] for file in documents}
        return ""

    def _barred(self, file: str) -> str:
        """Why a file cannot be patched; empty where it can."""
        if file in self._programs:
            return f"{'Terraform' if file in self.first.stacks.words else 'a program'} writes the file"
        is_text = self.first.stacks.documents[file].content and file.isprintable()
        return "" if is_text else "there is no such file"

    def _origin(self, file: str, path: Path, about: str = "") -> Origin:
        """A place of a changed file, where it is in the file as it was."""
        if path[1:] and (file, path[1]) in self._renamed:
            path = (path[0], self._renamed[file, path[1]], "Properties", *path[4:])
        if isinstance(self.first.stacks.documents[file].data, list):
            path = ("ContainerDefinitions", *path)  # as an `Origin` has it
        name = _name(path)
        known = (self._resources.get((file, each)) for each in (name, about))
        made = next(filter(None, known), None) or Origin(resource=name, file=file)
        return self.first.stacks.locate(replace(made, path=path, line=None))

    def _change(self, proposal: Proposal, why_not: str = "") -> Change:
        origin, change = self._origin(proposal.file, proposal.path, proposal.about), proposal.change
        argument = _argument(origin, proposal.property_name)
        change += f" (not in the patch: {why_not})" if why_not and (not argument or why_not is _ASKS) else ""
        return Change(origin, proposal.message, change, argument, proposal.rule, is_in_patch=not why_not)

    def changes(self) -> Iterator[Change]:
        """What is in the patch, and what is left to whoever reads it."""
        yield from self._made
        yield from (self._change(each, why) for each, why in self._refused.values())
        refused = [each for each, _ in self._refused.values()]
        told = {(each.file, each.rule, name) for each in refused for name in (each.about, _name(each.path))}
        new = Counter(map(_about, self.report.findings)) - Counter(map(_about, self.first.findings))
        texts = {each.message for each in self.first.findings}
        for each in self.report.findings:
            is_new = each.severity is Severity.WARNING and _about(each) in new and each.message not in texts
            if not (_is_subject(each) or is_new):
                continue
            names = () if each.origin is None else (each.origin.resource, each.subject)
            if each.origin is not None and told.isdisjoint((each.origin.file, each.rule, name) for name in names):
                about = each.about or each.origin
                origin = replace(each.origin, construct_path=each.origin.construct_path or about.construct_path)
                yield Change(origin, each.message, each.fix, _argument(origin, _property(each)), each.rule)
        for file, data in _read(self.first):
            for path, node in below(data):
                if isinstance(node, str) and _RUNTIME in node:  # which no rule reads
                    said = f"{_RUNTIME} gives the GPUs of the host to containers that ask for none"
                    yield Change(self._origin(file, path), said, _WITHOUT)

    def patches(self) -> dict[str, str]:
        """Unified diffs from the files as they are."""
        old = {file: self.first.stacks.documents[file].content or b"" for file in self._texts}
        return {file: _diff(file, old[file].decode(), text) for file, text in sorted(self._texts.items())}


def _grave(report: Report) -> Counter[tuple[str, str]]:
    return Counter(_about(each) for each in report.findings if each.is_grave)


def _about(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.subject


def _is_subject(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR or (finding.rule in _AGED and not finding.parameter)


def _name(path: Path) -> str:
    return str(path[1]) if path[1:] and path[0] in _SECTIONS else ""


def _diff(file: str, old: str, new: str) -> str:
    mark = "\ufeff" if old.startswith("\ufeff") else ""
    name = f"{'stdin' if file == '-' else os.path.relpath(file)}{'	' if ' ' in file else ''}"
    lines = difflib.unified_diff(_LINE.findall(old), _LINE.findall(f"{mark}{new}"), f"a/{name}", f"b/{name}")
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)


def _read(report: Report, *, of_terraform: bool = False) -> Iterator[tuple[str, Node]]:
    """The files that define something, but for those too large to be patched, and plans of Terraform unless asked."""
    for file in report.files:
        is_left = file in report.stacks.words and not of_terraform
        document = None if is_left else report.stacks.documents.get(file)
        if document is not None and len(document.content or b"") <= _LARGEST:
            yield file, document.data


def _property(finding: Finding) -> str:
    return "InstanceType" if finding.rule == "GPU001" else (finding.changes or finding.property_name).partition(".")[0]


def _argument(origin: Origin, property_name: str) -> str:
    return _IN_CDK.get(property_name, "") if origin.construct_path is not None else ""


# -- what rules propose --------------------------------------------------------------------------------------------


def _fixes(report: Report) -> Iterator[Proposal]:
    """What the fixes of rules write, of those that were tried."""
    writing, taken = Writing(report.fleet, Places(report.stacks)), set[tuple[str, Path]]()
    for each in filter(_is_subject, report.findings):
        way = next((way for way in each.ways if way.things), None)
        changes = writing.changes(way) or {} if way is not None else {}
        if way is None or each.origin is None or len({file for file, _ in changes}) != 1 or taken & changes.keys():
            continue
        taken |= changes.keys()
        file, path = next(iter(changes))
        first = 1 if isinstance(report.stacks.documents[file].data, list) else 0  # as an `Origin` has it
        edit = partial(_put, {path[first:]: value for (_, path), value in changes.items()})
        about, name = each.origin.resource, _property(each)
        yield Proposal(file, path[first:], each.message, way.text, edit, each.rule, about, property_name=name)


def _put(values: Mapping[Path, Node], text: TextEdits) -> None:
    for path, value in values.items():
        text.put(path, value)


def _variables(report: Report) -> Iterator[Proposal]:
    """Containers that see GPUs by a variable, where a rule says so."""
    told = [each.origin for each in report.findings if each.rule in {"GPU025", "GPU037"} and each.origin is not None]
    for file, data in _read(report) if told else ():
        for path, container in containers(data):
            is_told = any(each.file == file and each.path[: len(path)] == path for each in told)
            if is_told and (found := without_variable(file, path, container)) is not None:
                yield found


def _strategies(report: Report) -> Iterator[Proposal]:
    """Strategies of services in the place of launch types, where the provider stands in the same file."""
    for each in report.findings:
        things = [one for way in each.ways[:1] for one in way.made() if isinstance(one, Workload)]
        pools = [item.pool for one in things for item in one.strategy if isinstance(item.pool, Pool)]
        if each.rule not in {"GPU072", "GPU218"} or each.origin is None or not pools or pools[0].origin is None:
            continue
        file, name, provider = each.origin.file or "", _name(each.origin.path), pools[0].origin.resource
        there = resources(dict(_read(report)).get(file))
        if [member(there.get(one), "Type")[1] for one in (name, provider)] == _WITH_STRATEGY:
            top, own = ("Resources", name, "Properties"), member(there[name], "Properties")[1]
            change = f"a {_STRATEGY} with {provider}{_replacing(own)}"
            path, edit = (*top, "LaunchType"), partial(_with_strategy, top, provider)
            yield Proposal(file, path, each.message, change, edit, each.rule, property_name="LaunchType")


def _replacing(service: Node) -> str:
    """What becomes of a service that loses its launch type (issue 2214 of CloudFormation's coverage roadmap)."""
    has_type, has_name = (member(service, each)[0] for each in ("LaunchType", "ServiceName"))
    fixed = ", which its ServiceName prevents: leave that out, or change it in the same deploy" if has_name else ""
    told = "; CloudFormation may replace the service, and start the new one beside the old one"
    return f"{told}{fixed}" if has_type else ""


def _with_strategy(top: Path, provider: str, text: TextEdits) -> None:
    strategy: Node = [{"CapacityProvider": {"Ref": provider}, "Weight": 1}]
    if "LaunchType" not in text.names(top):
        text.add(top, _STRATEGY, strategy)
        return
    text.rename((*top, "LaunchType"), _STRATEGY)
    text.put((*top, _STRATEGY), strategy)
