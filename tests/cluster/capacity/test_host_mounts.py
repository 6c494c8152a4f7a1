"""Hosts mount file systems and buckets at every boot, before tasks run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    GpuMachineImage,
    HostMount,
    HostStorage,
    IncompatibleError,
)
from tests.model_storage import bucket_of, imported_lustre
from tests.synthesis import Ground, Site, user_data


def test_a_name_that_is_known_at_deploy_time_is_one_word_of_the_script(site: Site) -> None:
    name = cdk.CfnParameter(site.stack, "Name").value_as_string
    bucket = s3.Bucket.from_bucket_name(site.stack, "Given", name)
    files = imported_lustre(site, name)
    assert f" '{name}' /mnt/s3" in HostMount.s3(bucket).command
    assert f" '{name}@tcp:/abc' /mnt/lustre" in HostMount.fsx_lustre(files, mount_name="abc").command


def test_other_systems_have_no_packages(ground: Ground) -> None:
    bottlerocket = GpuMachineImage.newest("bottlerocket-ecs-2-nvidia-x86_64")
    storage = HostStorage(mounts=[HostMount.s3(bucket_of(ground))])
    with pytest.raises(IncompatibleError, match="bottlerocket has no packages") as refused:
        ground.capacity("g6.xlarge", image=bottlerocket, storage=storage)
    assert refused.value.argument == "mounts"


def test_the_agent_waits_for_the_mounts_at_every_boot(site: Site) -> None:
    site.capacity("g6.xlarge", storage=HostStorage(mounts=[HostMount.s3(bucket_of(site), prefix="qwen")]))
    text = user_data(site.launch_template())
    unit = text.partition("> /etc/systemd/system/host-mounts.service\n")[2].partition("\nEOF\n")[0].splitlines()
    assert {"Before=ecs.service", "RequiredBy=ecs.service", "ExecStart=/usr/local/sbin/host-mounts"} <= set(unit)
    orders = [line for line in text.splitlines() if line.startswith(("dnf ", "systemctl "))]
    # Before all that may fail.
    assert orders.pop(1) == "systemctl enable --now --no-block join-deadline.service"
    assert orders == [
        "systemctl daemon-reload",
        "dnf install -q -y mount-s3",
        "systemctl daemon-reload",
        "systemctl stop ecs.service",
        "systemctl enable --now host-mounts.service",
        "systemctl start --no-block ecs.service",
    ]


@pytest.mark.parametrize(("mounted", "fails"), [(False, False), (True, False), (False, True)])
def test_the_script_mounts_what_is_not_mounted_and_fails_with_the_mount(
    site: Site, tmp_path: Path, *, mounted: bool, fails: bool
) -> None:
    site.capacity("g6.xlarge", storage=HostStorage(mounts=[HostMount.s3(bucket_of(site), prefix="qwen")]))
    text = user_data(site.launch_template())
    script = (
        text.partition("> /usr/local/sbin/host-mounts\n")[2].partition("\nEOF\n")[0].replace("/mnt", f"{tmp_path}/mnt")
    )
    stand_ins = {
        "mountpoint": f"exit {int(not mounted)}",
        "mount-s3": f'echo "$*" >> {tmp_path}/log; exit {int(fails)}',
    }
    for name, body in stand_ins.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    bash = shutil.which("bash")
    assert bash
    ran = subprocess.run([bash, "-c", script], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False)
    assert ran.returncode == int(fails)
    log = tmp_path / "log"
    called = log.read_text().replace(str(tmp_path), "") if log.exists() else ""
    assert called == ("" if mounted else "--read-only --allow-other --prefix qwen/ weights /mnt/s3\n")
    assert (tmp_path / "mnt/s3").is_dir()
