"""Draws the pictures of a plan's page in the guide, with a headless browser.

Run as ``python -m tools.draw_plan_page``; a test holds that the pictures are up to date. Each names the page that it
shows, because browsers do not draw the same bytes on every processor.
"""

from __future__ import annotations

import struct
import sys
import zlib
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from gpu_constructs.planning import plan
from gpu_constructs.planning.page import page
from tests.planning.drawn_fleet import pictured_fleet
from tools.browser import browser

__all__ = ["PICTURES", "main", "mark", "marked_with"]

_DOCS = Path(__file__).parents[1] / "docs"
PICTURES = {
    # Width of the window, and what the picture begins and ends with.
    _DOCS / "plan-desktop.png": (1280, "header", ".pool"),
    _DOCS / "plan-phone.png": (390, "#hosts", ".pool .host:nth-child(3)"),
}
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEY = b"Page\0"
_MARGIN = 16


def main() -> int:
    """Writes the pictures."""
    html = _page()
    with TemporaryDirectory() as folder, browser() as found:
        file = Path(folder) / "plan.html"
        file.write_text(html, encoding="ascii")
        for path, (width, start, end) in PICTURES.items():
            found.show(file, width=width, height=900)
            top = found.run(f"document.querySelector({start!r}).getBoundingClientRect().top + scrollY")
            bottom = found.run(f"document.querySelector({end!r}).getBoundingClientRect().bottom + scrollY")
            path.write_bytes(_with_mark(found.picture(max(0, top - _MARGIN), bottom + _MARGIN), mark(html)))
    return 0


def mark(html: str | None = None) -> str:
    """What a picture of a page is marked with.

    Args:
        html: The page; None for the one that the pictures show.
    """
    return sha256((_page() if html is None else html).encode()).hexdigest()


def marked_with(png: bytes) -> str:
    """What a picture is marked with.

    Args:
        png: The picture.
    """
    return next((data.removeprefix(_KEY).decode() for kind, data in _chunks(png) if kind == b"tEXt"), "")


def _page() -> str:
    return page(plan(pictured_fleet()), title="GPU plan of cdk.out")


def _with_mark(png: bytes, text: str) -> bytes:
    """A picture with a mark, and as small as it gets."""
    chunks = _chunks(png)
    pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    head = next(data for kind, data in chunks if kind == b"IHDR")
    written = [
        (b"IHDR", head),
        (b"tEXt", _KEY + text.encode()),
        (b"IDAT", zlib.compress(pixels, 9)),
        (b"IEND", b""),
    ]
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in written
    )


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found, place = [], len(_SIGNATURE)
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        found.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + length]))
        place += 12 + length
    return found


if __name__ == "__main__":
    sys.exit(main())
