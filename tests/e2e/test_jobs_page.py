"""The first app of ``docs/jobs.md``, by the real CDK command line: deployed, run from zero hosts, and destroyed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .server import ROOT

PAGE = (ROOT / "docs" / "jobs.md").read_text()
LOOK = """
import json, boto3
from gpu_constructs.account.jobs import run_job
outputs = json.load(open("outputs.json"))["Training"]
task = boto3.client("ecs").list_task_definitions()["taskDefinitionArns"][0]
family = task.rpartition("/")[2].partition(":")[0]
boto3.client("ssm").put_parameter(Name=f"/emulator/ends/{family}", Value="spot,0", Type="String")
client = lambda service, region: boto3.client(service, region_name=region)
end = run_job(outputs["Machine"], job_input={"epochs": 1}, client=client, poll_seconds=0)
print("exit code", end.exit_code, "in", end.log_stream)
"""
COMMANDS = """
cdk bootstrap aws://123456789012/us-east-1
cdk deploy --all --method direct --require-approval never --outputs-file outputs.json
python look.py
cdk destroy --all --force
"""


def test_a_job_is_deployed_run_interrupted_resumed_and_destroyed(tmp_path: Path) -> None:
    app, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    # A bucket that stays would stay; CDK's own validation takes half of each synth.
    first = f"set -e; cd {tmp_path}; export CDK_VALIDATION=false"
    written = {"app.py": app, "look.py": LOOK, "cdk.json": '{"app": "python app.py"}', "commands": first + COMMANDS}
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    ended = subprocess.run(
        [sys.executable, "-m", "tests.e2e.shell", "sh", str(tmp_path / "commands")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"^exit code 0 in train/train/[\w-]+$", ended.stdout, re.MULTILINE), ended.stdout + ended.stderr
    assert "Training: destroyed" in ended.stdout + ended.stderr
