"""Which image is behind an AMI id? A plan has read the data sources that it came from, and holds the id alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from gpu_constructs.facts import IMAGES
from gpu_constructs.facts.image_table import RELEASE_DAY
from gpu_constructs.template.terraform.plan import Instance

_PARAMETER, _IMAGE = "aws_ssm_parameter", "aws_ami"
_LEAF = "/image_id"


class Images:
    """The images that data sources of a plan found.

    Args:
        instances: Resources and data sources.
    """

    def __init__(self, instances: Iterable[Instance]) -> None:
        self._parameters: list[tuple[str, str]] = []
        self._named: dict[str, str] = {}
        for each in instances:
            if not each.is_data:
                continue
            name, value, image = (each.values.get(key) for key in ("name", "value", "id"))
            if each.type == _PARAMETER and isinstance(name, str) and isinstance(value, str):
                self._parameters.append((name, value))
            elif each.type == _IMAGE and isinstance(name, str) and isinstance(image, str):
                self._named[image] = name

    def of(self, ami: str) -> str | None:
        """What stands for an image in a template; None where no data source says which it is."""
        for name, value in self._parameters:
            if value == ami or f'"{ami}"' in value:
                return stored(name)
        parameter = _by_name().get(RELEASE_DAY.sub("", self._named.get(ami, "")))
        return None if parameter is None else f"{{{{resolve:ssm:{parameter.replace('{release}', self._named[ami])}}}}}"


def stored(name: str) -> str:
    """The reference to a parameter that holds an image id, or a document with one."""
    whole = name if name.endswith(_LEAF) or not name.endswith("/recommended") else f"{name}{_LEAF}"
    return f"{{{{resolve:ssm:{whole}}}}}"


@cache
def _by_name() -> dict[str, str]:
    """The parameter of each image of ECS, by the name of its AMI without the day of its release."""
    return {RELEASE_DAY.sub("", each.known_release): each.pinned_ssm_parameter for each in IMAGES if each.known_release}
