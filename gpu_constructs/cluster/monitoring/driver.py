"""The NVIDIA driver of the host: what its nvidia-smi prints, and the Xids that it writes to the kernel log.

The daemon's container gets this file as text, between `ecs_host` and `collector`. After some faults nvidia-smi neither
answers nor ends when it is killed (https://github.com/leptonai/gpud/pull/117), so nothing here waits for its end.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import dataclass

from gpu_constructs.cluster.monitoring.readings import (
    MOST_BYTES,
    MOST_TEXT,
    Reading,
    Unreadable,
    gpus_of_driver,
    xids_in,
)

__all__ = ["Driver", "DriverGone"]

SECONDS_OF_DRIVER = 40  # for nvidia-smi
# Return values: auxiliary power, driver not loaded, interrupts, GPU not reachable. Manual of nvidia-smi,
# https://docs.nvidia.com/deploy/nvidia-smi/index.html
OF_BROKEN_HOSTS = (8, 9, 10, 15)


class DriverGone(Unreadable):
    """The driver answers no more, or nvidia-smi says that it or a GPU cannot work."""


@dataclass
class Driver:
    """The driver of a host.

    Attributes:
        root: Where the root of the host is.
        programs: Folders of the host that may have nvidia-smi, as in PATH.
        kernel_log: The kernel log.
        lasting: Xids that count even if they were logged before this container started.
    """

    root: str
    programs: str
    kernel_log: str
    lasting: frozenset[int]
    _asked: subprocess.Popen[bytes] | None = None
    _has_answered: bool = False
    _log: int | None = None

    def gpus(self) -> Reading:
        """What nvidia-smi prints now."""
        if self._asked is None or self._asked.poll() is not None:
            self._asked = self._ask()
            try:
                said, error = self._asked.communicate(timeout=SECONDS_OF_DRIVER)
            except subprocess.TimeoutExpired:
                self._asked.kill()
                for pipe in (self._asked.stdout, self._asked.stderr):
                    if pipe is not None:
                        pipe.close()
            else:
                return self._reading(self._asked.returncode, said, error)
        raise DriverGone(f"nvidia-smi has not ended after {SECONDS_OF_DRIVER} seconds")

    def _ask(self) -> subprocess.Popen[bytes]:
        root = self.root
        try:
            # It is looked for in PATH after the change of root, without `env` or a shell, which Bottlerocket lacks.
            return subprocess.Popen(
                ["nvidia-smi", "-q", "-x"],  # noqa: S607  # each system has it in another folder
                env={"PATH": self.programs},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=None if root == "/" else lambda: os.chroot(root),  # noqa: PLW1509  # there are no threads
            )
        except FileNotFoundError:
            raise Unreadable(f"the host has no nvidia-smi in {self.programs}") from None

    def _reading(self, returned: int, said: bytes, error: bytes) -> Reading:
        # After a GPU is lost it prints the others and ends with an error.
        if b"No devices were found" in said:
            reading = Reading()
        elif returned and b"<gpu " not in said:
            text = f"nvidia-smi ended with {returned}: {(said + error).decode(errors='replace').strip()[:MOST_TEXT]}"
            raise DriverGone(text) if self._has_answered or returned in OF_BROKEN_HOSTS else Unreadable(text)
        else:
            reading = gpus_of_driver(said)
        self._has_answered = True
        return reading

    def xids(self) -> Counter[tuple[str, int]]:
        """How often which Xid was logged since the last time, by its place on the PCI bus."""
        is_first = self._log is None
        if self._log is None:
            self._log = os.open(self.kernel_log, os.O_RDONLY | os.O_NONBLOCK)
        records: list[bytes] = []
        left = MOST_BYTES
        while left > 0:
            try:
                record = os.read(self._log, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:  # records were overwritten before they were read
                continue
            if not record:
                break
            records.append(record)
            left -= len(record)
        found = xids_in(b"".join(records).decode(errors="replace"))
        return Counter(each for each in found if not is_first or each[1] in self.lasting)
