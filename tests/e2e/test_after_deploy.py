"""The commands about an app and its account after a deploy: in a terminal of 80 columns and in a pipe.

A terminal takes a process. What a pipe gets, the command line writes in the process of the tests.
"""

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from ecs_emulator.account import Account
from ecs_emulator.inventory import inventory
from ecs_emulator.local import Ask
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition

from tests.synthesis import app_in

from .cdk_cli import ROOT
from .deployed import Stacks
from .stage import Stage
from .templates import cluster_template

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

    def command(self, words: list[str]) -> list[str]:
        """With the names of what was deployed."""
        named = {"ASSEMBLY": os.fspath(self.assembly), "CLUSTER": self.cluster}
        return [named.get(each, each) for each in words]

    def shown(self, *program: str) -> tuple[int, str]:
        """Exit code and text, without its colours, of a program of Python in a terminal of 80 columns."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, _COLUMNS, 0, 0))
        environment = {**self._environment, "TERM": "xterm-256color"}
        with subprocess.Popen([sys.executable, *program], env=environment, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            said = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        return process.returncode, _COLOUR.sub("", said.decode()).replace("\r\n", "\n")

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


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # EIO: the program has ended
        return b""


@pytest.fixture(scope="module")
def demo(_stage: Stage, _bootstrapped: frozenset[tuple[str, str]]) -> Iterator[Demo]:
    app = app_in(_stage.cdk.work / "after-deploy")
    stack = Stack(app, "Demo")
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=1))
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    chat = GpuTaskDefinition(stack, "Chat", capacity=[l4], family="chat")
    chat.add_gpu_container("chat", image=ecs.ContainerImage.from_registry("example/chat:1"), gpus=1)
    GpuService(stack, "Service", cluster=cluster, task_definition=chat)
    CfnOutput(stack, "Name", value=cluster.cluster.cluster_name)
    assembly = Path(app.synth().directory)
    stacks = Stacks(_stage.account)
    name = stacks.create(json.loads((assembly / "Demo.template.json").read_text()), "Demo")
    made = Demo(_stage, assembly, stacks.outputs(name)["Name"])
    made.minutes()
    yield made
    _stage.account.stop_all(made.cluster)
    stacks.delete(name)
    assert inventory(_stage.account.client) == _bootstrapped


COMMANDS = (
    (["instances", "--gpus", "1"], (0, "g4dn.xlarge")),
    (["plan", "ASSEMBLY"], (0, "L4")),
    (["preflight", "ASSEMBLY", "--region", "us-east-1"], (0, "types: ")),
    (["verify", "Demo"], (0, "  ok          GPUs registered: i-")),
    (["why", "Service", "--cluster", "CLUSTER"], (0, "runs 1 of 1 tasks")),
)
ALL = """
import json, sys
from gpu_constructs.cli.program import main
for words in json.loads(sys.argv[1]):
    print("\\0", main(words), sep="", flush=True)
"""


@pytest.fixture(scope="module")
def shown(demo: Demo) -> dict[str, tuple[int, str]]:
    """Each of the commands in one terminal, by its name."""
    code, said = demo.shown("-c", ALL, json.dumps([demo.command(words) for words, _ in COMMANDS]))
    assert code == 0, said
    texts = re.findall(r"(.*?)\0(\d)\n", said, re.DOTALL)
    return {words[0]: (int(code), text) for (words, _), (text, code) in zip(COMMANDS, texts, strict=True)}


@pytest.mark.parametrize(("words", "end"), COMMANDS, ids=lambda each: each[0] if isinstance(each, list) else "")
def test_a_command_fits_a_terminal_and_a_pipe(
    demo: Demo,
    shown: dict[str, tuple[int, str]],
    asking: Callable[[Account], Ask],
    words: list[str],
    end: tuple[int, str],
) -> None:
    code, said = end
    in_terminal = shown[words[0]]
    assert (in_terminal[0], said in in_terminal[1]) == (code, True), in_terminal[1]
    wide = [each for each in in_terminal[1].splitlines() if len(each) > _COLUMNS]
    assert [each for each in wide if " " in each.strip()] == []  # a name alone stays whole, to be copied
    ask, command = asking(demo.stage.account), demo.command(words)
    piped = ask(*command)
    assert (piped[0], said in piped[1], "\x1b" in piped[1]) == (code, True, False)
    in_json = ask(*command, "--format", "json")
    assert (in_json[0], bool(json.loads(in_json[1]))) == (code, True)


def test_preflight_finds_what_was_deployed(demo: Demo, asking: Callable[[Account], Ask], tmp_path: Path) -> None:
    private = [{"Name": "tag:aws-cdk:subnet-type", "Values": ["Private"]}]
    found = demo.stage.account.client("ec2").describe_subnets(Filters=private)["Subnets"]
    body = cluster_template()
    body["Resources"]["Group"]["Properties"]["VPCZoneIdentifier"] = [each["SubnetId"] for each in found]
    own = tmp_path / "own.json"
    own.write_text(json.dumps(body), encoding="utf-8")
    files = [os.fspath(demo.assembly), os.fspath(own)]
    code, shown = asking(demo.stage.account)("preflight", *files, "--region", "us-east-1")
    said = " ".join(shown.replace("\\\n", "").split())
    zones = " and ".join(sorted(each["AvailabilityZone"] for each in found))
    # One pool is in the zones of Fn::GetAZs, the other in subnets that exist: what is the same is said once.
    assert (said.count("ok types: "), said.count(f"AWS offers g6.xlarge in {zones} ")) == (2, 1)
    assert "ok images: " in said
    assert "ok quotas: G/VT on-demand" in said
    assert "not counted" not in said  # of the hosts that run now
    # The name of a parameter has no place to break.
    assert all(len(line) <= _COLUMNS for line in shown.splitlines() if " " in line.strip())
    assert code == 0


def test_what_a_service_and_a_task_wait_for_is_named(demo: Demo, asking: Callable[[Account], Ask]) -> None:
    ask = asking(demo.stage.account)

    def layers(name: str) -> list[str]:
        code, said = ask("why", name, "--cluster", demo.cluster, "--format", "json")
        assert code == 1, said
        return [each["layer"] for each in json.loads(said)["causes"]]

    demo.wanting(2)
    code, shown = demo.shown("-m", "gpu_constructs", "why", "Service", "--cluster", demo.cluster)
    assert (code, max(map(len, shown.splitlines())) <= _COLUMNS) == (1, True)
    assert "runs 1 of 2 tasks" in shown
    assert "  fix: raise MaxSize of " in shown
    assert layers("Service") == ["maximum of the group", "fits, but busy"]
    demo.wanting(1)

    assert layers(demo.task("large", gpus=8)) == ["never fits"]
    demo.wanting(0)
    demo.switch("ends/ends", "1")
    assert layers(demo.task("ends", gpus=1)) == ["stopped"]
    demo.forget("ends/ends")

    demo.switch("no-capacity", "g6.xlarge")
    demo.lose_hosts()
    demo.wanting(1)
    assert layers("Service") == ["capacity"]

    demo.switch("missing-gpus", "1")
    demo.forget("no-capacity")
    demo.minutes()
    assert layers("Service") == ["GPU not registered"]
    code, said = ask("verify", "Demo", "--format", "json")
    checks = json.loads(said)["clusters"][0]["checks"]
    failed = {each["check"] for each in checks if each["passed"] is False}
    assert (code, failed) == (1, {"GPUs registered", "service runs"})
