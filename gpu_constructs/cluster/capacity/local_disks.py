"""What makes one file system of the NVMe disks of a host, before Docker and the ECS agent start.

Amazon Linux: a unit of systemd, since the disks are empty after every stop and a reboot mounts nothing by itself.
Docker and containerd require the unit, so that a host whose disks cannot be prepared never takes a task. Their
directories are bind mounts: ``/etc/docker/daemon.json`` and the NVIDIA runtime of the image stay as they are. The agent
starts after cloud-init, so user data comes first, and it is part of Docker (``After=cloud-final.service`` and
``PartOf=docker.service`` in packaging/amazon-linux-ami-integrated/ecs.service of github.com/aws/amazon-ecs-agent): its
start, which still waits at the first boot, is cancelled when Docker stops, and is asked for again without waiting,
since user data would wait for itself.

Bottlerocket: `apiclient ephemeral-storage` in a bootstrap command, which runs at every boot before the containers
(https://bottlerocket.dev/en/os/latest/concepts/bootstrap-commands/). It binds the system's own directories only
(``allowed_bind_dirs`` in github.com/bottlerocket-os/bottlerocket-core-kit, apiserver), so there is no path for scratch
data. Both read on 2026-11-21.

EC2 encrypts NVMe instance stores in hardware (``EncryptionSupport: required`` of DescribeInstanceTypes).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from gpu_constructs.facts import OperatingSystem
from gpu_constructs.fleet import Unknown

MOUNT_POINT = "/mnt/local-disks"
"""Where hosts mount the file system of their local disks."""

SCRATCH_PATH = f"{MOUNT_POINT}/scratch"
"""Where tasks find scratch space on a host."""

# Docker keeps images in one of the two, by its version and image store.
_IMAGE_DIRECTORIES = ("/var/lib/containerd", "/var/lib/docker")

# By label, since a reboot finds disks and arrays under other names. XFS takes log stripes of 256 KiB at most. mdadm is
# in no list of packages of the ECS-optimized AMIs, and only several disks need it.
_FILE_SYSTEM = f"""\
#!/bin/bash
set -euo pipefail
udevadm settle --timeout=60 || true
mapfile -t disks < <(
  readlink -f /dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage* | grep -E '^/dev/nvme[0-9]+n[0-9]+$' | sort -u
)
if [ "${{#disks[@]}}" -eq 0 ]; then
  echo "this host has no NVMe instance store" >&2
  exit 1
fi
device=$(blkid -L local-disks || true)
if [ -z "$device" ] && [ "${{#disks[@]}}" -gt 1 ]; then
  command -v mdadm > /dev/null || yum install -q -y mdadm
  mdadm --assemble --scan || true
  udevadm settle --timeout=60 || true
  device=$(blkid -L local-disks || true)
fi
if [ -z "$device" ]; then
  device=${{disks[0]}}
  if [ "${{#disks[@]}}" -gt 1 ]; then
    device=/dev/md/local-disks
    mdadm --create "$device" --run --level=0 --chunk=256 --raid-devices="${{#disks[@]}}" "${{disks[@]}}"
  fi
  mkfs.xfs -q -L local-disks "$device"
fi
mkdir -p {MOUNT_POINT}
mountpoint -q {MOUNT_POINT} || mount -o noatime "$device" {MOUNT_POINT}"""

_SCRATCH = f"""\
mkdir -p {SCRATCH_PATH}
chmod 1777 {SCRATCH_PATH}"""

# What the image brought is copied, so that a custom AMI keeps the container images that are baked into it.
_IMAGES = f"""\
for directory in {" ".join(_IMAGE_DIRECTORIES)}; do
  kept={MOUNT_POINT}$directory
  mkdir -p "$directory"
  if mountpoint -q "$directory"; then
    continue
  fi
  if [ ! -d "$kept" ]; then
    rm -rf "$kept.new"
    mkdir -p "$kept.new"
    cp -a "$directory/." "$kept.new/"
    mv "$kept.new" "$kept"
  fi
  mount --bind "$kept" "$directory"
done"""


def unit_lines(name: str, unit: str, script: Iterable[str]) -> tuple[str, ...]:
    """Lines of user data that write a script and the unit of systemd that runs it."""
    path = f"/usr/local/sbin/{name}"
    return (
        f"cat <<'EOF' > {path}",
        *script,
        "EOF",
        f"chmod +x {path}",
        f"cat <<'EOF' > /etc/systemd/system/{name}.service",
        unit,
        "EOF",
        "systemctl daemon-reload",
    )


def required_lines(name: str, description: str, script: Iterable[str], *, before: str) -> tuple[str, ...]:
    """Lines of user data that write what runs at every boot before others, which require it."""
    unit = f"""\
[Unit]
Description={description}
Wants=network-online.target
After=network-online.target
Before={before}
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/{name}
[Install]
RequiredBy={before}"""
    return unit_lines(name, unit, script)


def prepare_local_disks(operating_system: OperatingSystem | Unknown, *, scratch: bool, images: bool) -> tuple[str, ...]:
    """Lines of user data that prepare the disks at this boot and at every later one."""
    if operating_system is OperatingSystem.BOTTLEROCKET:
        command = ["apiclient", "ephemeral-storage"]
        commands = [[*command, "init"], [*command, "bind", "--dirs", *_IMAGE_DIRECTORIES]]
        return (
            "[settings.bootstrap-commands.local-disks]",
            f"commands = {json.dumps(commands)}",
            "essential = true",
            'mode = "always"',
        )
    parts = (_FILE_SYSTEM, *((_SCRATCH,) if scratch else ()), *((_IMAGES,) if images else ()))
    return (
        *required_lines(
            "local-disks", "Local NVMe disks for containers", parts, before="containerd.service docker.service"
        ),
        "systemctl stop docker.socket docker.service containerd.service",
        "systemctl enable --now local-disks.service",
        "systemctl start docker.service",
        "systemctl start --no-block ecs.service",
    )
