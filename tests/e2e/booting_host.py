"""A host that boots, as far as the check of its GPUs sees one: instance metadata and two AWS APIs on loopback.

The script runs in a real shell with a real curl; what it signs is compared with what botocore would sign. Only
nvidia-smi, systemctl and sleep are stand-ins.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qsl

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

__all__ = ["BootingHost", "booting"]

KEYS = Credentials("AKIDEXAMPLE", "secret/with+signs", "token/with+signs==")
METADATA = {
    "placement/region": "us-east-1",
    "services/domain": "amazonaws.com",
    "instance-id": "i-0123456789abcdef0",
    "iam/security-credentials/": "HostRole",
    "iam/security-credentials/HostRole": f'{{\n  "Code" : "Success",\n  "AccessKeyId" : "{KEYS.access_key}",\n'
    f'  "SecretAccessKey" : "{KEYS.secret_key}",\n  "Token" : "{KEYS.token}"\n}}',
}
DESCRIBED = (
    "<DescribeAutoScalingInstancesResponse><DescribeAutoScalingInstancesResult><AutoScalingInstances><member>"
    "<LaunchTemplate><LaunchTemplateName>l4</LaunchTemplateName></LaunchTemplate>"
    "<AutoScalingGroupName>Stack-ClusterL4GroupASG-1A2B3C</AutoScalingGroupName><LifecycleState>{state}</LifecycleState>"
    "</member></AutoScalingInstances></DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>"
)


@dataclass
class BootingHost:
    """One host: what it finds, and what it did.

    Attributes:
        folder: Where its files are.
        smi: What nvidia-smi prints, one text for each call, the last one from then on; None where it is not there.
        states: Lifecycle states of the host as Auto Scaling answers, one for each question, the last one from then on.
        refusals: How often Auto Scaling refuses to complete the action, as it does before the permission is there.
        calls: The calls to AWS that were signed right, without what is the same in all of them.
        switched: What was asked of systemctl.
        pauses: How often it waited.
    """

    folder: Path
    smi: Sequence[str | None] = ()
    states: Sequence[str] = ("Pending:Wait",)
    refusals: int = 0
    calls: list[dict[str, str]] = field(default_factory=list)
    asked: int = 0

    def start_agent(self, script: str) -> bool:
        """Runs the check as ``ecs.service`` does; whether the agent may start."""
        program = self.folder / "gpu-check"
        program.write_text(script)
        with booting(self) as port:
            self._stand_ins(port)
            ran = subprocess.run(
                ["/bin/bash", str(program)],
                env={"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "RUNTIME_DIRECTORY": str(self.folder / "run")},
                capture_output=True,
                check=False,
                timeout=60,
            )
        return ran.returncode == 0

    def reboot(self) -> None:
        """/run is empty after a boot."""
        shutil.rmtree(self.folder / "run")

    @property
    def switched(self) -> list[str]:
        return self._log("systemctl")

    @property
    def pauses(self) -> int:
        return len(self._log("sleep"))

    @property
    def actions(self) -> list[str]:
        return [each["Action"] for each in self.calls if each["Action"] != "DescribeAutoScalingInstances"]

    def answer(self, host: str, body: dict[str, str]) -> tuple[int, str]:
        self.calls.append({"host": host, **body})
        if body["Action"] == "DescribeAutoScalingInstances":
            self.asked += 1
            return 200, DESCRIBED.format(state=self.states[min(self.asked, len(self.states)) - 1])
        if body["Action"] == "CompleteLifecycleAction" and self.refusals:
            self.refusals -= 1
            return 403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
        return 200, "<Response/>"

    def _log(self, name: str) -> list[str]:
        path = self.folder / f"{name}.log"
        return path.read_text().splitlines() if path.exists() else []

    def _stand_ins(self, port: int) -> None:
        (self.folder / "run").mkdir(exist_ok=True)
        commands = self.folder / "bin"
        commands.mkdir(exist_ok=True)
        real = shutil.which("curl", path="/usr/bin:/bin")
        for number, text in enumerate(self.smi):
            if text is not None:
                (self.folder / f"smi.{number}").write_text(text)
        (self.folder / "smi.asked").unlink(missing_ok=True)
        # The script calls them dozens of times: in a small shell, and without commands of other programs.
        texts = {each: f'#!/bin/sh\necho "$*" >> {self.folder}/{each}.log\n' for each in ("sleep", "systemctl")}
        texts["curl"] = f'#!/bin/bash\nexec {real} --connect-to ::127.0.0.1:{port} "${{@/#https:/http:}}"\n'
        texts["nvidia-smi"] = f"""#!/bin/sh
[ "$*" = "--query-gpu=index --format=csv,noheader" ] || exit 2
read -r n 2> /dev/null < {self.folder}/smi.asked || n=0
[ "$n" -ge {len(self.smi) - 1} ] || echo $((n + 1)) > {self.folder}/smi.asked
[ -e {self.folder}/smi.$n ] || exit 9
while read -r line; do echo "$line"; done < {self.folder}/smi.$n
"""
        for name, text in texts.items():
            path = commands / name
            path.write_text(text)
            path.chmod(0o755)


@contextmanager
def booting(host: BootingHost) -> Iterator[int]:
    """Instance metadata and the AWS APIs, on a port of loopback."""

    class Answers(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_PUT(self) -> None:
            right = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
            self._answer(200 if right else 400, "metadata-token")

        def do_GET(self) -> None:
            found = METADATA.get(self.path.removeprefix("/latest/meta-data/"))
            token = self.headers["X-aws-ec2-metadata-token"] == "metadata-token"
            self._answer(401 if not token else 404 if found is None else 200, found or "")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, text = 403, "SignatureDoesNotMatch"
            if self._is_signed(body):
                status, text = host.answer(self.headers["Host"], dict(parse_qsl(body.decode())))
            self._answer(status, text)

        def _is_signed(self, body: bytes) -> bool:
            given = dict(
                part.strip().split("=", 1) for part in self.headers["Authorization"].split(" ", 1)[1].split(",")
            )
            _, _, region, service, _ = given["Credential"].split("/")
            names = [each for each in given["SignedHeaders"].split(";") if each != "host"]
            assert {"x-amz-date", "x-amz-security-token"} <= set(names)
            request = AWSRequest(
                "POST", f"https://{self.headers['Host']}/", {each: self.headers[each] for each in names}, body
            )
            request.context["timestamp"] = self.headers["X-Amz-Date"]
            auth = SigV4Auth(KEYS, service, region)
            signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
            return bool(signature == given["Signature"])

        def _answer(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
