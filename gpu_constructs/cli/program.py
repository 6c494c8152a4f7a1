"""The program: finds the command, and turns whatever goes wrong into words and an exit code.

A command is a module: `define` adds its arguments, `run` does what `COMMANDS` says of it and returns the exit code.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import Any, NoReturn, TextIO, cast

from gpu_constructs.cli.output import columns, say
from gpu_constructs.errors import GpuConstructsError, __version__, brief
from gpu_constructs.facts.budget import MESSAGE

COMMANDS = {
    "check": "says what keeps GPU tasks from running, in templates, cloud assemblies and task definitions",
    "completion": "writes what completes commands and options in bash, zsh or fish",
    "doctor": "says what of old files is to be changed today, and writes a patch that changes it",
    "explain": "says host by host whether a task fits, and why not",
    "init": "writes a configuration that explains itself",
    "instances": "chooses instance types by need and price, or by the model that they must hold",
    "new": "writes an app of your own from a story that runs, or lists the stories with their prices",
    "plan": "says what the hosts cost, and what they need of the account's quotas, before the deploy",
    "preflight": "asks AWS whether the account can have the hosts: quotas, types, images, reservations",
    "rules": "lists the rules, or shows everything about one",
    "run-self-test": "runs a task on hosts that tests their GPUs, and judges what it prints",
    "stop-tasks": "lists the tasks of a cluster that no service keeps, and stops them with --yes",
    "verify": "checks after a deploy whether hosts, GPUs, tasks and providers came up as they should",
    "why": "says why a task or a service of a running cluster waits",
}

_UNREADABLE = 2
_OPTION = methodcaller("startswith", "-")
_NARROW = 80  # columns of a help text that is read in no terminal

_EXAMPLES = """\
examples:
  gpu-constructs check cdk.out                         every stack of a synthesized CDK app
  gpu-constructs check template.yaml --format sarif    for a code scanner
  aws ecs describe-task-definition ... | gpu-constructs check -
  gpu-constructs explain TrainTask cdk.out             why a task does not start
  gpu-constructs instances --gpus 4.. --gpu-memory-gib 40 --price ..20

exit codes:
  0 nothing found, 1 something found, 2 wrong usage, a file that cannot be read, or nothing to check
"""


class _UsageError(Exception):
    """The command line itself is wrong, in argparse's words."""

    def __init__(self, problem: str, usage: str) -> None:
        super().__init__(problem)
        self.usage = usage


class _Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(message, self.format_usage())

    def print_help(self, file: Any = None) -> None:  # noqa: ANN401 - argparse is as free
        """Prints the help; argparse itself says nothing where it cannot."""
        (file or sys.stdout).write(self.format_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    # Python has no stream where the process was started without it.
    sys.stdout = sys.stdout or cast("TextIO", _ClosedStream())
    sys.stderr = sys.stderr or cast("TextIO", _ClosedStream())
    for stream in (sys.stdout, sys.stderr):
        # A name that a terminal's encoding does not have is not a reason to fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatched(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_unwritten(sys.stdout)
        return 141  # 128 + SIGPIPE
    except OSError as error:
        _leave_unwritten(sys.stdout)
        say(f"cannot write the output: {error.strerror}")
        return _UNREADABLE
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as a shell says it
    finally:
        try:
            sys.stderr.flush()
        except (OSError, ValueError):
            _leave_unwritten(sys.stderr)
    return code


class _ClosedStream(io.TextIOBase):
    """A stream that is closed, as the operating system says it."""

    def write(self, _: str, /) -> int:
        raise OSError(errno.EBADF, "it is closed")


def _leave_unwritten(stream: TextIO) -> None:
    """Keeps Python from complaining, when it flushes at exit, about output that cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _dispatched(arguments: list[str]) -> int:
    try:
        parsed, unknown = _parser(arguments).parse_known_args(arguments)
        if unknown:
            parsed.called.error(f"unrecognized arguments: {' '.join(unknown)}")
        return cast("int", parsed.run(parsed))
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except _UsageError as error:
        with suppress(OSError):
            sys.stderr.write(error.usage)
        # Without a command argparse says only that one is missing.
        unknown = [each for each in arguments if each != "--debug"] if all(map(_OPTION, arguments)) else []
        problem = f"unrecognized arguments: {' '.join(unknown)}" if unknown else str(error)
    except GpuConstructsError as error:
        problem = str(error)
    except OSError:  # files are read and written elsewhere: this is stdout
        raise
    except Exception as error:  # noqa: BLE001 - users of a command line want no traceback
        if "--debug" in arguments:
            sys.excepthook(*sys.exc_info())
        crash = f"internal error, {type(error).__name__}: {brief(str(error), MESSAGE)}"
        problem = f"{crash}; please report it, with what --debug shows"
    say(problem)
    return _UNREADABLE


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the called command; where that comes first, the others are left out: their help is not needed."""
    formatter = partial(argparse.RawDescriptionHelpFormatter, width=columns(_NARROW) - 2)
    parser = _Parser(
        prog="gpu-constructs",
        description="Proves that GPU tasks on Amazon ECS fit before anything is deployed.",
        epilog=_EXAMPLES,
        formatter_class=formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpu-constructs {__version__}", help="show the version")
    _add_debug(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    called = next((each for each in arguments if not each.startswith("-")), None)
    for name in (called,) if called in COMMANDS and called == arguments[0] else COMMANDS:
        command = commands.add_parser(
            name,
            help=COMMANDS[name],
            description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
            formatter_class=formatter,
            allow_abbrev=False,
        )
        if name == called:
            module = import_module(module_of(name))
            module.define(command)
            command.epilog = module.EXAMPLES
            _add_debug(command)
            command.set_defaults(run=module.run, called=command)
    return parser


def module_of(command: str) -> str:
    """The module of a command."""
    return f"gpu_constructs.cli.{command.replace('-', '_')}"


def _add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show a traceback if it crashes"
    )
