"""A headless Chromium, for pages to be looked at: it comes with its libraries and a font from package-lock.json.

It is driven over a pipe by the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/).
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from select import select
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

__all__ = ["Browser", "browser"]

_MODULES = Path(__file__).parents[1] / "node_modules"
_PACKAGE = _MODULES / "@sparticuz" / "chromium"
_PHONE = 600
"""Windows that are narrower are those of phones."""
_PATIENCE = 60
"""Seconds in which the browser answers."""
_SAID = 2_000
"""Characters at most of what the browser wrote to its standard error, which a failure shows."""
_UNPACK = "process.stdin.pipe(require('zlib').createBrotliDecompress()).pipe(process.stdout)"
_FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""
# Nothing of the machine's own: no sandbox, which containers forbid, no network services, no GPU.
_OPTIONS = (
    "--headless=shell",
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)


def _unpacked() -> Path:
    """The folder with the browser, which the first call unpacks."""
    version = json.loads((_PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    folder = _MODULES / f".chromium-{version}"
    if folder.exists():
        return folder
    made = Path(mkdtemp(dir=_MODULES, prefix=".chromium-"))
    for name in ("al2023.tar", "fonts.tar"):  # the libraries that it needs, and Open Sans
        with tarfile.open(fileobj=BytesIO(_inflated(name))) as archive:
            archive.extractall(made, filter="data")
    (made / "chromium").write_bytes(_inflated("chromium"))
    (made / "chromium").chmod(0o755)
    made.chmod(0o755)
    try:
        made.rename(folder)
    except OSError:  # another process was faster
        rmtree(made)
    return folder


def _inflated(name: str) -> bytes:
    with (_PACKAGE / "bin" / f"{name}.br").open("rb") as packed:
        return subprocess.run(["node", "-e", _UNPACK], stdin=packed, capture_output=True, check=True).stdout  # noqa: S607 - the node of this project


class Browser:
    """One page in a browser.

    Attributes:
        events: What the browser said that no call asked for.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._left = b""
        self._calls = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Accessibility", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:  # noqa: ANN401 - JSON
        """Calls a method of the protocol.

        Args:
            method: Its name.
            parameters: Its parameters.

        Returns:
            Its result.
        """
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def show(self, path: Path, *, width: int, height: int, dark: bool = False) -> None:
        """Loads a file.

        Args:
            path: The file.
            width: Of the window, in CSS pixels.
            height: Likewise.
            dark: Whether the reader prefers dark pages.
        """
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < _PHONE
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(self._next())

    def run(self, expression: str) -> Any:  # noqa: ANN401 - JSON
        """What JavaScript comes to on the page; a promise is waited for.

        Args:
            expression: The JavaScript.
        """
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Presses a key.

        Args:
            key: Its name, such as ``Tab``.
            code: Its virtual key code.
        """
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, top: float, bottom: float) -> bytes:
        """A part of the page as PNG, as wide as the window.

        Args:
            top: Where it begins, in CSS pixels from the top of the page.
            bottom: Where it ends.
        """
        width = self.run("innerWidth")
        clip = {"x": 0, "y": top, "width": width, "height": bottom - top, "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return b64decode(shot["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            is_there, _, _ = select([self._read], [], [], _PATIENCE)
            more = os.read(self._read, 1 << 20) if is_there else b""
            if not more:
                raise RuntimeError("the browser says nothing" if is_there == [] else "the browser ended")
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    folder = _unpacked()
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    with TemporaryDirectory() as home:
        # It names folders, which are others once the project is moved.
        fonts = Path(home) / "fonts.conf"
        fonts.write_text(_FONTS.format(folder=folder), encoding="utf-8")
        # The protocol reads from 3 and writes to 4.
        start = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_browser, from_browser)  # noqa: UP031 - braces of a shell
        said = Path(home) / "stderr"
        with said.open("wb") as errors:
            process = subprocess.Popen(
                ["bash", "-c", start, str(folder / "chromium"), *_OPTIONS, f"--user-data-dir={home}", "about:blank"],  # noqa: S607
                pass_fds=(to_browser, from_browser),
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": home,
                    "LD_LIBRARY_PATH": str(folder / "lib"),
                    "FONTCONFIG_PATH": home,
                    "FONTCONFIG_FILE": str(fonts),
                },
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Browser(write, read)
        except (RuntimeError, BrokenPipeError) as error:
            raise RuntimeError(f"{error}: {said.read_text(encoding='utf-8', errors='replace')[-_SAID:]}") from error
        finally:
            os.close(write)
            os.close(read)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
