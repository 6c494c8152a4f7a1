"""The launcher as a container runs it: one process for each node, with the environment that AWS Batch gives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import aws_cdk as cdk
import pytest
from gpu_constructs import TrainingLauncher
from gpu_constructs.jobs.batch.job_options import LOST_NODE

from .nodes import GETENT, JOB, MAIN, ended, free_port, killed, started, written

RECORD = f"""#!{sys.executable}
import json, os, pathlib, sys, time
# A main node that ends at once leaves others without the word to begin; AWS Batch stops those.
if together := os.environ.pop("TOGETHER", ""):
    pathlib.Path(together, os.environ["AWS_BATCH_JOB_NODE_INDEX"]).touch()
    while len(os.listdir(together)) < int(os.environ["AWS_BATCH_JOB_NUM_NODES"]):
        time.sleep(0.05)
record = {{"argv": sys.argv[1:], "environment": dict(os.environ)}}
if "--hostfile" in sys.argv:
    record["hosts"] = open(sys.argv[sys.argv.index("--hostfile") + 1]).read().split("\\n")
print(json.dumps(record))
"""
BY_NODE = """#!/bin/sh
[ "$JAX_PROCESS_ID" -eq 0 ] || eval "$OTHERS_DO"
[ "$JAX_PROCESS_ID" -ne 0 ] || eval "$MAIN_DOES"
"""
SSH = """#!/bin/sh
for last; do :; done
SSH_CONNECTION="10.0.0.$AWS_BATCH_JOB_NODE_INDEX 5 10.0.0.0 2222" exec sh -c "$last"
"""


ENDS = {
    "main": ("sleep 1; exit 134", "sleep 600", 134),
    "others": ("sleep 600", "sleep 1; exit 75", 75),
    "a signal": ("sleep 1; kill -9 $$", "sleep 600", 137),
    "the code of a lost host": (f"sleep 1; exit {LOST_NODE}", "sleep 600", 1),
    "success": ("sleep 1", "exit 0", 0),
}
"""What the programs of the main node and of the others do, and how the job ends."""
_WAITS, _FAILS = "sleep 600", "sleep 1; exit 134"
_ALL = tuple(product((signal.SIGKILL, signal.SIGTERM), (1, 2), (_WAITS, _FAILS)))
# Any two of the three choices meet in one of these; ``make matrix`` takes all.
_SOME = [
    (signal.SIGKILL, 1, _WAITS),
    (signal.SIGKILL, 2, _FAILS),
    (signal.SIGTERM, 1, _FAILS),
    (signal.SIGTERM, 2, _WAITS),
]
LOSSES = {
    f"{each[0].name} {each[1]} {each[2]}": each for each in (_ALL if os.environ.get("MATRIX") == "all" else _SOME)
}
"""How a host is lost, which one, and what the program of the main node does then: it waits, or fails with the host."""


def _gang(folder: Path, main: str, others: str) -> list[subprocess.Popen[str]]:
    """Three nodes whose programs do this; each leaves a file."""
    folder.mkdir()
    bin_ = written(folder, getent=GETENT, train=f"#!/bin/sh\ntouch '{folder}'/ran-$JAX_PROCESS_ID\n{BY_NODE}")
    command = TrainingLauncher.jax(port=free_port()).command(["train"], gpus=1)
    return [started(command, node, 3, bin_, MAIN_DOES=main, OTHERS_DO=others) for node in range(3)]


@pytest.fixture(scope="module", autouse=True)
def gangs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[subprocess.Popen[str]]]]:
    """Gangs that run while other tests do, because each waits for seconds; the tests of their ends come last."""
    made: dict[str, list[subprocess.Popen[str]]] = {}
    folder = tmp_path_factory.mktemp("gangs")
    try:
        for name, (main, others, _) in ENDS.items():
            made[name] = _gang(folder / name, main, others)
        for name, (how, lost, main) in LOSSES.items():
            nodes = made[name] = _gang(folder / name, main, "sleep 600")
            while not (folder / name / f"ran-{lost}").exists():
                time.sleep(0.02)
            os.killpg(nodes[lost].pid, how) if how is signal.SIGKILL else nodes[lost].send_signal(how)
        yield made
    finally:
        for nodes in made.values():
            killed(nodes)


def _recorded(command: Sequence[str], bin_: Path, **more: str) -> list[dict[str, object]]:
    together = bin_ / "together"
    together.mkdir()
    ends = ended([started(command, node, 3, bin_, TOGETHER=str(together), **more) for node in range(3)])
    assert [code for code, _ in ends] == [0, 0, 0]
    return [json.loads(text) for _, text in ends]


def test_torchrun_gets_a_static_rendezvous_on_the_main_node(tmp_path: Path) -> None:
    bin_ = written(tmp_path, torchrun=RECORD, getent=GETENT)
    command = TrainingLauncher.torchrun(join_within=cdk.Duration.minutes(10)).command(
        ["train.py", "--name", "a b"], gpus=8
    )
    for node, record in enumerate(_recorded(command, bin_)):
        # https://docs.pytorch.org/docs/stable/elastic/run.html
        assert record["argv"] == [
            *("--nnodes", "3", "--node-rank", str(node), "--nproc-per-node", "8"),
            *("--rdzv-id", f"{JOB}-2", "--rdzv-conf", "timeout=600"),
            *("--master-addr", MAIN, "--master-port", "29500"),
            *("train.py", "--name", "a b"),
        ]


def test_deepspeed_gets_its_rank_and_a_file_of_all_nodes(tmp_path: Path) -> None:
    bin_ = written(tmp_path, deepspeed=RECORD, getent=GETENT)
    command = TrainingLauncher.deepspeed(processes_per_host=4).command(["train.py"], gpus=8)
    for node, record in enumerate(_recorded(command, bin_)):
        argv = record["argv"]
        assert isinstance(argv, list)
        assert argv[2:] == [
            *("--no_ssh", "--node_rank", str(node), "--master_addr", MAIN, "--master_port", "29500", "train.py")
        ]
        assert record["hosts"] == ["node-0 slots=4", "node-1 slots=4", "node-2 slots=4", ""]


def test_mpirun_starts_on_the_main_node_once_all_others_have_come(tmp_path: Path) -> None:
    nothing = "#!/bin/sh\n"
    programs = {
        "sshd": nothing,
        "tail": nothing,
        "id": f"{nothing}echo 1000\n",
        "sleep": f"{nothing}exec /bin/sleep 0.1\n",
    }
    bin_ = written(tmp_path, mpirun=RECORD, ssh=SSH, getent=GETENT, **programs)
    command = TrainingLauncher.mpi(processes_per_host=8).command(["train", "-n", "1"], gpus=8)
    main, *others = ended([started(command, node, 3, bin_, TMPDIR=str(tmp_path)) for node in range(3)])
    record = json.loads(main[1])
    assert record["hosts"] == [f"{MAIN} slots=8", "10.0.0.1 slots=8", "10.0.0.2 slots=8", ""]
    assert record["argv"][3:5] == ["-np", "24"]
    assert record["argv"][-3:] == ["train", "-n", "1"]
    assert others == [(0, "")] * 2


def test_what_mpirun_starts_has_the_variables_of_the_container_on_its_own_node(tmp_path: Path) -> None:
    # As sshd starts it: with nothing but what the daemon of Open MPI adds.
    bare = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
exec env -i PATH="$PATH" OMPI_COMM_WORLD_RANK=3 "$@"
"""
    nothing = "#!/bin/sh\n"
    programs = {"sshd": nothing, "id": f"{nothing}echo 1000\n", "sleep": nothing, "ssh": SSH}
    bin_ = written(tmp_path, mpirun=bare, train=RECORD, getent=GETENT, **programs)
    command = TrainingLauncher.mpi().command(["train", "a b"], gpus=8)
    node = started(command, 0, 1, bin_, TMPDIR=str(tmp_path), JOB_CHECKPOINTS="/shared/", TEXT="it's\ntwo lines")
    ((code, text),) = ended([node])
    record = json.loads(text)
    assert (code, record["argv"]) == (0, ["a b"])
    found = record["environment"]
    assert (found["JOB_CHECKPOINTS"], found["TEXT"]) == ("/shared/", "it's\ntwo lines")
    assert found["OMPI_COMM_WORLD_RANK"] == "3"
    assert (tmp_path / "nodes.env").stat().st_mode & 0o077 == 0


