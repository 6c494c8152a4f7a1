"""``python -m gpu_constructs`` and the command ``gpu-constructs``, which an interrupt ends in silence at any time.

Python makes an exception of an interrupt, which nobody takes while modules are loaded and after the program has ended.
"""

from __future__ import annotations

import signal

_INTERRUPTS = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it is ignored where a shell says so
if _INTERRUPTS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc  # noqa: E402 - what is loaded from here on can be interrupted
import sys  # noqa: E402

from gpu_constructs.errors import GpuConstructsError  # noqa: E402

_OBJECTS = 5_000_000
"""Objects that are kept before reference cycles are looked for, some 500 MiB of them; by Python's default, 700."""

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
    # The values of a file have no reference cycles, and to look for some takes 40 % of the time of 50,000 resources.
    gc.set_threshold(_OBJECTS)
    try:
        return program()
    finally:
        gc.freeze()  # else Python looks at all that is left when the process ends
        if _INTERRUPTS:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
