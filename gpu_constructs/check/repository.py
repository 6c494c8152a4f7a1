"""What is there to check below a directory?

Files are known by what is in them, not by their names: most are put aside by their first bytes, and none is parsed
here. What belongs together is a `World`: the files of one directory, a cloud assembly with all that is in it, or a plan
of Terraform, which says all that its state has.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from gpu_constructs.check.patterns import Patterns
from gpu_constructs.facts.budget import SNIFFED, WALKED
from gpu_constructs.facts.values import dataclass
from gpu_constructs.template import UnreadableError
from gpu_constructs.template.documents.assembly import MANIFEST

_NEVER = frozenset({".git", ".hg", ".svn", ".terraform", ".tox", ".venv", "__pycache__", "node_modules"})
_VENV = "pyvenv.cfg"
_ENDS = (MANIFEST, _VENV)
_IGNORED = ".gitignore"
# Where a hook of git runs, these name the repository of the commit, which need not be that of the directory.
_OF_A_HOOK = frozenset(
    {"GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE"}
)
_LIST = ("ls-files", "-z", "--others", "--exclude-standard")
_NOT_OPENED = re.compile(r"^warning: could not open directory '(.*)': (.*)$", re.MULTILINE)

# A key that a file has which is read here, in JSON or in YAML; more is asked once it is parsed.
_KEY = re.compile(
    rb"""(?:^|[{,\s])["']?(?:Resources|AWSTemplateFormatVersion|[cC]ontainerDefinitions|[cC]ontainerProperties"""
    rb"""|[nN]odeProperties|[eE]csProperties|[eE]ksProperties|[cC]omputeResources|[cC]omputeEnvironmentOrder"""
    rb"""|[tT]askDefinition|[jJ]obDefinition|terraform_version)["']?\s*:"""
)
_PLAN = re.compile(rb'"terraform_version"\s*:')
_OF_CONTAINERS = re.compile(rb"""["']?[iI]mage["']?\s*:""")
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(.)", re.DOTALL)
_BEGIN = 4 * 1024
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What is checked together: nothing outside of it is known.

    Attributes:
        inputs: Files, or one cloud assembly, as a report names them.
        found: Those that were found below a directory, so that nobody named them.
    """

    inputs: tuple[str, ...]
    found: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is below a directory.

    Attributes:
        worlds: What there is to check, in the order of the names.
        skipped: How many files are nothing that is read here.
        ignored: Cloud assemblies that are left out, because git ignores them.
    """

    worlds: tuple[World, ...]
    skipped: int = 0
    unreadable: tuple[UnreadableError, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which files somebody wants, by patterns as in a ``.gitignore``.

    Attributes:
        include: Nothing else is looked at; all where there is none.
    """

    folder: str = os.curdir
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def chooses(self, paths: Iterable[str], *, are_folders: bool = False) -> Iterator[str]:
        """The paths that are wanted."""
        included, excluded = Patterns(self.include), Patterns(self.exclude)
        for path in paths:
            name = os.path.relpath(path, self.folder) if self.include or self.exclude else path
            is_meant = not self.include or included.means(name, is_folder=are_folders)
            if is_meant and not (self.exclude and excluded.means(name, is_folder=are_folders)):
                yield path


def worlds_of(paths: Sequence[str], selections: Sequence[Selection] = (), *, together: bool = False) -> Found:
    """What there is to check at some paths: what is named is checked, whatever the selections and git say of it.

    Files that are named belong together. With `together`, all is one world.
    """
    named = tuple(dict.fromkeys(each for each in paths if not os.path.isdir(each)))
    folders = [each for each in dict.fromkeys(paths) if os.path.isdir(each)]
    below = [found_below(each, selections) for each in folders if not is_assembly(each)]
    taken = {os.path.realpath(each) for each in named if "\0" not in each}
    worlds = [World(inputs=named)] if named else []
    worlds += [World(inputs=(each,)) for each in folders if is_assembly(each)]
    for world in chain(*(each.worlds for each in below)):
        real = {each: os.path.realpath(each) for each in world.inputs}
        fresh = [each for each in world.inputs if real[each] not in taken]
        taken.update(real[each] for each in fresh)
        worlds += [World(inputs=tuple(fresh), found=frozenset(fresh))] if fresh else []
    if together and worlds:
        inputs, found = (chain(*(getattr(each, of) for each in worlds)) for of in ("inputs", "found"))
        worlds = [World(inputs=tuple(inputs), found=frozenset(found))]
    return Found(
        worlds=tuple(worlds),
        skipped=sum(each.skipped for each in below),
        unreadable=tuple(chain(*(each.unreadable for each in below))),
        ignored=tuple(chain(*(each.ignored for each in below))),
    )


def found_below(root: str, selections: Sequence[Selection] = ()) -> Found:
    """Looks at what is below a directory and not ignored by git; links to directories are not followed."""
    walk = _Walk(root)
    names = list(islice(walk.files(), WALKED + 1))
    if len(names) > WALKED:
        names.pop()
        fix = "name directories in it, or leave some out with --exclude"
        walk.unreadable.append(UnreadableError(f"more than {WALKED:,} files are below it", file=root, fix=fix))
    ends = {each: [os.path.dirname(name) for name in names if os.path.basename(name) == each] for each in _ENDS}
    assemblies = {each for each in ends[MANIFEST] if is_assembly(walk.path(each))}
    closed = {*assemblies, *ends[_VENV]}
    folders = {walk.path(each): each for each in assemblies if not _is_below(each, closed)}
    paths = {walk.path(each): os.path.dirname(each) for each in sorted(set(names)) if not _is_below(each, closed)}
    wanted_folders, wanted = list(folders), list(paths)
    for selection in selections:
        wanted_folders = list(selection.chooses(wanted_folders, are_folders=True))
        wanted = list(selection.chooses(wanted))
    worlds = {folders[each]: [each] for each in wanted_folders}
    skipped = 0
    for path in wanted:
        if walk.is_likely(path):
            is_plan = bool(_PLAN.search(_begin_of(path, _BEGIN) or b""))
            world = os.path.join(paths[path], os.path.basename(path)) if is_plan else paths[path]
            worlds.setdefault(world, []).append(path)
        else:
            skipped += 1
    return Found(
        worlds=tuple(World(inputs=tuple(worlds[each]), found=frozenset(worlds[each])) for each in sorted(worlds)),
        skipped=skipped,
        unreadable=tuple(walk.unreadable),
        ignored=tuple(path for path in map(walk.path, sorted(walk.ignored)) if is_assembly(path)),
    )


def is_assembly(folder: str) -> bool:
    """Whether a directory is a cloud assembly; a manifest of a web app is another one."""
    content = _begin_of(os.path.join(folder, MANIFEST), SNIFFED)
    return content is not None and b'"artifacts"' in content and b'"version"' in content


def top_of(folder: str) -> str | None:
    """The repository that a directory is in: the nearest one above it, or itself, with ``.git``."""
    return next(
        (each for each in upwards(os.path.abspath(folder)) if os.path.lexists(os.path.join(each, ".git"))), None
    )


def upwards(folder: str) -> Iterator[str]:
    """An absolute directory, and each one around it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def _is_below(path: str, folders: set[str]) -> bool:
    while path:
        path = path.rpartition("/")[0]
        if path in folders:
            return True
    return False


class _Walk:
    """The files below one directory, by their path from there."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.unreadable: list[UnreadableError] = []
        self.ignored: list[str] = []

    def path(self, name: str) -> str:
        """The path of a file as a report has it."""
        if not name:
            return self._root
        return name if self._root == os.curdir else os.path.join(self._root, name)

    def files(self) -> Iterator[str]:
        """All files that git does not ignore, and that are in no directory of tools."""
        listed = self._listed("") if top_of(self._root) else None
        if listed:
            yield from self._known(listed, "")
        else:
            yield from self._scanned("", *self._patterns_above())

    def _known(self, listed: Sequence[str], folder: str) -> Iterator[str]:
        """What git lists; of a repository in this one, it says no more than the directory."""
        for each in listed:
            name = each.rstrip("/")
            if not _NEVER.isdisjoint(name.split("/")):
                continue
            if not os.path.isdir(self.path(name)) or os.path.islink(self.path(name)):
                yield name
            elif name != folder:
                below = self._listed(name)
                yield from self._scanned(name) if below is None else self._known(below, name)

    def _listed(self, folder: str) -> list[str] | None:
        """What git knows or does not ignore; None where it does not say.

        It may not be installed, or refuse a directory of another user, as in containers.
        """
        known = self._asked(folder, *_LIST, "--cached")
        ignored = None if known is None else self._asked(folder, *_LIST, "--ignored", "--directory")
        if known is None or ignored is None:
            return None
        self.ignored += [each.rstrip("/") for each in ignored if each.endswith("/")]
        return known

    def _asked(self, folder: str, *question: str) -> list[str] | None:
        import subprocess  # noqa: PLC0415 - for directories in a repository alone

        surroundings = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
        # What a repository names as its monitor of files is a program of somebody else.
        command = ("git", "-c", "core.fsmonitor=false", *question)
        try:
            told = subprocess.run(
                command,
                cwd=self.path(folder),
                env={**surroundings, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
                capture_output=True,
                check=False,
            )
        except OSError:
            return None
        if told.returncode:
            return None
        for name, why in _NOT_OPENED.findall(os.fsdecode(told.stderr)) if "--cached" in question else ():
            self._not_read(self.path(os.path.join(folder, name.rstrip("/"))), why)
        return [os.path.join(folder, each) for each in os.fsdecode(told.stdout).split("\0") if each]

    # -- where git does not say --------------------------------------------------------------------------------------

    def _patterns_above(self) -> Sequence[tuple[str, Patterns]]:
        """What files above the directory ignore in it; nothing where it is ignored itself and named all the same."""
        here, top = os.path.abspath(self._root), top_of(self._root)
        if top is None:
            return []
        above = [each for each in upwards(os.path.dirname(here)) if f"{each}/".startswith(f"{top.rstrip('/')}/")]
        found = [*_patterns_in(top, os.path.join(".git", "info", "exclude"))]
        found += [pair for each in reversed(above) for pair in _patterns_in(each, _IGNORED)]
        return (
            []
            if here != top and any(each.means(_beyond(here, folder), is_folder=True) for folder, each in found)
            else found
        )

    def _scanned(self, start: str, *patterns: tuple[str, Patterns]) -> Iterator[str]:
        waiting: list[tuple[str, tuple[tuple[str, Patterns], ...]]] = [(start, patterns)]
        while waiting:
            name, around = waiting.pop()
            folder = self.path(name)
            try:
                with os.scandir(folder or os.curdir) as opened:
                    entries = sorted(opened, key=lambda each: each.name)
            except OSError as error:
                self._not_read(folder, error.strerror or "")
                continue
            here = (*around, *_patterns_in(os.path.abspath(folder), _IGNORED))
            for each in entries:
                below = os.path.join(name, each.name)
                is_folder = each.is_dir(follow_symlinks=False)
                if each.name in _NEVER and is_folder:
                    continue
                if _is_ignored(os.path.abspath(each.path), here, is_folder=is_folder):
                    self.ignored += [below] if is_folder else []
                elif is_folder:
                    waiting.append((below, here))
                else:
                    yield below

    # -- what is in a file -------------------------------------------------------------------------------------------

    def is_likely(self, path: str) -> bool:
        """Whether a file is worth parsing, by its first bytes, and the names of keys in it."""
        content = _begin_of(path, _BEGIN, self._not_read)
        if content is not None and content.startswith(_UTF_16):  # is told when it is read
            content = (_begin_of(path, SNIFFED) or b"").decode("utf-16", "ignore").encode()
        first = _FIRST.match(content or b"")
        if content is None or first is None or b"\0" in content:
            return False
        if len(content) == _BEGIN and not _KEY.search(content):
            content = _begin_of(path, SNIFFED) or b""
        return bool(_KEY.search(content)) or (first[1] in b"[-" and bool(_OF_CONTAINERS.search(content)))

    def _not_read(self, path: str, why: str) -> None:
        self.unreadable.append(UnreadableError(f"cannot be read: {why.lower()}", file=path))


def _begin_of(path: str, size: int, refuse: Callable[[str, str], None] | None = None) -> bytes | None:
    """The first bytes of a plain file; None of what is none, such as a pipe, or cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb", buffering=0) as opened:
            return opened.read(size)
    except OSError as error:
        if refuse is not None and not isinstance(error, FileNotFoundError):  # removed since, or a link to nothing
            refuse(path, error.strerror or "")
        return None


def _patterns_in(folder: str, name: str) -> list[tuple[str, Patterns]]:
    content = _begin_of(os.path.join(folder, name), SNIFFED)
    return [(folder, Patterns(os.fsdecode(content).splitlines()))] if content else []


def _is_ignored(path: str, patterns: Sequence[tuple[str, Patterns]], *, is_folder: bool) -> bool:
    """What the nearest file says that says anything."""
    for folder, each in reversed(patterns):
        decided = each.decides(_beyond(path, folder), is_folder=is_folder)
        if decided is not None:
            return decided
    return False


def _beyond(path: str, folder: str) -> str:
    return path[len(folder.rstrip("/")) + 1 :]
