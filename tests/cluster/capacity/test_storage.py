"""Where hosts keep images and scratch data: the root volume, and the disks of the instance store."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs import GpuMachineImage, HostStorage, IncompatibleError, InvalidValueError
from gpu_constructs.fleet import LocalDiskUse
from tests.synthesis import Ground, Site, user_data


def _chosen(choice: str) -> dict[str, Any]:
    return {choice: True}


@pytest.mark.parametrize(("images_gib", "size"), [(None, 100), (10, 100), (28, 100), (28.5, 102), (100, 280)])
def test_the_root_volume_follows_the_images(images_gib: float | None, size: int) -> None:
    assert HostStorage(images_gib=images_gib).root_volume_gib == size


def test_a_size_that_is_given_is_kept_where_the_images_fit() -> None:
    assert HostStorage(root_volume_gib=60, images_gib=50).root_volume_gib == 60
    with pytest.raises(InvalidValueError, match="70 GiB of images do not fit on a volume of 60 GiB") as raised:
        HostStorage(root_volume_gib=60, images_gib=70)
    assert raised.value.allowed == "205 or more"
    with pytest.raises(InvalidValueError, match="^root_volume_gib: .*30 to 65536"):
        HostStorage(root_volume_gib=8)


def test_images_on_local_disks_need_no_room_on_the_root_volume() -> None:
    assert HostStorage(images_gib=400, images_on_local_disks=True).root_volume_gib == 100


def test_sizes_and_throughput_with_the_iops_that_it_needs_reach_the_template(site: Site) -> None:
    of_deploy = HostStorage(root_volume_gib=site.number("Size"), images_gib=50)
    for name, storage in (("Images", HostStorage(images_gib=28.5)), ("Token", of_deploy)):
        site.capacity("g6.xlarge", name=name, storage=storage)
    iops = {125: None, 750: None, 751: 3004, 2000: 8000}
    for throughput in iops:
        storage = HostStorage(root_volume_mib_per_second=throughput)
        site.capacity("g6.xlarge", name=f"C{throughput}", storage=storage)
    templates = [each["LaunchTemplateData"] for each in site.properties("AWS::EC2::LaunchTemplate")]
    images, token, *fast = [each["BlockDeviceMappings"][-1]["Ebs"] for each in templates]
    assert (images["VolumeSize"], token["VolumeSize"]) == (102, {"Ref": "Size"})
    assert {each["Throughput"]: each.get("Iops") for each in fast} == iops


@pytest.mark.parametrize("value", [124, 2001, True, "500", 500.0])
def test_throughput_outside_gp3_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValueError) as raised:
        HostStorage(root_volume_mib_per_second=value)
    assert (raised.value.argument, raised.value.allowed) == ("root_volume_mib_per_second", "125 to 2000")


def test_cached_images_are_preferred_by_choice_only(site: Site) -> None:
    site.capacity("g6.xlarge", name="Asks")
    site.capacity("g6.xlarge", name="Keeps", storage=HostStorage(prefer_cached_images=True))
    site.capacity("g5g.xlarge", name="Arm", storage=HostStorage(prefer_cached_images=True))
    texts = [user_data(each["LaunchTemplateData"]) for each in site.properties("AWS::EC2::LaunchTemplate")]
    asks, keeps, arm = texts
    assert "ECS_IMAGE_PULL_BEHAVIOR" not in asks
    assert "\nECS_IMAGE_PULL_BEHAVIOR=prefer-cached\n" in keeps
    assert '\nimage-pull-behavior = "prefer-cached"\n' in arm


@pytest.mark.parametrize("choice", ["images_on_local_disks", "scratch_on_local_disks"])
def test_types_without_local_disks_are_refused(ground: Ground, choice: str) -> None:
    with pytest.raises(IncompatibleError, match="m7i.large has no local disks") as raised:
        ground.capacity("m7i.large", "m6id.large", storage=HostStorage(**_chosen(choice)))
    assert raised.value.argument == choice
    assert (raised.value.rule, raised.value.fix) == ("GPU174", "only m6id.large")
    with pytest.raises(IncompatibleError, match="g5g.xlarge has no local disks"):
        ground.capacity("g5g.xlarge", storage=HostStorage(**_chosen(choice)))


def test_images_that_do_not_fit_on_the_disks_are_refused(ground: Ground) -> None:
    # 250 GB are 232.8 GiB.
    HostStorage(images_gib=230, images_on_local_disks=True).require_possible(ground.capacity("g6.xlarge").pool)
    with pytest.raises(IncompatibleError, match="240 GiB of images do not fit on the local disks of g6.xlarge, 250 GB"):
        ground.capacity(
            "g6.xlarge",
            "g6.8xlarge",
            name="Other",
            storage=HostStorage(images_gib=240, images_on_local_disks=True),
        )


def test_bottlerocket_binds_its_own_directories(site: Site) -> None:
    bottlerocket = GpuMachineImage.newest("bottlerocket-ecs-2-nvidia-x86_64")
    storage = HostStorage(images_on_local_disks=True)
    made = site.capacity("g6.xlarge", image=bottlerocket, storage=storage)
    assert user_data(site.launch_template()).endswith(
        "\n[settings.bootstrap-commands.local-disks]\n"
        'commands = [["apiclient", "ephemeral-storage", "init"], '
        '["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/docker"]]\n'
        "essential = true\n"
        'mode = "always"'
    )
    assert made.pool.user_data.local_disks is LocalDiskUse.IMAGES
    with pytest.raises(IncompatibleError, match="tasks cannot mount these"):
        site.capacity("g6.xlarge", name="Other", image=bottlerocket, storage=HostStorage(scratch_on_local_disks=True))


@pytest.fixture(scope="module")
def lines(shared_site: Site) -> dict[str, str]:
    """The user data of hosts by what their local disks are for."""
    uses = {
        "scratch": HostStorage(scratch_on_local_disks=True),
        "images": HostStorage(images_on_local_disks=True),
        "both": HostStorage(scratch_on_local_disks=True, images_on_local_disks=True),
    }
    for name, storage in uses.items():
        shared_site.capacity("g6.xlarge", name=name, storage=storage)
    texts = [user_data(each["LaunchTemplateData"]) for each in shared_site.properties("AWS::EC2::LaunchTemplate")]
    return dict(zip(uses, texts, strict=True))


def test_docker_waits_for_the_disks_at_every_boot(lines: dict[str, str]) -> None:
    text = lines["images"]
    unit = text.partition("> /etc/systemd/system/local-disks.service\n")[2].partition("\nEOF\n")[0].splitlines()
    assert "Before=containerd.service docker.service" in unit
    assert "RequiredBy=containerd.service docker.service" in unit
    assert "ExecStart=/usr/local/sbin/local-disks" in unit
    orders = [line for line in text.splitlines() if line.startswith("systemctl ")]
    assert orders == [
        "systemctl daemon-reload",
        "systemctl enable --now --no-block join-deadline.service",
        "systemctl daemon-reload",
        "systemctl stop docker.socket docker.service containerd.service",
        "systemctl enable --now local-disks.service",
        "systemctl start docker.service",
        # Stopping Docker cancelled it, and it starts after user data.
        "systemctl start --no-block ecs.service",
    ]
    assert "daemon.json" not in text


_STUBS = {
    "udevadm": "",
    "blkid": 'cat "$STATE/labelled" 2> /dev/null',
    "mdadm": 'echo "mdadm $*" >> "$STATE/calls"',
    "mkfs.xfs": 'echo "mkfs.xfs $*" >> "$STATE/calls"; echo "${@: -1}" > "$STATE/labelled"',
    "mountpoint": 'grep_mounted "$2"',
    "grep_mounted": 'case " $(cat "$STATE/mounted" 2> /dev/null | tr "\\n" " ") " in *" $1 "*) ;; *) exit 1 ;; esac',
    "mount": 'echo "mount $*" >> "$STATE/calls"; echo "${@: -1}" >> "$STATE/mounted"',
}


class Host:
    """A host on which the script of the disks runs, with its commands replaced and its folders moved."""

    def __init__(self, folder: Path, text: str, *disks: str) -> None:
        self.folder = folder
        script = text.partition("> /usr/local/sbin/local-disks\n")[2].partition("\nEOF\n")[0]
        for moved in ("/dev/disk/", "/mnt/", "/var/lib/"):
            script = script.replace(moved, f"{folder}{moved}")
        self.script = folder / "local-disks"
        self.script.write_text(script)
        commands = folder / "bin"
        commands.mkdir()
        for name, body in _STUBS.items():
            (commands / name).write_text(f"#!/bin/bash\n{body}\n")
            (commands / name).chmod(0o755)
        self._link("nvme-Amazon_Elastic_Block_Store_vol0", "nvme0n1")
        for disk in disks:
            # As udev does: two names for the disk, one for its first partition.
            self._link(f"nvme-Amazon_EC2_NVMe_Instance_Storage_{disk}", disk)
            self._link(f"nvme-Amazon_EC2_NVMe_Instance_Storage_{disk}-ns-1", disk)
            self._link(f"nvme-Amazon_EC2_NVMe_Instance_Storage_{disk}-part1", f"{disk}p1")
        (folder / "var/lib/docker").mkdir(parents=True)
        (folder / "var/lib/docker/baked").write_text("an image of a custom AMI")

    def _link(self, name: str, device: str) -> None:
        by_id = self.folder / "dev/disk/by-id"
        by_id.mkdir(parents=True, exist_ok=True)
        (by_id / name).symlink_to(f"/dev/{device}")

    def boot(self) -> subprocess.CompletedProcess[str]:
        (self.folder / "mounted").unlink(missing_ok=True)
        (self.folder / "calls").write_text("")
        return self.run()

    def run(self) -> subprocess.CompletedProcess[str]:
        bash = shutil.which("bash")
        assert bash
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment = {"PATH": path, "STATE": str(self.folder)}
        return subprocess.run([bash, str(self.script)], env=environment, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().replace(str(self.folder), "").splitlines()


def test_one_disk_is_formatted_once_and_mounted_at_every_boot(lines: dict[str, str], tmp_path: Path) -> None:
    host = Host(tmp_path, lines["scratch"], "nvme1n1")
    assert host.boot().returncode == 0
    mount = "mount -o noatime /dev/nvme1n1 /mnt/local-disks"
    assert host.calls == ["mkfs.xfs -q -L local-disks /dev/nvme1n1", mount]
    assert (tmp_path / "mnt/local-disks/scratch").stat().st_mode & 0o7777 == 0o1777
    assert host.boot().returncode == 0
    assert host.calls == [mount]
    assert host.run().returncode == 0
    assert host.calls == [mount]


def test_several_disks_become_one_stripe(lines: dict[str, str], tmp_path: Path) -> None:
    host = Host(tmp_path, lines["scratch"], "nvme2n1", "nvme1n1")
    assert host.boot().returncode == 0
    assert host.calls == [
        "mdadm --assemble --scan",
        "mdadm --create /dev/md/local-disks --run --level=0 --chunk=256 --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1",
        "mkfs.xfs -q -L local-disks /dev/md/local-disks",
        "mount -o noatime /dev/md/local-disks /mnt/local-disks",
    ]
    assert host.boot().returncode == 0
    assert host.calls == ["mount -o noatime /dev/md/local-disks /mnt/local-disks"]


def test_docker_moves_with_what_the_image_brought(lines: dict[str, str], tmp_path: Path) -> None:
    host = Host(tmp_path, lines["images"], "nvme1n1")
    assert host.boot().returncode == 0
    binds = [
        f"mount --bind /mnt/local-disks{directory} {directory}"
        for directory in ("/var/lib/containerd", "/var/lib/docker")
    ]
    assert host.calls[-2:] == binds
    kept = tmp_path / "mnt/local-disks" / str(tmp_path).lstrip("/") / "var/lib/docker/baked"
    assert kept.read_text() == "an image of a custom AMI"
    kept.write_text("pulled since")
    assert host.boot().returncode == 0
    assert host.calls[-2:] == binds
    assert kept.read_text() == "pulled since"
    assert host.run().returncode == 0
    assert host.calls.count(binds[0]) == 1


def test_a_host_without_disks_says_so_and_starts_no_docker(lines: dict[str, str], tmp_path: Path) -> None:
    host = Host(tmp_path, lines["scratch"])
    failed = host.boot()
    assert failed.returncode == 1
    assert "this host has no NVMe instance store" in failed.stderr
    assert host.calls == []
