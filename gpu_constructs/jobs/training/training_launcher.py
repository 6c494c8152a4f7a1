"""What starts the processes of a training: a script that finds the main host, and what it runs there.

It is a script for ``/bin/sh`` in the container's command, because every image with a shell has what it needs: nothing
is installed and nothing is downloaded. From AWS Batch each node has its index and the number of nodes, and all but the
main one have its address (https://docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html). The main node takes
its own from its hosts file, where the ECS agent writes it for a task with an interface of its own. It does so only for
an interface with a hostname, which those of a VPC without DNS hostnames do not have
(https://github.com/aws/amazon-ecs-agent, ``generateENIExtraHosts``); there the kernel's list of addresses has it.

Where the image has ``python3``, `gang_watch` starts the processes, and tells a lost host from a failed program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path, PurePosixPath

import aws_cdk as cdk

from gpu_constructs.cdk.arguments import known_number, known_seconds, texts
from gpu_constructs.cdk.kinds import names_checked, require_kinds, with_names_checked
from gpu_constructs.cdk.tokens import is_list_token
from gpu_constructs.errors import InvalidValueError, shown, unexpected
from gpu_constructs.facts.values import dataclass
from gpu_constructs.jobs.batch.job_options import LOST_NODE

_DEFAULT_PORT = 29500
_JOIN_SECONDS = 1800
_WHY_KNOWN = "is no part of a text that is written at synth, as the launcher is"


class Tool(Enum):
    """What starts the processes of a node."""

    TORCHRUN = "torchrun"
    DEEPSPEED = "deepspeed"
    JAX = "jax"
    MPI = "mpi"


START_PYTHON = frozenset({Tool.TORCHRUN, Tool.DEEPSPEED})
"""Those that start a script of Python, once for each GPU."""

# What each of them would run as a script, or a second time. JAX's starts any program.
_NO_SCRIPT = re.compile(r"python[0-9.]*|torchrun|deepspeed|accelerate|mpi(run|exec)|(ba|da)?sh|env|uv|srun")
_STARTS_ITSELF = dict.fromkeys(Tool, _NO_SCRIPT) | {
    Tool.JAX: re.compile("(?!)"),
    Tool.MPI: re.compile("mpi(run|exec)"),
}
# Options of https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py and
# https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/runner.py, of which the last of two counts:
# those with which hosts do not find each other, and those that say no more than which processes there are.
_OF_HOSTS = re.compile("nnodes|node-rank|master-addr|rdzv-backend|rdzv-endpoint|hostfile|H|num-nodes|standalone")
_OF_PROCESSES = re.compile("nproc-per-node|master-port|rdzv-(id|conf)|num-gpus")
_WITHOUT_VALUE = re.compile("m|module|no-python|standalone")
# With these, the script is no file.
_NO_FILE = {"m", "module", "no-python"}
_LINE = re.compile(r"\S+\.py\s[^'\"\\]+")
_EXAMPLE = "['train.py', '--epochs', '3']"

_NODE = """\
set -eu
node=$AWS_BATCH_JOB_NODE_INDEX
nodes=$AWS_BATCH_JOB_NUM_NODES
own_address() {
  getent hosts "$(cat /etc/hostname)" | { read -r address _ && echo "$address"; } && return
  found=
  while read -r mark value kind; do
    [ "$mark" != "|--" ] || found=$value
    case "$mark $value $kind $found" in
      "/32 host LOCAL 127."* | "/32 host LOCAL 169.254."*) ;;
      "/32 host LOCAL "*) echo "$found" && return ;;
    esac
  done < /proc/net/fib_trie
  echo "this host, $(cat /etc/hostname), has no address" >&2
  return 1
}
main=${AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS:-$(own_address)} || exit 1
job=${AWS_BATCH_JOB_ID%%#*}
echo "node $node of $nodes, main node $main" >&2
run() {
  if [ "$nodes" -gt 1 ] && command -v python3 >/dev/null; then
    exec python3 -c "$WATCH" "$LOST" $((PORT + 1)) "$main" "$job-$AWS_BATCH_JOB_ATTEMPT" "$JOIN_SECONDS" "$@"
  fi
  [ "$nodes" -eq 1 ] || echo "without python3 in the image, only the loss of the main host is noticed" >&2
  exec "$@"
}
"""

# Rank 0 is on the main node in each of them, so that the node that ends the job is the one that writes checkpoints.

# https://docs.pytorch.org/docs/stable/elastic/run.html: a fixed number of nodes with fixed ranks. With c10d, ranks
# follow names of hosts, and rank 0 may be on a node that AWS Batch stops when the main one ends.
_TORCHRUN = """\
run torchrun --nnodes "$nodes" --node-rank "$node" --nproc-per-node "$PROCESSES" \\
  --rdzv-id "$job-$AWS_BATCH_JOB_ATTEMPT" --rdzv-conf "timeout=$JOIN_SECONDS" \\
  --master-addr "$main" --master-port "$PORT" "$@"
"""

# https://www.deepspeed.ai/getting-started/#launching-without-passwordless-ssh: the file says how many processes each
# node has; no name in it is looked up.
_DEEPSPEED = """\
hosts=$(mktemp)
for each in $(seq 0 $((nodes - 1))); do echo "node-$each slots=$PROCESSES"; done > "$hosts"
run deepspeed --hostfile "$hosts" --no_ssh --node_rank "$node" --master_addr "$main" --master_port "$PORT" "$@"
"""

# One process on each host, for jax.distributed.initialize(…), which looks up the address but not the numbers:
# https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html
_JAX = """\
export JAX_COORDINATOR_ADDRESS="$main:$PORT" JAX_NUM_PROCESSES="$nodes" JAX_PROCESS_ID="$node"
run "$@"
"""

# Children make themselves known to the main node, which is reached by the key that the image has in ~/.ssh. What sshd
# starts has none of the variables of the container, and credentials of one task are not those of another: each process
# reads what its own node has written down. As the first process of a container, sh ends at SIGTERM by a trap alone.
_MPI = """\
sshd=$(command -v sshd) || { echo "the image has no sshd" >&2; exit 127; }
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
"$sshd" -p "$PORT"
options="-p $PORT -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes"
found=${TMPDIR:-/tmp}/nodes
mkdir -p "$found"
(umask 077 && export -p > "$found.env")
waited=0
wait_or_end() {
  [ "$waited" -lt "$JOIN_SECONDS" ] || { echo "after $JOIN_SECONDS seconds: $1" >&2; exit "$LOST"; }
  sleep 5
  waited=$((waited + 5))
}
if [ "$node" -ne "$AWS_BATCH_JOB_MAIN_NODE_INDEX" ]; then
  until ssh $options "$main" "mkdir -p $found && echo \\${SSH_CONNECTION%% *} > $found/$node"; do
    wait_or_end "the main node does not answer"
  done
  ! command -v python3 >/dev/null || run tail -f /dev/null
  tail -f /dev/null &
  trap 'kill $!; exit 143' TERM
  wait
  exit 0
fi
echo "$main" > "$found/$node"
until [ "$(cat "$found"/* | wc -l)" -eq "$nodes" ]; do wait_or_end "not all of $nodes nodes have come"; done
hosts=$(mktemp)
for each in $(seq 0 $((nodes - 1))); do echo "$(cat "$found/$each") slots=$PROCESSES"; done > "$hosts"
run mpirun --allow-run-as-root --hostfile "$hosts" -np $((nodes * PROCESSES)) --mca plm_rsh_args "$options" \\
  /bin/sh -c '. "$0" && exec "$@"' "$found.env" "$@"
"""

# The program of `gang_watch`, which has no quotation mark of the shell in it.
_WATCH = Path(__file__).with_name("gang_watch.py").read_text(encoding="utf-8")
_SCRIPTS = {Tool.TORCHRUN: _TORCHRUN, Tool.DEEPSPEED: _DEEPSPEED, Tool.JAX: _JAX, Tool.MPI: _MPI}


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLauncher:
    """What starts the processes of a training on each host. Made by one of the class methods; by default `torchrun`.

    The launcher is a script for ``/bin/sh`` in the command of the container, which every image with a shell can run.
    Rank 0 is on the main host.

    Attributes:
        tool: What starts the processes.
        processes_per_host: How many there are; None for one for each GPU.
        port: The port of the main host where the others join; the next one is for what tells that hosts are there.
        join_within: How long hosts wait for each other; None for half an hour. A host may still pull its image. After
            that the training is tried again as one that lost a host.
    """

    tool: Tool = Tool.TORCHRUN
    processes_per_host: int | None = None
    port: int = _DEFAULT_PORT
    join_within: cdk.Duration | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tool, Tool):
            raise unexpected(
                "tool", self.tool, "a tool", fix="TrainingLauncher.torchrun(), .deepspeed(), .jax() or .mpi()"
            )
        require_kinds(TrainingLauncher.__init__, {"join_within": self.join_within})
        if self.tool is Tool.JAX and self.processes_per_host not in (None, 1):
            raise InvalidValueError(
                "jax has one process on each host, with all its GPUs",
                argument="processes_per_host",
                value=self.processes_per_host,
                allowed="1",
                fix="leave it out",
            )
        number, fix = 1 if self.processes_per_host is None else self.processes_per_host, f"port={_DEFAULT_PORT}"
        known_number("processes_per_host", number, smallest=1, fix="leave it out for one for each GPU", why=_WHY_KNOWN)
        known_number("port", self.port, smallest=1024, largest=65534, fix=fix, why=_WHY_KNOWN)
        _ = self.waits_seconds  # refuses a time that is not known

    @classmethod
    @names_checked
    def torchrun(
        cls,
        *,
        processes_per_host: int | None = None,
        port: int = _DEFAULT_PORT,
        join_within: cdk.Duration | None = None,
    ) -> TrainingLauncher:
        """``torchrun``, of PyTorch: the command is a script of Python and its arguments.

        Hosts have fixed ranks (static rendezvous): with its other backends rank 0, which writes checkpoints, may be on
        a host that is stopped as soon as the main one ends.
        """
        return cls(tool=Tool.TORCHRUN, processes_per_host=processes_per_host, port=port, join_within=join_within)

    @classmethod
    @names_checked
    def deepspeed(
        cls,
        *,
        processes_per_host: int | None = None,
        port: int = _DEFAULT_PORT,
        join_within: cdk.Duration | None = None,
    ) -> TrainingLauncher:
        """``deepspeed`` without SSH: the command is a script of Python and its arguments."""
        return cls(tool=Tool.DEEPSPEED, processes_per_host=processes_per_host, port=port, join_within=join_within)

    @classmethod
    @names_checked
    def jax(cls, *, port: int = _DEFAULT_PORT, join_within: cdk.Duration | None = None) -> TrainingLauncher:
        """JAX: the command runs once on each host, with all its GPUs.

        It calls ``jax.distributed.initialize(num_processes=…, process_id=…)`` with the variables ``JAX_NUM_PROCESSES``
        and ``JAX_PROCESS_ID``; JAX reads ``JAX_COORDINATOR_ADDRESS`` itself.
        """
        return cls(tool=Tool.JAX, processes_per_host=1, port=port, join_within=join_within)

    @classmethod
    @names_checked
    def mpi(
        cls, *, processes_per_host: int | None = None, port: int = 2222, join_within: cdk.Duration | None = None
    ) -> TrainingLauncher:
        """``mpirun`` of Open MPI, on the main host: the command is a program and its arguments.

        The image has ``sshd`` with keys of its own, and a key in ``~/.ssh`` that it lets in itself; whoever can pull
        the image can read that key. Each process gets the variables of the container on its own host. ``port`` is that
        of ``sshd`` on each host.
        """
        return cls(tool=Tool.MPI, processes_per_host=processes_per_host, port=port, join_within=join_within)

    @property
    def waits_seconds(self) -> int | None:
        """How long hosts wait for each other; None where that was not given."""
        if self.join_within is None:
            return None
        fix = "cdk.Duration.minutes(30)"
        return known_seconds("join_within", self.join_within, smallest=1, fix=fix, why=_WHY_KNOWN)

    def command(self, command: Sequence[str], *, gpus: int) -> list[str]:
        """The command of the container.

        Args:
            command: What the tool starts.
            gpus: GPUs of each host, 1 or more.
        """
        words = texts("command", command, example=_EXAMPLE)
        _require_startable(words, self.tool)
        values = {
            "PROCESSES": self.processes_per_host or gpus,
            "PORT": self.port,
            "JOIN_SECONDS": self.waits_seconds or _JOIN_SECONDS,
            "LOST": LOST_NODE,
        }
        head = "".join(f"{name}={value}\n" for name, value in values.items())
        script = f"{head}WATCH='{_WATCH}'\n{_NODE}{_SCRIPTS[self.tool]}"
        return ["/bin/sh", "-c", script, "launcher", *words]


def _require_startable(words: list[str], tool: Tool) -> None:
    options, script = _split(words) if tool in START_PYTHON else ({}, words)
    problem, fix = None, None
    if not words:
        problem = "names nothing to start"
    elif any(map(is_list_token, words)):
        problem = "is a list that is only known at deploy time, and the launcher adds its own words to it"
    elif of_hosts := [each for name, each in options.items() if _OF_HOSTS.fullmatch(name)]:
        problem = f"has {' '.join(of_hosts[0])}, and the launcher says itself to {tool.value} which hosts there are"
        fix = [word for each in options.values() if each not in of_hosts for word in each] + script
    elif script and _LINE.fullmatch(script[0]):
        problem = f"has several words in one text, {shown(script[0])}"
        fix = words[: -len(script)] + script[0].split() + script[1:]
    elif script and _STARTS_ITSELF[tool].fullmatch(PurePosixPath(script[0]).name) and not _NO_FILE & options.keys():
        takes = f"a {'script of Python' if tool in START_PYTHON else 'program'} and its arguments"
        problem = f"begins with {shown(script[0])}, and the launcher starts {tool.value}, which takes {takes}"
    if problem is not None:
        said = f"command={fix}" if fix else f"what it starts and its arguments alone, as command={_EXAMPLE}"
        raise InvalidValueError(problem, argument="command", value=words, fix=said)


def _split(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The options by name, each with its words, and the script with its arguments: none behind an unknown option."""
    options = dict[str, list[str]]()
    while words and words[0].startswith("-"):
        written, has_value, _ = words[0].partition("=")
        name = written.lstrip("-").replace("_", "-")
        is_alone = bool(has_value or _WITHOUT_VALUE.fullmatch(name))
        if not is_alone and not _OF_HOSTS.fullmatch(name) and not _OF_PROCESSES.fullmatch(name):
            return options, []
        options[name], words = words[: 2 - is_alone], words[2 - is_alone :]
    return options, words
