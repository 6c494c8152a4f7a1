"""The commands about an app and its account after one ``cdk deploy``: in a terminal of 80 columns and in a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aws_cdk import App, CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition

from .inventory import inventory
from .server import ROOT
from .stage import Stage

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_COLUMNS = 80


@dataclass(frozen=True)
class Demo:
    """A service of one task on at most one host, which runs.

    Args:
        stage: Where it is deployed.
        assembly: What is deployed.
        cluster: Its cluster.
    """

    stage: Stage
    assembly: Path
    cluster: str

    def piped(self, *words: str) -> tuple[int, str]:
        """Exit code and output of a command in a pipe."""
        done = subprocess.run(_command(words), env=self._environment, capture_output=True, text=True, check=False)
        assert "internal error" not in done.stderr, done.stderr
        return done.returncode, done.stdout

    def shown(self, *words: str) -> tuple[int, str]:
        """Exit code and text, without its colours, of a command in a terminal of 80 columns."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, _COLUMNS, 0, 0))
        environment = {**self._environment, "TERM": "xterm-256color"}
        with subprocess.Popen(_command(words), env=environment, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            said = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        return process.returncode, _COLOUR.sub("", said.decode()).replace("\r\n", "\n")

    def layers(self, name: str) -> list[str]:
        """What ``why`` names, in a pipe."""
        code, said = self.piped("why", name, "--cluster", self.cluster, "--format", "json")
        assert code == 1, said
        return [each["layer"] for each in json.loads(said)["causes"]]

    def task(self, family: str, *, gpus: int) -> str:
        """Runs a task on the capacity provider, and lets some minutes pass."""
        client = self.stage.account.client("ecs")
        container = {
            "name": family,
            "image": "cuda",
            "memory": 512,
            "resourceRequirements": [{"type": "GPU", "value": str(gpus)}],
        }
        client.register_task_definition(
            family=family, containerDefinitions=[container], requiresCompatibilities=["EC2"]
        )
        (provider,) = client.describe_clusters(clusters=[self.cluster])["clusters"][0]["capacityProviders"]
        (arn,) = self.stage.account.run(
            cluster=self.cluster,
            taskDefinition=family,
            capacityProviderStrategy=[{"capacityProvider": provider, "weight": 1}],
        ).tasks
        self.minutes()
        client.deregister_task_definition(taskDefinition=f"{family}:1")
        return arn

    def minutes(self, count: int = 6) -> None:
        """Lets time pass."""
        for _ in range(count):
            self.stage.account.hosts(self.cluster)

    def wanting(self, count: int) -> None:
        """Lets the service have so many tasks, and some minutes pass."""
        client = self.stage.account.client("ecs")
        (name,) = client.list_services(cluster=self.cluster)["serviceArns"]
        client.update_service(cluster=self.cluster, service=name, desiredCount=count)
        self.minutes()

    def switch(self, name: str, value: str) -> None:
        """Tells the emulator about the world outside."""
        parameters = self.stage.account.client("ssm")
        parameters.put_parameter(Name=f"/emulator/{name}", Value=value, Type="String", Overwrite=True)

    def forget(self, name: str) -> None:
        """Takes back what it was told."""
        self.stage.account.client("ssm").delete_parameter(Name=f"/emulator/{name}")

    def lose_hosts(self) -> None:
        """Terminates the hosts, for which the group starts others."""
        found = [each.instance_id for each in self.stage.account.hosts(self.cluster)]
        self.stage.account.client("ec2").terminate_instances(InstanceIds=found)
        self.minutes()

    @property
    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self.stage.cdk.environment.items() if name not in {"COLUMNS", "CI"}}
        return {**kept, "PYTHONPATH": os.fspath(ROOT)}


def _command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "gpu_constructs", *words]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # EIO: the program has ended
        return b""


@pytest.fixture(scope="module")
def demo(_stage: Stage) -> Iterator[Demo]:
    before = inventory(_stage.account.client)
    app = App(outdir=os.fspath(_stage.cdk.work / "after-deploy"))
    stack = Stack(app, "Demo")
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=1))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    chat = GpuTaskDefinition(stack, "Chat", capacity=[l4], family="chat")
    chat.add_gpu_container("chat", image=ecs.ContainerImage.from_registry("example/chat:1"), gpus=1)
    GpuService(stack, "Service", cluster=cluster, task_definition=chat)
    CfnOutput(stack, "Name", value=cluster.cluster.cluster_name)
    assembly = Path(app.synth().directory)
    made = Demo(_stage, assembly, _stage.cdk.deploy(assembly, "Demo")["Name"])
    made.minutes()
    yield made
    _stage.account.stop_all(made.cluster)
    _stage.cdk.destroy(assembly, "Demo")
    assert inventory(_stage.account.client) == before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["instances", "--gpus", "1", "--max-results", "5"], 0, "g4dn.xlarge"),
        (["plan", "ASSEMBLY"], 0, "L4"),
        (["preflight", "ASSEMBLY", "--region", "us-east-1"], 1, "types: "),
        (["verify", "Demo"], 0, "  ok          GPU ids held: task "),
        (["why", "Service", "--cluster", "CLUSTER"], 0, "runs 1 of 1 tasks"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_a_command_fits_a_terminal_and_a_pipe(demo: Demo, words: list[str], code: int, said: str) -> None:
    named = {"ASSEMBLY": os.fspath(demo.assembly), "CLUSTER": demo.cluster}
    command = [named.get(each, each) for each in words]
    shown = demo.shown(*command)
    assert (shown[0], said in shown[1]) == (code, True), shown[1]
    wide = [each for each in shown[1].splitlines() if len(each) > _COLUMNS]
    assert [each for each in wide if " " in each.strip()] == []  # a name alone stays whole, to be copied
    piped = demo.piped(*command)
    assert (piped[0], said in piped[1], "\x1b" in piped[1]) == (code, True, False)
    in_json = demo.piped(*command, "--format", "json")
    assert (in_json[0], bool(json.loads(in_json[1]))) == (code, True)


def test_what_a_service_and_a_task_wait_for_is_named(demo: Demo) -> None:
    demo.wanting(2)
    code, shown = demo.shown("why", "Service", "--cluster", demo.cluster)
    assert (code, max(map(len, shown.splitlines())) <= _COLUMNS) == (1, True)
    assert "runs 1 of 2 tasks" in shown
    assert "  fix: raise MaxSize of " in shown
    assert demo.layers("Service") == ["maximum of the group", "fits, but busy"]
    demo.wanting(1)

    assert demo.layers(demo.task("large", gpus=8)) == ["never fits"]
    demo.wanting(0)
    demo.switch("ends/ends", "1")
    assert demo.layers(demo.task("ends", gpus=1)) == ["stopped"]
    demo.forget("ends/ends")

    demo.switch("no-capacity", "g6.xlarge")
    demo.lose_hosts()
    demo.wanting(1)
    assert demo.layers("Service") == ["capacity"]

    demo.switch("missing-gpus", "1")
    demo.forget("no-capacity")
    demo.minutes()
    assert demo.layers("Service") == ["GPU not registered"]
    code, said = demo.piped("verify", "Demo", "--format", "json")
    checks = json.loads(said)["clusters"][0]["checks"]
    failed = {each["check"] for each in checks if each["passed"] is False}
    assert (code, failed) == (1, {"GPUs registered", "service runs"})
