"""The launcher: how the container of a node finds the main node, and what it starts there.

It is a script for ``/bin/sh`` in the container's command, because every image with a shell has what it needs: nothing
is installed and nothing is downloaded. From AWS Batch each node has its index and the number of nodes, and all but the
main one have its address (https://docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html). The main node takes
its own from its hosts file, where the ECS agent writes it for a task with an interface of its own. It does so only for
an interface with a hostname, which those of a VPC without DNS hostnames do not have
(https://github.com/aws/amazon-ecs-agent, ``generateENIExtraHosts``); there the kernel's list of addresses has it.
"""

from __future__ import annotations

from enum import Enum


class Tool(Enum):
    """What starts the processes of a node."""

    TORCHRUN = "torchrun"
    DEEPSPEED = "deepspeed"
    JAX = "jax"
    MPI = "mpi"


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
[ -z "${JOB_CHECKPOINTS-}" ] || export JOB_CHECKPOINTS="$JOB_CHECKPOINTS$job/"
echo "node $node of $nodes, main node $main" >&2
"""

# Rank 0 is on the main node in each of them, so that the node that ends the job is the one that writes checkpoints.

# https://docs.pytorch.org/docs/stable/elastic/run.html: a fixed number of nodes with fixed ranks. With c10d, ranks
# follow names of hosts, and rank 0 may be on a node that AWS Batch stops when the main one ends.
_TORCHRUN = """\
exec torchrun --nnodes "$nodes" --node-rank "$node" --nproc-per-node "$PROCESSES" \\
  --rdzv-id "$job-$AWS_BATCH_JOB_ATTEMPT" --rdzv-conf "timeout=$JOIN_SECONDS" \\
  --master-addr "$main" --master-port "$PORT" "$@"
"""

# https://www.deepspeed.ai/getting-started/#launching-without-passwordless-ssh: the file says how many processes each
# node has; no name in it is looked up.
_DEEPSPEED = """\
hosts=$(mktemp)
for each in $(seq 0 $((nodes - 1))); do echo "node-$each slots=$PROCESSES"; done > "$hosts"
exec deepspeed --hostfile "$hosts" --no_ssh --node_rank "$node" --master_addr "$main" --master_port "$PORT" "$@"
"""

# One process on each host, for jax.distributed.initialize(…), which looks up the address but not the numbers:
# https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html
_JAX = """\
export JAX_COORDINATOR_ADDRESS="$main:$PORT" JAX_NUM_PROCESSES="$nodes" JAX_PROCESS_ID="$node"
exec "$@"
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
  [ "$waited" -lt "$JOIN_SECONDS" ] || { echo "after $JOIN_SECONDS seconds: $1" >&2; exit 1; }
  sleep 5
  waited=$((waited + 5))
}
if [ "$node" -ne "$AWS_BATCH_JOB_MAIN_NODE_INDEX" ]; then
  until ssh $options "$main" "mkdir -p $found && echo \\${SSH_CONNECTION%% *} > $found/$node"; do
    wait_or_end "the main node does not answer"
  done
  tail -f /dev/null &
  trap 'kill $!; exit 143' TERM
  wait
  exit 0
fi
echo "$main" > "$found/$node"
until [ "$(cat "$found"/* | wc -l)" -eq "$nodes" ]; do wait_or_end "not all of $nodes nodes have come"; done
hosts=$(mktemp)
for each in $(seq 0 $((nodes - 1))); do echo "$(cat "$found/$each") slots=$PROCESSES"; done > "$hosts"
exec mpirun --allow-run-as-root --hostfile "$hosts" -np $((nodes * PROCESSES)) --mca plm_rsh_args "$options" \\
  /bin/sh -c '. "$0" && exec "$@"' "$found.env" "$@"
"""

_SCRIPTS = {Tool.TORCHRUN: _TORCHRUN, Tool.DEEPSPEED: _DEEPSPEED, Tool.JAX: _JAX, Tool.MPI: _MPI}


def script_of(tool: Tool, *, processes: int, port: int, join_seconds: int) -> str:
    """The script of one tool; its arguments are what the user wants to run.

    Args:
        tool: What starts the processes.
        processes: How many there are on each host.
        port: The port of the main node.
        join_seconds: How long nodes wait for each other.
    """
    values = {"PROCESSES": processes, "PORT": port, "JOIN_SECONDS": join_seconds}
    used = {name: value for name, value in values.items() if f"${name}" in _SCRIPTS[tool] or name in _SCRIPTS[tool]}
    head = "".join(f"{name}={value}\n" for name, value in used.items())
    return f"{head}{_NODE}{_SCRIPTS[tool]}"
