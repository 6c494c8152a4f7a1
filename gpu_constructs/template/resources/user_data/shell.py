"""A shell script as a tree of commands: their words, what they stand behind, and the files that they write to.

Nothing is executed and nothing is expanded. Each character is looked at once, so that no script can stall a reader.
Grammar: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpu_constructs.budget import DEPTH

_SKIPPED = re.compile(r"(?:[ \t\r]|\\\r?\n)+|#[^\n]*")
_HERE = re.compile(r"<<(?!<)(-?)[ \t]*(['\"\\]?)([^\s'\"\\;&|<>()]+)['\"]?")
_REDIRECT = re.compile(r"([0-9]?)(&>>?|>>|>\||[<>]&|<<<|<>|<|>)(?!\()")
_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|;|\|&?|&|\(|\)|\n")
_PIECE = re.compile(r"([^\s;&|<>()'\"\\`$]+|`[^`]*`|\$(?!\())|'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\\"`$\n])")
_BRACKET = re.compile(r"[()]")
_SUBSTITUTIONS = ("$(", "<(", ">(")

_LISTS = frozenset({"case", "for", "select"})  # words follow, no command
_ENDS = frozenset({"done", "esac", "fi"})
_OPENS = dict.fromkeys([*_LISTS, "if", "until", "while"], _ENDS) | {"{": frozenset({"}"})}
_CLOSES = _ENDS | {"}"}
_CONTINUES = frozenset({"!", "do", "elif", "else", "then", "time"})


@dataclass(slots=True)
class Command:
    """One command, or several in brackets or in a branch.

    Attributes:
        before: The operator that it stands behind: ``&&``, ``|``, ``;``, a newline; empty for the first.
        words: Its words without their quotes, files that it reads among them. A ``$`` that the shell leaves alone is
            followed by a space.
        writes: Files that it writes to, and whether each is written anew.
        lines: Lines of its here-documents.
        body: The commands within it.
        closes: What ends it.
        is_branch: Whether hosts may pass it by.
    """

    before: str = ""
    words: list[str] = field(default_factory=list)
    writes: list[tuple[str, bool]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    body: list[Command] = field(default_factory=list)
    closes: frozenset[str] = frozenset()
    is_branch: bool = False


def commands_of(text: str) -> tuple[list[Command], bool]:
    """The commands of a script in order, and whether all of it is understood."""
    parser = _Parser(text)
    parser.run()
    return parser.stack[0].body, parser.is_understood and len(parser.stack) == 1


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.stack = [Command()]
        self.is_understood = True
        self.is_function = False
        self.waiting: list[tuple[Command, re.Match[str]]] = []
        self.start("")

    def start(self, before: str) -> None:
        self.here = Command(before)
        self.stack[-1].body.append(self.here)

    def run(self) -> None:
        while self.position < len(self.text):
            if self.match(_SKIPPED):
                continue
            if found := self.match(_HERE):
                self.waiting.append((self.here, found))
            elif found := self.match(_REDIRECT):
                self.redirect(*found.groups())
            elif found := None if self.text.startswith(_SUBSTITUTIONS, self.position) else self.match(_OPERATOR):
                self.operator(found[0])
            else:
                self.take(self.word())
            if len(self.stack) > DEPTH:
                return

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def redirect(self, descriptor: str, sign: str) -> None:
        self.match(_SKIPPED)
        file = self.word()
        if sign.startswith("<"):
            self.here.words += [] if sign == "<&" else [file]
        elif sign != ">&" and descriptor in {"", "1"}:
            self.here.writes.append((file, ">>" not in sign))

    def operator(self, sign: str) -> None:
        top = self.stack[-1]
        if sign == "\n":
            self.documents()
        if sign == "(":
            # Behind a word: a function, or an array.
            self.is_function = bool(self.here.words)
            self.is_understood &= not self.is_function
            self.here.words.clear()
            self.open(frozenset({")"}), is_branch=self.is_function)
        elif sign == ")" and ")" in top.closes:
            self.close()
        else:
            # What stands before a bracket that nothing opened is a pattern of "case".
            while sign == ")" and top.body and top.body.pop().before == "|":
                pass
            self.start(sign)

    def open(self, closes: frozenset[str], *, is_branch: bool) -> None:
        if self.here.body:
            self.start(";")
        self.here.closes, self.here.is_branch = closes, is_branch
        self.stack.append(self.here)
        self.start("")

    def close(self) -> None:
        """Ends what is open; what follows says where its output goes."""
        if len(self.stack) > 1:
            self.here = self.stack.pop()

    def take(self, word: str) -> None:
        is_first = not self.here.words
        if is_first and word in _OPENS:
            is_branch = word != "{" or self.is_function
            self.is_function = False
            self.open(_OPENS[word], is_branch=is_branch)
            self.here.words += [word] if word in _LISTS else []
        elif is_first and word in _CLOSES:
            if word in self.stack[-1].closes:
                self.close()
        elif self.here.words == ["function"]:
            self.here.words.clear()
            self.is_function, self.is_understood = True, False
        elif not (is_first and word in _CONTINUES):
            self.here.words.append(word)

    def word(self) -> str:
        """The word that begins here; one that is never closed goes to the end of the script."""
        start, parts = self.position, []
        while self.position < len(self.text):
            if self.text.startswith(_SUBSTITUTIONS, self.position):
                parts.append("$()" if self.text[self.position] == "$" else "/dev/fd/63")
                closed = self.bracket()
            elif found := self.match(_PIECE):
                plain, single, double, escaped = found.groups()
                unescaped = _ESCAPED.sub(lambda each: _left_alone(each[1]).strip("\n"), double or "")
                parts.append(plain or _left_alone(single) or unescaped or _left_alone(escaped).strip("\n"))
                closed = True
            else:
                closed = self.text[self.position] not in "'\"`\\"
                if closed and self.position > start:
                    break
                self.position += closed
            if not closed:
                self.is_understood, self.position = False, len(self.text)
        return "".join(parts)

    def bracket(self) -> bool:
        """Goes behind the bracket that closes the next one; whether there is one."""
        depth = 0
        for found in _BRACKET.finditer(self.text, self.position):
            depth += 1 if found[0] == "(" else -1
            if depth == 0:
                self.position = found.end()
                return True
        return False

    def documents(self) -> None:
        """Gives commands of a line their here-documents, which follow it."""
        for command, (strips, quote, mark) in [(each, found.groups()) for each, found in self.waiting]:
            while self.position < len(self.text):
                stop = self.text.find("\n", self.position)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.position : stop].rstrip("\r")
                self.position = min(stop + 1, len(self.text))
                if (line.lstrip("\t") if strips else line) == mark:
                    break
                command.lines.append(_left_alone(line) if quote else line)
        self.waiting.clear()


def _left_alone(text: str | None) -> str:
    return (text or "").replace("$", "$ ")
