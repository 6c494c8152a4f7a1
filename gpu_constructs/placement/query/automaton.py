"""Matching a pattern in time that grows with the value and no faster.

The pattern becomes a nondeterministic automaton (Thompson's construction) and all of its states are followed at once,
so no pattern can backtrack: ``(a+)+`` costs as much as ``a+``. Which states are alive is one number with a bit for each
state that takes a character, what is free to pass is passed over in advance, and a step that was taken once is
remembered. The automaton's size is bounded, a pattern that would be larger is not judged.

A pattern has to match the whole value. The documentation does not say so; it says it by the names and the examples:
the operator is called ``matches``, as Java's ``String.matches`` is, which takes the whole text, and every pattern it
prints ends in ``.*`` (``g2.*``, ``t2.*``), which only a match of the whole value needs.
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from __future__ import annotations

from dataclasses import dataclass
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
_ACCEPTED = 1
# Without MULTILINE, `$` of java.util.regex also matches before a line terminator that ends the text.
_LINE_TERMINATORS = frozenset({"\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"})
_LONGEST_TERMINATOR = 2
_NOWHERE: frozenset[Edge] = frozenset()
_PLACES = {
    (False, False): _NOWHERE,
    (False, True): frozenset({Edge.END}),
    (True, False): frozenset({Edge.START}),
    (True, True): frozenset({Edge.START, Edge.END}),
}
# Steps and answers that one pattern remembers: the names of all instance types are about 1,400, and alike.
_REMEMBERED = 4096


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


def matches_whole(pattern: str, value: str) -> bool | None:
    """Whether a pattern matches a whole value; None if it is not judged, see `why_not_judged`.

    Args:
        pattern: One that `pattern_problem` has nothing against.
        value: The text.
    """
    compiled = _compiled(pattern)
    return None if isinstance(compiled, str) else compiled.accepts(value)


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> _Automaton | str:
    states = _States()
    try:
        start = states.add(read_pattern(pattern), _ACCEPT)
    except UnsupportedPatternError as error:
        return f"the pattern `{pattern}` has {error.reason}, which is not judged"
    except MalformedPatternError as error:
        return f"the pattern `{pattern}` is not one that Java reads: {error.problem}"
    return _Automaton(states, start)


@dataclass(frozen=True, slots=True)
class _State:
    """A state: with `ranges` it takes a character, with `edge` it asks for a place, else it is free to pass."""

    following: tuple[int, ...] = ()
    ranges: Ranges | None = None
    edge: Edge | None = None


class _States:
    """The states of a pattern; each leads to earlier ones only, but for a loop, which leads into itself."""

    def __init__(self) -> None:
        self.all = [_State()]

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
            self.all[loop] = _State((self.add(node.item, loop), then))
            first = loop
        else:
            first = then
            for _ in range(node.most - node.least):
                first = self._new(_State((self.add(node.item, first), then)))
        for _ in range(node.least):
            first = self.add(node.item, first)
        return first

    def _new(self, state: _State) -> int:
        if len(self.all) >= MAX_PATTERN_STATES:
            raise UnsupportedPatternError(f"more than {MAX_PATTERN_STATES} states once its repetitions are written out")
        self.all.append(state)
        return len(self.all) - 1

    def reached(self, at: frozenset[Edge]) -> list[int]:
        """For each state what is reached without taking a character, as bits of states that take one or accept.

        A loop leads to what comes later, so one sweep is enough for each loop that is inside another.

        Args:
            at: The places that are passed.
        """
        reached = self._own_bits()
        changed = True
        while changed:
            changed = False
            for number, state in enumerate(self.all):
                if state.ranges is not None or (state.edge is not None and state.edge not in at):
                    continue
                bits = reached[number]
                for following in state.following:
                    bits |= reached[following]
                if bits != reached[number]:
                    reached[number] = bits
                    changed = True
        return reached

    def _own_bits(self) -> list[int]:
        bits, bit = [_ACCEPTED], _ACCEPTED
        for state in self.all[1:]:
            if state.ranges is not None:
                bit <<= 1
            bits.append(0 if state.ranges is None else bit)
        return bits


class _Steps:
    """Where characters lead to, at one kind of place."""

    __slots__ = ("_after", "_unions")

    def __init__(self, after: list[int]) -> None:
        self._after = after
        self._unions: list[dict[int, int]] = [{} for _ in range(0, len(after), 8)]

    def of(self, taken: int) -> int:
        """What is alive once these states have taken their character; eight of them are looked up at once."""
        alive = 0
        for index, byte in enumerate(taken.to_bytes(len(self._unions), "little")):
            if byte:
                unions = self._unions[index]
                union = unions.get(byte)
                if union is None:
                    union = unions[byte] = self._union(index * 8, byte)
                alive |= union
        return alive

    def _union(self, first: int, byte: int) -> int:
        union = 0
        for offset in range(8):
            if byte >> offset & 1:
                union |= self._after[first + offset]
        return union


class _Automaton:
    """A pattern that is ready to be matched.

    Args:
        states: Its states.
        start: The first of them.
    """

    __slots__ = ("_answers", "_begins", "_has_edges", "_known", "_sets", "_start", "_states", "_steps", "_takes")

    def __init__(self, states: _States, start: int) -> None:
        self._states = states
        self._start = start
        self._has_edges = any(state.edge is not None for state in states.all)
        self._sets: dict[Ranges, int] = {}
        bit = _ACCEPTED
        for state in states.all:
            if state.ranges is not None:
                bit <<= 1
                self._sets[state.ranges] = self._sets.get(state.ranges, 0) | bit
        self._takes: dict[str, int] = {}
        self._begins: dict[frozenset[Edge], int] = {}
        self._steps: dict[frozenset[Edge], _Steps] = {}
        self._known: dict[tuple[int, str, frozenset[Edge]], int] = {}
        self._answers: dict[str, bool] = {}

    def accepts(self, text: str) -> bool:
        answer = self._answers.get(text)
        if answer is None:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            answer = self._answers[text] = bool(self._follow(text))
        return answer

    def _follow(self, text: str) -> int:
        known = self._known
        alive = self._prepared(self._edges_at(text, 0))
        for at, each in enumerate(text):
            edges = self._edges_at(text, at + 1)
            then = known.get((alive, each, edges))
            if then is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                then = known[alive, each, edges] = self._step(alive, each, edges)
            if not then:
                return 0
            alive = then
        return alive & _ACCEPTED

    def _edges_at(self, text: str, at: int) -> frozenset[Edge]:
        """The places that a position of a text is, as far as the pattern asks for any."""
        if not self._has_edges:
            return _NOWHERE
        is_end = at == len(text) or (len(text) - at <= _LONGEST_TERMINATOR and text[at:] in _LINE_TERMINATORS)
        return _PLACES[at == 0, is_end]

    def _prepared(self, at: frozenset[Edge]) -> int:
        """What is alive at a place that has been made ready for steps, before any of them."""
        if at not in self._begins:
            reached = self._states.reached(at)
            after = [0, *(reached[each.following[0]] for each in self._states.all if each.ranges is not None)]
            self._begins[at] = reached[self._start]
            self._steps[at] = _Steps(after)
        return self._begins[at]

    def _step(self, alive: int, character: str, at: frozenset[Edge]) -> int:
        takes = self._takes.get(character)
        if takes is None:
            code = ord(character)
            takes = sum(bits for ranges, bits in self._sets.items() if any(low <= code <= high for low, high in ranges))
            self._takes[character] = takes
        self._prepared(at)
        return self._steps[at].of(alive & takes)
