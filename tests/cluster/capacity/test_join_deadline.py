"""Hosts that do not join their cluster end themselves; the script is run with stand-ins for the host around it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import aws_cdk as cdk
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from gpu_constructs import (
    CapacityChoice,
    GpuBatchQueue,
    GpuMachineImage,
    HostScaling,
    IncompatibleError,
    WarmHosts,
)
from tests.synthesis import Ground, Properties, Site, user_data

# The agent joins at the call that a file names; a host of a pool is in service from the third question on.
_CURL = """\
case "$*" in
  *51678*)
    echo agent >> "$STATE/calls"
    printf . >> "$STATE/agent"; read -r times < "$STATE/agent"
    [ "${#times}" -ge "$JOINS_AT" ] && echo '"arn:aws:ecs:r:1:container-instance/c/1"'
    ;;
  *target-lifecycle-state*)
    echo asked >> "$STATE/calls"
    printf . >> "$STATE/asked"; read -r times < "$STATE/asked"
    [ "${#times}" -ge 40 ] && echo InService || echo Warmed:Stopped
    ;;
esac"""


def _run(text: str, folder: Path, *, joins_at: int = 9999, curl: bool | str = True) -> list[str]:
    """What the script does on a host: what it calls."""
    script = text.partition("> /usr/local/sbin/join-deadline\n")[2].partition("\nEOF\n")[0]
    script = script.replace("/var/lib/cloud/instance", str(folder)).replace("/dev/console", f"{folder}/console")
    script = script.replace("/run/join-deadline", f"{folder}/said")
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    stand_ins = {name: f'echo {name} "$@" >> "$STATE/calls"' for name in ("shutdown", "sleep")}
    stand_ins |= {"systemctl": 'echo "local-disks.service loaded failed failed Local NVMe disks"', "findmnt": ":"}
    stand_ins |= {"curl": _CURL} if curl is True else {}
    script = "\n".join((*(f"{name}() {{\n{body}\n}}" for name, body in stand_ins.items()), script))
    if isinstance(curl, str):
        (programs / "curl").symlink_to(curl)
    for name in ("bash", "date", "grep", "sed", "touch", "tail", "tee", "tr"):
        if not (programs / name).exists():
            (programs / name).symlink_to(shutil.which(name) or name)
    env = {**os.environ, "PATH": str(programs), "STATE": str(folder), "JOINS_AT": str(joins_at)}
    subprocess.run([programs / "bash", "-c", script], env=env, check=True, capture_output=True)
    calls = folder / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture(scope="module")
def usual(shared_site: Site) -> Properties:
    """The launch template of a host that has half an hour."""
    shared_site.capacity("g6.xlarge")
    return shared_site.launch_template()


def test_a_host_that_does_not_join_says_why_and_ends_itself_after_half_an_hour(
    usual: Properties, tmp_path: Path
) -> None:
    calls = _run(user_data(usual), tmp_path)
    assert calls.count("agent") == calls.count("sleep 10") == 180
    assert calls[-1] == "shutdown -h now"
    console = (tmp_path / "console").read_text()
    assert "not in its ECS cluster after 1800 seconds" in console
    assert "local-disks.service loaded failed" in console
    assert usual["InstanceInitiatedShutdownBehavior"] == "terminate"


def test_a_host_that_cannot_ask_its_agent_or_joined_once_never_ends_itself(usual: Properties, tmp_path: Path) -> None:
    text = user_data(usual)
    assert _run(text, tmp_path, curl=False) == []
    assert _run(text, tmp_path, joins_at=3).count("agent") == 3
    # After a reboot, whose agent does not come up.
    assert _run(text, tmp_path) == ["agent", "sleep 10", "agent", "sleep 10", "agent"]


def test_the_time_in_a_warm_pool_does_not_count(site: Site, tmp_path: Path) -> None:
    warm = HostScaling(warm_hosts=WarmHosts(hosts=1, state="Running"))
    site.capacity("g6.xlarge", scaling=warm, join_within=cdk.Duration.minutes(5))
    calls = _run(user_data(site.launch_template()), tmp_path)
    assert calls[-1] == "shutdown -h now"
    assert calls.count("agent") == 39 + 29


def test_hosts_of_aws_batch_end_themselves(site: Site, tmp_path: Path) -> None:
    choice = CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=2, join_within=cdk.Duration.minutes(10))
    GpuBatchQueue(site.stack, "Queue", vpc=site.vpc, environments=[choice])
    data = site.launch_template()
    calls = _run(user_data(data), tmp_path)
    assert (calls.count("agent"), calls[-1]) == (60, "shutdown -h now")
    assert data["InstanceInitiatedShutdownBehavior"] == "terminate"


def test_bottlerocket_has_no_such_time(ground: Ground) -> None:
    bottlerocket = GpuMachineImage.newest("bottlerocket-ecs-2-nvidia-x86_64")
    with pytest.raises(IncompatibleError, match="no shell") as refused:
        ground.capacity("g6.xlarge", image=bottlerocket, join_within=cdk.Duration.minutes(20))
    assert refused.value.argument == "join_within"


class _Aws(BaseHTTPRequestHandler):
    """The metadata of an instance, and CloudWatch Logs."""

    asked: ClassVar[list[tuple[dict[str, str], bytes]]] = []
    told: ClassVar[dict[str, str]] = {
        "iam/security-credentials/": "role",
        "iam/security-credentials/role": json.dumps(
            {"AccessKeyId": "AKID", "SecretAccessKey": "se/cr+et", "Token": "to/k=="}, indent=2, separators=(",", " : ")
        ),
        "placement/region": "us-east-1",
        "services/domain": "amazonaws.com",
        "instance-id": "i-0123",
    }

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self) -> None:
        self._answer("token")

    def do_GET(self) -> None:
        self._answer(self.told.get(self.path.removeprefix("/latest/meta-data/"), ""))

    def do_POST(self) -> None:
        self.asked.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer("{}")


class _Signer(SigV4Auth):  # type: ignore[misc]
    def headers_to_sign(self, request: AWSRequest) -> HTTPMessage:
        signed = HTTPMessage()
        for name, value in request.headers.items():
            signed[name.lower()] = value
        return signed


def _is_signed(headers: dict[str, str], body: bytes, url: str) -> bool:
    """Whether botocore comes to the same signature, over the token as well."""
    names, signature = re.findall(r"(?:SignedHeaders|Signature)=([^,]+)", headers["Authorization"])
    signed = {name: value for name, value in headers.items() if name.lower() in names.split(";")}
    request = AWSRequest("POST", url, data=body, headers=signed)
    request.context["timestamp"] = headers["X-Amz-Date"]
    signer = _Signer(Credentials("AKID", "se/cr+et"), "logs", "us-east-1")
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return "x-amz-security-token" in names and bool(signer.signature(text, request) == signature)


def test_a_host_writes_why_into_a_log_group_with_requests_that_it_signs(usual: Properties, tmp_path: Path) -> None:
    _Aws.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Aws) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        text = user_data(usual).replace("http://169.254.169.254/", url)
        text = text.replace("https://logs.$region.$(ask services/domain)/", url).replace("waited < 1800", "waited < 20")
        _run(text, tmp_path, curl=shutil.which("curl") or "curl")
        server.shutdown()
    assert [each["X-Amz-Target"].partition(".")[2] for each, _ in _Aws.asked] == [
        "CreateLogGroup",
        "PutRetentionPolicy",
        "CreateLogStream",
        "PutLogEvents",
    ]
    assert all(_is_signed(headers, body, url) for headers, body in _Aws.asked)
    said = json.loads(_Aws.asked[-1][1])
    assert (said["logGroupName"], said["logStreamName"]) == ("gpu-constructs-hosts", "i-0123")
    (event,) = said["logEvents"]
    assert "not in its ECS cluster" in event["message"].splitlines()[0]
    assert "local-disks.service loaded failed" in event["message"]