def test_a_node_of_mpi_ends_when_it_is_stopped(tmp_path: Path) -> None:
    nothing = "#!/bin/sh\n"
    programs = {"sshd": nothing, "id": f"{nothing}echo 1000\n", "sleep": nothing, "ssh": SSH}
    bin_ = written(tmp_path, getent=GETENT, **programs)
    command = TrainingLauncher.mpi().command(["train"], gpus=8)
    with started(command, 1, 2, bin_, TMPDIR=str(tmp_path)) as node:
        while not (tmp_path / "nodes" / "1").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        node.terminate()
    assert node.returncode == 143


def test_a_node_that_no_other_comes_to_ends(tmp_path: Path) -> None:
    nothing = "#!/bin/sh\n"
    programs = {"sshd": nothing, "id": f"{nothing}echo 1000\n", "sleep": nothing, "mpirun": RECORD}
    bin_ = written(tmp_path, ssh=SSH, getent=GETENT, **programs)
    command = TrainingLauncher.mpi(join_within=cdk.Duration.minutes(1)).command(["train"], gpus=8)
    assert ended([started(command, 0, 2, bin_, TMPDIR=str(tmp_path))]) == [(LOST_NODE, "")]


def test_a_host_that_never_comes_is_a_lost_one(tmp_path: Path) -> None:
    bin_ = written(tmp_path, getent=GETENT, train=RECORD)
    command = TrainingLauncher.jax(port=free_port(), join_within=cdk.Duration.seconds(1)).command(["train"], gpus=1)
    assert ended([started(command, node, 3, bin_) for node in range(2)]) == [(LOST_NODE, ""), (1, "")]


