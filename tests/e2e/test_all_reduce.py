"""Processes that the launcher started meet and reduce over all of them: JAX on CPUs, whose collectives are gloo."""

from __future__ import annotations

import sys
from pathlib import Path

from gpu_constructs import TrainingLauncher

from .nodes import GETENT, ended, free_port, started, written

ALL_REDUCE = """
import os, sys
import jax, jax.numpy
jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank = int(os.environ["JAX_PROCESS_ID"])
# The processes of a busy machine are silent for seconds, and one that failed does not come to the end of the others.
# JAX for 3.10 takes no such argument.
seconds = {"heartbeat_timeout_seconds": 5, "shutdown_timeout_seconds": 1}
soon = seconds if sys.version_info >= (3, 11) else {}
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=rank, **soon)
for step in range(3):
    total = jax.pmap(lambda each: jax.lax.psum(each, "hosts"), axis_name="hosts")(jax.numpy.array([rank + 1.0]))
    print("step", step, "sum", float(total[0]), "of", jax.process_count(), flush=True)
    if (rank, step) == (1, 1):
        os._exit(75)
"""


def test_nodes_meet_and_reduce_over_all_of_them_until_one_fails_and_with_it_the_job(tmp_path: Path) -> None:
    bin_ = written(tmp_path, getent=GETENT)
    command = TrainingLauncher.jax(port=free_port()).command([sys.executable, "-c", ALL_REDUCE], gpus=1)
    ends = ended([started(command, node, 2, bin_, JAX_PLATFORMS="cpu") for node in range(2)])
    assert ["step 1 sum 3.0 of 2" in text for _, text in ends] == [True, True]
    assert (ends[0][0] != 0, ends[1][0]) == (True, 75)
