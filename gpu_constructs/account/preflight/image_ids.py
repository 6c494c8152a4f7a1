"""Images: do the parameters that hold the AMI ids resolve?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, aws, ok, short, unchecked
from gpu_constructs.fleet import Pool, Unknown

_PARAMETERS = Call(service="ssm", operation="GetParameters", resource="arn:aws:ssm:*::parameter/aws/service/*")
_WRITTEN = re.compile(r"(?:\{\{)?resolve:ssm:(/?[A-Za-z0-9_./-]{1,1024})(?::[0-9]{1,9})?(?:\}\})?")
_AMI = re.compile(r"ami-[0-9a-f]{8,17}")


def _questions(scope: Scope) -> Iterator[Question]:
    asked: dict[str, list[str]] = {}
    for pool in scope.pools:
        if (name := _parameter(pool)) is not None:
            asked.setdefault(name, []).append(pool.name)
    for name, pools in asked.items():
        yield Question(subject=pools[0] if len(pools) == 1 else f"{len(pools)} pools", read=partial(_read, name, scope))


def _parameter(pool: Pool) -> str | None:
    """The parameter that a pool takes its image from; None where it takes it from elsewhere."""
    if not isinstance(pool.image, Unknown):
        return None if pool.image.release == "custom" else pool.image.ssm_parameter
    found = _WRITTEN.fullmatch(pool.image_written or "")
    return found[1] if found else None


def _read(name: str, scope: Scope, ask: Ask) -> Found:
    page = ask(_PARAMETERS, {"Names": [name]}).first
    values = [each.text("Value") for each in page.rows("Parameters") if each.text("Name") == name]
    if values and _AMI.fullmatch(values[0]):
        return ok(f"{name} is {values[0]}")
    if values:
        return short(f"{name} holds no AMI id", "name a parameter that ends with image_id", "missing")
    if name not in page.texts("InvalidParameters"):
        return unchecked(f"AWS said nothing about the parameter {name}")
    folder = name.removesuffix("/image_id").rpartition("/")[0] or "/"
    fix = aws("ssm", "get-parameters-by-path", scope.region, [("path", folder), ("query", "Parameters[].Name")])
    return short(f"{name} does not exist in {scope.region}; the command lists those that do", fix, "missing")


IMAGES = Check(
    id="images",
    question="do the parameters resolve from which hosts take their machine image?",
    reads="a parameter with the id of an AMI",
    calls=(_PARAMETERS,),
    questions=_questions,
    without="no pool takes its image from a parameter",
)
"""https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html"""
