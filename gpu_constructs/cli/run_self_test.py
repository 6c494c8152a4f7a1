"""``gpu-constructs run-self-test``: runs a task on hosts that tests their GPUs; this command changes something."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from threading import current_thread, main_thread

from gpu_constructs.account.live.self_test import FAMILY, IMAGE, Request
from gpu_constructs.cli.live_answers import account_part, add_waiting, clusters_named, facts_of, lines_of
from gpu_constructs.cli.options import add_repeated
from gpu_constructs.cli.output import json_text, pieces, say, write_report
from gpu_constructs.errors import InvalidValueError

_MINUTES = 20

EXAMPLES = f"""\
examples:
  gpu-constructs run-self-test Demo                     one host of each type that the cluster of a stack has
  gpu-constructs run-self-test --cluster demo --capacity L4
  gpu-constructs run-self-test --cluster demo --host i-0ab1c2d3e4f5
  gpu-constructs run-self-test --policy >policy.json

It registers a task definition {FAMILY}, and runs one task of it for
each host, type or capacity provider, which asks for all GPUs of its host. Where
tasks hold them it waits. Only for --capacity does a new host start, which costs
what it costs. Its tasks are stopped and its task definitions deregistered however
it ends, also with Ctrl-C. Its log group {FAMILY} stays.

exit codes:
  0 all is as it should be, 1 something is not, or a test did not end, 2 wrong usage, or AWS did not answer,
  130 it was interrupted
"""


def define(parser: argparse.ArgumentParser) -> None:
    capacity = (
        "test a host of this capacity provider, which starts one where none is free: its name, or the id of its "
        "capacity in the app"
    )
    add_repeated(parser, "--capacity", "PROVIDER", capacity)
    add_repeated(parser, "--host", "INSTANCE", "test this host")
    parser.add_argument(
        "--image",
        default=IMAGE,
        help=f"image of the task; with PyTorch and nccl-tests it tests CUDA and NCCL too; default: {IMAGE}",
    )
    add_waiting(parser, _MINUTES, "all tests together")


def run(arguments: argparse.Namespace) -> int:
    account = account_part("live_cluster")
    part = import_module("gpu_constructs.account.self_test")
    if arguments.policy:
        sys.stdout.write(json_text(part.POLICY))
        return 0
    clients = account.clients_of(arguments.profile)
    with _stopped_as_interrupted():
        cluster = _cluster(arguments, clients)
        request = Request(
            cluster=cluster,
            capacity=tuple(arguments.capacity),
            hosts=tuple(arguments.host),
            image=arguments.image,
            minutes=arguments.minutes,
            region=arguments.region,
        )
        end = part.run_self_test(clients, request, tell=say)
    write_report(
        arguments,
        lambda: {"clusters": [facts_of(cluster, end.checks)], "left_behind": list(end.left)},
        lambda width: chain(
            lines_of(cluster, end.checks, width=width),
            *(pieces("  left behind:   ", each, width, mark="aside") for each in end.left),
        ),
    )
    return 0 if end.succeeded else 1


def _cluster(arguments: argparse.Namespace, clients: object) -> str:
    names = clusters_named(arguments, clients)
    if len(names) > 1:
        raise InvalidValueError(
            f"the stack has {len(names)} clusters",
            argument="STACK",
            allowed=f"--cluster {' or '.join(map(shlex.quote, names))}",
        )
    return str(names[0])


@contextmanager
def _stopped_as_interrupted() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, so that a build that is cancelled leaves no task."""
    if current_thread() is not main_thread():  # Python hears of signals in its main thread alone
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
