"""Values that a user gives for parameters of templates, and the parameters that have other values to try.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpu_constructs.errors import shown
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.evaluation.parameters import parameter
from gpu_constructs.template.evaluation.texts import written
from gpu_constructs.template.model import Value
from gpu_constructs.template.unreadable import UnreadableError

__all__ = ["ParameterChoice", "ParameterValues"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterChoice:
    """A parameter whose template says what it may be, so that every answer can be tried.

    Attributes:
        parameter: Its name.
        stack: The stack that asks for it.
        default: The value that was read with.
        values: Every value that is allowed, as texts, the one that was read with among them.
    """

    parameter: str
    stack: str
    default: str
    values: tuple[str, ...]


class ParameterValues:
    """The values of one call, and what it asked.

    Args:
        given: Values by name, or by ``Stack:Name`` for the parameter of one stack.

    Attributes:
        choices: Parameters that allow other values than their default, and got no answer.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self.choices: list[ParameterChoice] = []
        self._given = given
        self._declared: set[str] = set()

    def of(self, stack: str, document: Document) -> dict[str, Callable[[], Value]]:
        """The values for one template, by parameter.

        Raises:
            UnreadableError: If a parameter does not allow its answer.
        """
        declarations = document.object().get("Parameters")
        values: dict[str, Callable[[], Value]] = {}
        for name, node in declarations.items() if isinstance(declarations, dict) else ():
            own = f"{stack}:{name}"
            self._declared |= {name, own}
            answer = self._given.get(own, self._given.get(name))
            declaration = parameter(node)
            allowed = () if declaration is None else declaration.allowed
            if answer is not None:
                if allowed and answer not in allowed:
                    raise UnreadableError(
                        f"parameter {name!r} cannot be {shown(answer)}",
                        file=document.file,
                        line=document.line(("Parameters", name)),
                        allowed=shown(", ".join(allowed)),
                    )
                values[name] = _constant(answer)
            elif declaration is not None and len(allowed) > 1 and (default := written(declaration.default)) is not None:
                self.choices.append(ParameterChoice(parameter=name, stack=stack, default=default, values=allowed))
        return values

    def require_used(self, files: Sequence[str]) -> None:
        """Refuses an answer that no template asks for.

        Raises:
            UnreadableError: If there is one.
        """
        for name in self._given:
            if name not in self._declared:
                nearest = get_close_matches(name, sorted(self._declared), n=3)
                raise UnreadableError(
                    f"no parameter {shown(name)} is declared",
                    file=files[0] if len(files) == 1 else f"{len(files)} templates",
                    fix=f"did you mean {' or '.join(nearest)}?" if nearest else None,
                )


def _constant(value: Value) -> Callable[[], Value]:
    return lambda: value
