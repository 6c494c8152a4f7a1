"""Processes that the launcher started meet and reduce over all of them: JAX on CPUs, whose collectives are gloo."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from gpu_constructs import TrainingLauncher
from tests.training.nodes import GETENT, MAIN, ended, started, written

ALL_REDUCE = """
import os, sys
import jax, jax.numpy
jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank = int(os.environ["JAX_PROCESS_ID"])
soon = {"heartbeat_timeout_seconds": 10} if sys.version_info >= (3, 11) else {}  # JAX for 3.10 takes no such argument
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=rank, **soon)
for step in range(2):
    total = jax.pmap(lambda each: jax.lax.psum(each, "hosts"), axis_name="hosts")(jax.numpy.array([rank + 1.0]))
    print("step", step, "sum", float(total[0]), "of", jax.process_count(), flush=True)
    if rank == int(sys.argv[1]):
        os._exit(75)
"""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((MAIN, 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize("nodes", [2, 4])
def test_nodes_meet_and_reduce_over_all_of_them(tmp_path: Path, nodes: int) -> None:
    bin_ = written(tmp_path, getent=GETENT)
    command = TrainingLauncher.jax(port=_free_port()).command([sys.executable, "-c", ALL_REDUCE, "-1"], gpus=1)
    ends = ended([started(command, node, nodes, bin_, JAX_PLATFORMS="cpu") for node in range(nodes)])
    last = [(code, text.splitlines()[-1:]) for code, text in ends]
    assert last == [(0, [f"step 1 sum {nodes * (nodes + 1) / 2} of {nodes}"])] * nodes


def test_a_node_that_fails_makes_the_main_one_fail_and_with_it_the_job(tmp_path: Path) -> None:
    bin_ = written(tmp_path, getent=GETENT)
    command = TrainingLauncher.jax(port=_free_port()).command([sys.executable, "-c", ALL_REDUCE, "1"], gpus=1)
    ends = ended([started(command, node, 2, bin_, JAX_PLATFORMS="cpu") for node in range(2)])
    assert (ends[0][0] != 0, ends[1][0]) == (True, 75)