def test_the_program_that_watches_can_stand_in_the_script() -> None:
    _, _, script, *_ = TrainingLauncher.jax().command(["train"], gpus=1)
    watch = script.partition("WATCH='")[2].partition("'\n")[0]
    compile(watch, "watch", "exec")
    assert watch.endswith("sys.exit(main(*sys.argv[1:]))\n")
    # AWS Batch takes 24 KiB of a job definition, of which 32 adapters are 4.
    assert len(script) < 12_000


def test_processes_of_jax_are_told_where_the_main_node_is(tmp_path: Path) -> None:
    bin_, port = written(tmp_path, train=RECORD, getent=GETENT), free_port()
    for record in _recorded(TrainingLauncher.jax(port=port).command(["train"], gpus=8), bin_):
        environment = record["environment"]
        assert isinstance(environment, dict)
        assert environment["JAX_COORDINATOR_ADDRESS"] == f"{MAIN}:{port}"


def _where_it_has_no_name(tmp_path: Path, addresses: str) -> tuple[int, str, str]:
    """How a main node ends in a VPC without DNS hostnames, where the hosts file has no line for it."""
    bin_ = written(tmp_path, torchrun=RECORD, getent="#!/bin/sh\nexit 2\n")
    kernel = tmp_path / "fib_trie"
    kernel.write_text(addresses)
    command = [
        each.replace("/proc/net/fib_trie", str(kernel))
        for each in TrainingLauncher.torchrun().command(["train.py"], gpus=1)
    ]
    with started(command, 0, 1, bin_) as node:
        text, reason = node.communicate(timeout=60)
    return node.returncode, text, reason


def test_a_main_node_without_a_hostname_takes_the_address_of_its_interface(tmp_path: Path) -> None:
    ends = ("127.0.0.1", "169.254.172.2", "10.0.1.5")
    lines = "".join(f"  |-- 10.0.1.0\n    /24 link UNICAST\n  |-- {each}\n    /32 host LOCAL\n" for each in ends)
    code, text, reason = _where_it_has_no_name(tmp_path, f"Main:\n  +-- 0.0.0.0/0 3 0 5\n{lines}")
    assert code == 0, reason
    assert "10.0.1.5" in json.loads(text)["argv"]


def test_a_main_node_without_an_address_says_so(tmp_path: Path) -> None:
    code, text, reason = _where_it_has_no_name(tmp_path, "|-- 127.0.0.1\n/32 host LOCAL\n")
    assert (code, text) == (1, "")
    assert "has no address" in reason


def test_a_gang_that_loses_a_host_says_so_with_the_exit_code_that_is_tried_again(
    gangs: dict[str, list[subprocess.Popen[str]]],
) -> None:
    assert {name: gangs[name][0].wait(timeout=60) for name in LOSSES} == dict.fromkeys(LOSSES, LOST_NODE)


def test_a_program_that_fails_is_no_lost_host(gangs: dict[str, list[subprocess.Popen[str]]]) -> None:
    assert {name: gangs[name][0].wait(timeout=60) for name in ENDS} == {name: code for name, (*_, code) in ENDS.items()}
