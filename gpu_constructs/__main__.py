"""``python -m gpu_constructs`` and the command ``gpu-constructs``, which an interrupt ends in silence at any time.

Python makes an exception of an interrupt, which nobody takes while modules are loaded and after the program has ended.
"""

from __future__ import annotations

import signal

_INTERRUPTS = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it is ignored where a shell says so
if _INTERRUPTS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys  # noqa: E402 - what is loaded from here on can be interrupted

from gpu_constructs.errors import GpuConstructsError  # noqa: E402

try:
    from gpu_constructs.cli import main as program
except GpuConstructsError as problem:  # a catalogue of the environment that cannot be read
    sys.stderr.write(f"gpu-constructs: {problem}\n")
    sys.exit(2)


def main() -> int:
    """Runs the command line.

    Returns:
        The exit code.
    """
    if _INTERRUPTS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return program()
    finally:
        if _INTERRUPTS:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
