"""Takes out of recorded answers whose they are: each id, name and address becomes another of the same form.

The same one becomes the same other everywhere, so that what reads answers finds in them what it found before. What is
known by its form is found wherever it stands. A name has no form: what an ARN, a tag or a key such as ``serviceName``
says once is replaced in every text; one of one or two letters may be a word as well, and is where it stands as a name.
Values of the environment of containers go whole, and from every text but for words. Regions, instance types and the
words of AWS stay.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias
from urllib.parse import quote, unquote

from gpu_constructs.facts.names import SELF_TEST as FAMILY
from tools.smoke.app import JOB, STACK

__all__ = ["Json", "scrubbed"]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | None"

_HEX = "[0-9a-fA-F]"
_G = f"{_HEX}{{1,4}}"
_INSIDE = "".join(rf"(?<!\b{_HEX * many}:)" for many in range(1, 5)) + "(?<!::)(?<!aws:)"
"""Not amid the groups of a longer row, nor the service of an ARN."""
_IPV6 = f"{_INSIDE}(?:(?:{_G}:){{7}}{_G}|(?:{_G}:){{1,6}}(?::{_G}){{1,6}}|(?:{_G}:){{1,7}}:)|(?<!:):(?::{_G}){{1,7}}"
_PORT = r"(?=(?::\d{1,5})?(?![A-Za-z0-9:]))"
_CODED = r"(?<=\\[nrt])|(?<=\\u[0-9a-f]{4})|(?<=%[0-9A-F]{2})"
"""Before one may stand a character of JSON in a text, or of the address of a page."""
_FROM = f"(?:(?<![A-Za-z0-9])|{_CODED})"
_TO = "(?![A-Za-z0-9])"
_FORMS: Mapping[str, tuple[str, str]] = {
    "email": (r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "somebody{n}@example.com"),
    "host": (r"(?<![\w.-])(?:[\w-]+\.)+(?:internal|amazonaws\.com(?:\.cn)?)(?!\.?[\w-])", "host{n}.example.com"),
    "private": (rf"{_FROM}ip(?:-\d{{1,3}}){{4}}{_TO}", "ip-192-0-2-{n}"),
    "uuid": (rf"{_FROM}{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}{_TO}", "00000000-0000-4000-8000-a{n:011x}"),
    "id": (
        rf"{_FROM}(?P<prefix>[a-z]{{1,12}})-(?:{_HEX}{{17}}|{_HEX}{{8}})(?![A-Za-z0-9]|-{_HEX}{{4}}-)",
        "{prefix}-{n:017x}",
    ),
    "key": (rf"{_FROM}A[A-Z]{{3}}[A-Z0-9]{{16,17}}{_TO}", "AXXX{n:016d}"),
    "hex": (rf"{_FROM}{_HEX}{{32,64}}{_TO}", "a{n:031x}"),
    "mac": (rf"{_FROM}{_INSIDE}{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}{_PORT}", "02:00:00:00:00:{n:02x}"),
    "ipv6": (rf"{_FROM}(?:{_IPV6}){_PORT}", "2001:db8::{n:x}"),
    "ipv4": (rf"(?:(?<!\d)(?<!\d\.)|{_CODED})(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?!\.?\d)", "192.0.2.{n}"),
    "deployment": (r"(?<=ecs-svc/)\d+", "{n}"),
    "serial": (r"(?<=<serial>)[^<]+", "{n}"),
    "account": (rf"(?:(?<!\d)|{_CODED})\d{{12}}(?!\d)", "111122223333"),
}
_ARN = re.compile(r"arn:aws[\w-]*:(?P<service>[\w-]*):[\w-]*:\d*:(?!parameter/aws/)(?P<resource>[^\s\"'<>,;()\[\]]+)")
_NAMED = re.compile(r"[a-z]Names?$|Token$|^(?:PhysicalResourceId|Owner|UserId|startedBy|createdBy)$")
_PUBLIC = frozenset({"RegionName", "ZoneName", "QuotaName", "ServiceName", "MetricName", "ParameterName", "DeviceName"})
_WORDS = frozenset(
    {"autoScalingGroupName", "log-stream", "self-test", "default", "chat", "train", STACK, JOB, FAMILY, "s3"}
)
"""Words in ARNs, and the names that this project gives."""
_WORD = re.compile(r"[A-Za-z_]+")
_SHORTEST = 3
_VARIABLES = frozenset(
    {"AWS_DEFAULT_REGION", "AWS_REGION", "NCCL_DEBUG", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_VISIBLE_DEVICES"}
)
"""Variables whose values say of hosts and tasks what commands read."""
_HIDDEN = re.compile(
    r"(?=.{6})(?!(?:[a-z]{2}(-[a-z]+)+-\d[a-z]?|[a-z][\w-]*\.(\d*x?large|metal)|\d{1,7})$)(?:.*[\W\d_].*|.{16,})",
    re.DOTALL,
)
"""A value of a variable that is looked for everywhere: no word, short number, region or instance type."""
_INNER = r"[^\s/?&=\"'\\]"
_QUOTED = re.compile(rf"((?<!{_INNER}){_INNER}*%(?:3[Aa]|40|2[Ff]){_INNER}*)")
"""A part of the address of a page that has a colon, an at or a slash in it."""
_OF_AWS = ("aws:", "AmazonECS")
"""How the keys of tags begin that AWS sets."""


def scrubbed(recorded: Json) -> Json:
    """What was recorded, as JSON has it, with other ids, names and addresses."""
    return _Scrubber(recorded).value(recorded)


class _Scrubber:
    def __init__(self, recorded: object) -> None:
        forms = "|".join(f"(?P<{kind}>{form})" for kind, (form, _) in _FORMS.items())
        self._values = {*_values(recorded)}
        names = sorted(
            (each for each in {*_names(recorded), *self._values} if not re.fullmatch(forms, each)),
            key=len,
            reverse=True,
        )
        named = "|".join(re.escape(each) for each in names if len(each) >= _SHORTEST) or "(?!)"
        short = "|".join(re.escape(each) for each in names if len(each) < _SHORTEST) or "(?!)"
        as_name = rf"^(?:{short})$|(?<=[/:'\"=])(?:{short})(?![A-Za-z0-9-])"
        self._secret = re.compile(f"{_FROM}(?P<name>{named}){_TO}|{as_name}|{forms}")
        self._others: dict[str, str] = {}
        self._texts: dict[str, str] = {}  # each that was seen: most stand in many answers

    def value(self, value: Json, key: str = "") -> Json:
        """A value, all that is in it, and its keys but for the words that AWS or a report names its parts by."""
        if isinstance(value, str):
            return self._coded(value) if key == "UserData" else self._text(value)
        if isinstance(value, dict):
            is_variable = key == "environment" and str(value.get("name")) not in _VARIABLES
            hidden = {"value": self._variable(value["value"])} if is_variable and "value" in value else {}
            to = self._text if _is_map(key, value) else self._key
            parts = {to(name): self.value(each, _part(key, name)) for name, each in value.items()}
            return parts | hidden
        return [self.value(each, key) for each in value] if isinstance(value, list) else value

    def _key(self, name: str) -> str:
        return name if _WORD.fullmatch(name) else self._text(name)

    def _text(self, text: str) -> str:
        if text not in self._texts:
            self._texts[text] = self._changed(text)
        return self._texts[text]

    def _changed(self, text: str) -> str:
        parts = _QUOTED.split(text) if "%" in text else [text]
        for number, each in enumerate(parts[1::2]):
            said = self._secret.sub(self._other, unquote(each))
            parts[2 * number + 1] = quote(said, safe=each.replace("%", ""))
        parts[::2] = (self._secret.sub(self._other, each) for each in parts[::2])
        return "".join(parts)

    def _variable(self, value: Json) -> Json:
        if not isinstance(value, str) or not value or self._secret.fullmatch(value):
            return self.value(value)
        return self._others.setdefault(value, f"value-{len(self._others) + 1}")

    def _coded(self, text: str) -> str:
        try:
            plain = base64.b64decode(text, validate=True).decode()
        except ValueError:
            return self._text(text)
        return base64.b64encode(self._text(plain).encode()).decode()

    def _other(self, found: re.Match[str]) -> str:
        # What CloudFormation names after the app is the app's, but for what it adds.
        name = re.sub("[^-]+$", "X{n:011d}", found[0]) if found[0].startswith(f"{STACK}-") else "name-{n}"
        name = "value-{n}" if found[0] in self._values else name
        form = next((form for kind, (_, form) in _FORMS.items() if found[kind]), name)
        return self._others.setdefault(found[0], form.format(n=len(self._others) + 1, prefix=found["prefix"]))


def _is_map(key: str, value: Mapping[str, object]) -> bool:
    """Whether these are tags by their keys."""
    return key in {"tags", "Tags"} and not {"Key", "key"} & value.keys()


def _part(key: str, name: str) -> str:
    """What a part of something is read as: EC2 answers what is encoded as ``{"Value": …}``."""
    return key if key == "UserData" and name == "Value" else name


def _values(value: object, key: str = "") -> Iterator[str]:
    """Values of variables that are to be found wherever they stand."""
    if isinstance(value, dict):
        said = str(value.get("value"))
        if key == "environment" and value.get("name") not in _VARIABLES and _HIDDEN.fullmatch(said):
            yield said
        for name, each in value.items():
            yield from _values(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, key)


def _names(value: object, key: str = "") -> Iterator[str]:
    """Names, as far as an ARN, a tag or a key says that they are some."""
    if isinstance(value, str):
        found = [value] if _NAMED.search(key) and key not in _PUBLIC and not value.startswith("arn:") else []
        for arn in _ARN.finditer(unquote(value)):
            kind, *parts = re.split("[/:]", arn["resource"])
            found += parts if parts and arn["service"] != "s3" else [kind, *parts]
            # Secrets Manager adds six characters to a name.
            found += [each[:-7] for each in parts if arn["service"] == "secretsmanager"]
        yield from (each for each in found if re.search(r"\w", each) and each not in _WORDS and not each.isdigit())
    elif isinstance(value, dict):
        is_map = _is_map(key, value)
        tag = value.get("Key", value.get("key", "aws:")), value.get("Value", value.get("value"))
        tags = value.items() if is_map else [tag]
        yield from _names([[name, each] for name, each in tags if not str(name).startswith(_OF_AWS)], "tagName")
        for name, each in value.items():
            yield from _names(each, "" if is_map else name)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each, key)
