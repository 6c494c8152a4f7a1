"""Files that are read: each once, up to a limit, and none outside of the directory that it belongs to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpu_constructs.budget import BYTES, TOTAL_BYTES
from gpu_constructs.errors import shown
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.unreadable import UnreadableError


class Files:
    """The files of one call.

    Attributes:
        documents: What was read, by the file's name as the user sees it.
    """

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self._bytes = 0
        self._real: dict[str, str] = {}

    def inside(self, root: str, path: str, *, wanted_by: str) -> Document:
        """A file that another one names; a plain file, and none outside of a directory."""
        self.require_inside(root, path, wanted_by=wanted_by)
        return self.read(path, only_plain=True)

    def is_inside(self, root: str, path: str) -> bool:
        """Whether a path stays in a directory, links followed."""
        try:
            folder = self._real.get(root) or self._real.setdefault(root, os.path.realpath(root))
            found = os.path.realpath(path)
            # What is still a link leads in a circle.
            return f"{found}/".startswith(f"{folder.rstrip('/')}/") and not Path(found).is_symlink()
        except (OSError, ValueError):  # a NUL in it
            return False

    def require_inside(self, root: str, path: str, *, wanted_by: str) -> None:
        """Refuses a path that leads out of a directory, be it over a link."""
        if not self.is_inside(root, path):
            raise UnreadableError(
                f"names a file outside of its directory: {shown(path)}", file=wanted_by, allowed=f"files in {root}"
            )

    def take(self, document: Document) -> Document:
        """Keeps a document that was read elsewhere."""
        self.documents[document.file] = document
        return document

    def read(self, file: str, *, only_plain: bool = False) -> Document:
        """A file that the user named, which may be a pipe; or one that must be a plain file."""
        if file in self.documents:
            return self.documents[file]
        try:
            if only_plain and not stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116 - resolved where it is opened
                raise UnreadableError("a device, a pipe or a directory", file=file, allowed="a plain file")
            with open(file, "rb") as opened:  # noqa: PTH123 - a path keeps the user's spelling
                content = opened.read(BYTES + 1)
        except (OSError, ValueError) as error:
            if isinstance(error, UnreadableError):
                raise
            raise UnreadableError(_reason(error), file=file) from None
        self._bytes += len(content)
        if self._bytes > TOTAL_BYTES:
            raise UnreadableError(f"more than {TOTAL_BYTES // 1024**2} MiB in all files together", file=file)
        return self.take(Document.read(content, file=file))


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return f"cannot be read: {text[:1].lower()}{text[1:]}"
