"""One Python process with its own Node, which measures one thing and prints it as JSON.

`bench.synth` starts one for everything it wants to know and hands it the workload on standard input. Node keeps every
object of every app until it ends, so a process that measures for long measures its own garbage; several short ones do
not.
"""

from __future__ import annotations

import argparse
import gc
import json
import pickle
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

from bench.workloads import Workload

__all__ = ["main"]

# Node compiles what runs often while it runs: the first synths of a process take several times as long as later ones.
_WARM_UP_SECONDS = 3.0
_FEWEST_BLOCKS = 2


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=_MEASURES)
    parser.add_argument("variant", nargs="?", choices=["library", "plain"])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--unchecked", action="store_true")
    arguments = parser.parse_args()
    workload: Workload | None = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by bench.synth
    with tempfile.TemporaryDirectory() as folder, _library(checked=not arguments.unchecked):
        json.dump(_MEASURES[arguments.what](workload, arguments, Path(folder)), sys.stdout)


def _library(*, checked: bool) -> AbstractContextManager[None]:
    """The library as users get it, or without its check at synth."""
    if checked:
        return nullcontext()
    from bench.variants import without_the_check  # noqa: PLC0415 - starts Node

    return without_the_check()


def _times(workload: Workload, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Milliseconds of each synth, in blocks of library, plain, plain, library and blocks the other way round."""
    from bench.variants import forget, synthesize  # noqa: PLC0415 - starts Node

    def timed(variant: str, workload: Workload) -> float:
        forget()
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        synthesize(variant, workload, folder / variant, validation=arguments.validation)
        elapsed = time.perf_counter() - start
        gc.enable()
        return elapsed * 1000

    empty = workload.without_capacity() if workload.capacities else None
    warm = time.monotonic() + _WARM_UP_SECONDS
    blocks: list[list[tuple[str, float]]] = []
    empties: list[tuple[str, float]] = []
    end = warm + arguments.seconds
    first, second = "library", "plain"
    while (started := time.monotonic()) < end or len(blocks) < _FEWEST_BLOCKS:
        block = [(variant, timed(variant, workload)) for variant in (first, second, second, first)]
        without = [(variant, timed(variant, empty)) for variant in (first, second)] if empty else []
        first, second = second, first
        if started >= warm:
            blocks.append(block)
            empties += without
    return {"blocks": blocks, "empty": empties}


def _calls(workload: Workload, arguments: argparse.Namespace, folder: Path) -> dict[str, int]:
    """Requests from Python to Node during one warm synth, by what they ask for."""
    from jsii._kernel.providers.process import _NodeProcess  # noqa: PLC0415 - starts Node

    from bench.variants import forget, synthesize  # noqa: PLC0415 - starts Node

    synthesize(arguments.variant, workload, folder)
    calls: Counter[str] = Counter()
    send: Callable[..., Any] = _NodeProcess.send

    def counting(process: object, request: object, response_type: object) -> object:
        calls[_described(request)] += 1
        return send(process, request, response_type)

    forget()
    with mock.patch.object(_NodeProcess, "send", counting):
        synthesize(arguments.variant, workload, folder)
    return dict(calls)


def _described(request: Any) -> str:  # noqa: ANN401 - jsii's requests have no type in common
    kind = type(request).__name__.removesuffix("Request")
    reference = getattr(request, "objref", None)
    of = getattr(request, "fqn", None) or (reference.ref.partition("@")[0] if reference else "")
    member = getattr(request, "method", None) or getattr(request, "property", None)
    return f"{kind} {of.removeprefix('aws-cdk-lib.')}{f'.{member}' if member else ''}"


def _first(workload: Workload | None, arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """What a fresh process takes for its first synth, or only to import CDK and make an app.

    Milliseconds with all imports and the start of Node, and peak resident memory in MiB of Python and of Node.
    """
    start = time.perf_counter()
    import aws_cdk as cdk  # noqa: PLC0415 - starts Node
    from jsii._kernel import Kernel  # noqa: PLC0415 - starts Node

    if workload:
        from bench.variants import synthesize  # noqa: PLC0415 - starts Node

        synthesize(arguments.variant, workload, folder)
    else:
        cdk.App(outdir=str(folder))
    elapsed = (time.perf_counter() - start) * 1000
    # Children count once they have ended.
    Kernel().provider._process.stop()  # type: ignore[attr-defined]  # noqa: SLF001 - jsii has no other way to end Node
    # Kilobytes on Linux, bytes on macOS (getrusage(2)).
    mebibyte = 2**20 if sys.platform == "darwin" else 2**10
    return {
        "ms": elapsed,
        "python": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / mebibyte,
        "node": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / mebibyte,
    }


def _same(workload: Workload, _arguments: argparse.Namespace, _folder: Path) -> list[str]:
    """Lines of a diff between the templates of both variants."""
    from bench.same import differences  # noqa: PLC0415 - starts Node

    return differences([workload])[workload.name]


_MEASURES: dict[str, Callable[..., Any]] = {
    "times": _times,
    "calls": _calls,
    "first": _first,
    "same": _same,
}

if __name__ == "__main__":
    main()
