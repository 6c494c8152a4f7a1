"""Matching a pattern in time that grows with the value and no faster.

The pattern becomes a nondeterministic automaton (Thompson's construction) and all of its states are followed at once,
so no pattern can backtrack: ``(a+)+`` costs as much as ``a+``. The automaton's size is bounded, a pattern that would
be larger is not judged.

A pattern has to match the whole value. The documentation does not say so; it says it by the names and the examples:
the operator is called ``matches``, as Java's ``String.matches`` is, which takes the whole text, and every pattern it
prints ends in ``.*`` (``g2.*``, ``t2.*``), which only a match of the whole value needs.
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from gpu_constructs.placement.query.limits import MAX_PATTERN_STATES
from gpu_constructs.placement.query.pattern import (
    Characters,
    Choice,
    Edge,
    MalformedPatternError,
    Node,
    Ranges,
    Repetition,
    Sequence,
    UnsupportedPatternError,
    read_pattern,
)

__all__ = ["PatternProblem", "matches_whole", "pattern_problem", "why_not_judged"]

_ACCEPT = 0
# Without MULTILINE, `$` of java.util.regex also matches before a line terminator that ends the text.
_LINE_TERMINATORS = frozenset({"\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"})


@dataclass(frozen=True, slots=True)
class PatternProblem:
    """What Java has against a pattern.

    Attributes:
        problem: What is wrong, in words.
        position: Where, counted from 0.
    """

    problem: str
    position: int


@lru_cache(maxsize=1024)
def pattern_problem(pattern: str) -> PatternProblem | None:
    """What Java has against a pattern; None if it reads it, or if it is not judged here.

    Args:
        pattern: As Java would be given it.
    """
    try:
        read_pattern(pattern)
    except MalformedPatternError as error:
        return PatternProblem(error.problem, error.position)
    except UnsupportedPatternError:
        return None
    return None


def why_not_judged(pattern: str) -> str | None:
    """Why nobody can say here what a pattern matches, in words; None if it can be said.

    Args:
        pattern: One that `pattern_problem` has nothing against.
    """
    compiled = _compiled(pattern)
    return compiled if isinstance(compiled, str) else None


@lru_cache(maxsize=4096)
def matches_whole(pattern: str, value: str) -> bool | None:
    """Whether a pattern matches a whole value; None if it is not judged, see `why_not_judged`.

    Args:
        pattern: One that `pattern_problem` has nothing against.
        value: The text.
    """
    compiled = _compiled(pattern)
    return None if isinstance(compiled, str) else compiled.accepts(value)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Automaton | str:
    automaton = _Automaton()
    try:
        automaton.start = automaton.add(read_pattern(pattern), _ACCEPT)
    except UnsupportedPatternError as error:
        return f"the pattern `{pattern}` has {error.reason}, which is not judged"
    except MalformedPatternError as error:
        return f"the pattern `{pattern}` is not one that Java reads: {error.problem}"
    return automaton


@dataclass(slots=True)
class _State:
    """A state: with `ranges` it takes a character, with `edge` it asks for a place, else it is free to pass."""

    following: tuple[int, ...] = ()
    ranges: Ranges | None = None
    edge: Edge | None = None


@dataclass(slots=True)
class _Automaton:
    states: list[_State] = field(default_factory=lambda: [_State()])
    start: int = _ACCEPT

    def add(self, node: Node, then: int) -> int:
        """Adds the states of a node in front of a state; returns the first of them."""
        if isinstance(node, Characters):
            return self._new(_State((then,), ranges=node.ranges))
        if isinstance(node, Edge):
            return self._new(_State((then,), edge=node))
        if isinstance(node, Choice):
            return self._new(_State(tuple(self.add(option, then) for option in node.options)))
        if isinstance(node, Sequence):
            for item in reversed(node.items):
                then = self.add(item, then)
            return then
        return self._repetition(node, then)

    def _repetition(self, node: Repetition, then: int) -> int:
        if node.most is None:
            loop = self._new(_State())
            self.states[loop].following = (self.add(node.item, loop), then)
            first = loop
        else:
            first = then
            for _ in range(node.most - node.least):
                first = self._new(_State((self.add(node.item, first), then)))
        for _ in range(node.least):
            first = self.add(node.item, first)
        return first

    def _new(self, state: _State) -> int:
        if len(self.states) >= MAX_PATTERN_STATES:
            raise UnsupportedPatternError(f"more than {MAX_PATTERN_STATES} states once its repetitions are written out")
        self.states.append(state)
        return len(self.states) - 1

    def accepts(self, text: str) -> bool:
        current = self._reach([self.start], text, 0)
        for at, each in enumerate(text):
            code = ord(each)
            taken = [
                state.following[0]
                for state in current
                if state.ranges is not None and any(low <= code <= high for low, high in state.ranges)
            ]
            if not taken:
                return False
            current = self._reach(taken, text, at + 1)
        return any(state is self.states[_ACCEPT] for state in current)

    def _reach(self, begin: list[int], text: str, at: int) -> list[_State]:
        """Every state that is reached from these without taking a character."""
        seen, waiting, reached = set(begin), begin, []
        while waiting:
            state = self.states[waiting.pop()]
            reached.append(state)
            if state.ranges is not None or (state.edge is not None and not _is_at(state.edge, text, at)):
                continue
            for following in state.following:
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return reached


def _is_at(edge: Edge, text: str, at: int) -> bool:
    if edge is Edge.START:
        return at == 0
    return at == len(text) or text[at:] in _LINE_TERMINATORS
