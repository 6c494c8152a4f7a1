"""User data in the wrong form, without the cluster, with the GPUs switched off, or for disks that hosts do not have."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from gpu_constructs.fleet import (
    NO_USER_DATA,
    UNKNOWN,
    Fleet,
    HostImage,
    LocalDiskUse,
    PoolKind,
    PurchaseOption,
    Unknown,
    UserData,
    UserDataFormat,
    Workload,
)
from gpu_constructs.rules import Severity, check, find_rule, rules_of
from gpu_constructs.rules.hosts import user_data
from gpu_constructs.template.resources.user_data import agent_settings
from tests.rules.given import GPU_TASK, a_pool, asked, of_image

RULES = rules_of(user_data)

SHELL = UserData(format=UserDataFormat.SHELL, agent=(("ECS_CLUSTER", "gpu"),))
DRAINING = "ECS_ENABLE_SPOT_INSTANCE_DRAINING"
NOT_DRAINED = replace(SHELL, agent=(*SHELL.agent, (DRAINING, "false")))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('cluster = "gpu"\necho hello', "echo hello"),
        ("image-pull-behavior . x = 1\nlist = [\n  true\n]\necho in a text that goes on", ""),
    ],
)
def test_a_command_or_a_text_without_quotes_in_the_toml_of_bottlerocket_is_found(text: str, line: str) -> None:
    data = agent_settings(f"[settings.ecs]\n{text}", lambda _: None).data
    found = asked(RULES, a_pool(image=of_image("bottlerocket-ecs-2-nvidia-x86_64"), user_data=data, has_provider=False))
    assert [each.message for each in found.values()] == [
        f"bottlerocket-ecs-2-nvidia-x86_64 reads TOML only, and the user data has the line {line!r}"
    ][: bool(line)]


NAMES = "echo ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"
FROM_VARIABLE = "echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config"


def read(*lines: str) -> UserData:
    return agent_settings("\n".join(("#!/bin/bash", *lines)), lambda _: None).data


@pytest.mark.parametrize(
    ("lines", "ends_early"),
    [
        (["yum update -y && exit 0", "exit 0", NAMES], True),
        (["yum update -y || exit 1", NAMES], False),
        (["if [ -f /done ]; then exit 0; fi", NAMES], False),
        (["(exit 0)", NAMES], False),
    ],
)
def test_commands_behind_the_end_of_a_script_name_no_cluster(lines: list[str], ends_early: bool) -> None:
    found = asked(RULES, a_pool(cluster="gpu", user_data=read(*lines)))
    assert ("GPU098" in found and "ends with exit" in found["GPU098"].message) is ends_early


OVERWRITTEN = [f"echo {each} > /etc/ecs/ecs.config" for each in ("ECS_CLUSTER=gpu", "ECS_ENABLE_GPU_SUPPORT=true")]


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [
        (["cat <<'EOF' >> /etc/ecs/ecs.config", 'ECS_CLUSTER="${AWS::StackName}"', "EOF"], True),
        (["Cluster=gpu", FROM_VARIABLE], False),
        (["read -r Cluster < /etc/cluster", FROM_VARIABLE], False),
        ([FROM_VARIABLE, NAMES], False),
        (["aws --region eu-west-1 s3 ls", *OVERWRITTEN], True),
        (["curl -sLo /etc/cron.d/later http://example.com", *OVERWRITTEN], False),
        (["curl -s http://example.com > /etc/cron.d/later", *OVERWRITTEN], False),
    ],
)
def test_a_cluster_without_a_value_or_overwritten_is_an_error(lines: list[str], is_found: bool) -> None:
    assert ("GPU098" in asked(RULES, a_pool(cluster="gpu", user_data=read(*lines)))) is is_found


CONFIGURATION = "cat <<E >> /etc/ecs/ecs.config"
ATTRIBUTES = 'ECS_INSTANCE_ATTRIBUTES={"gpu":"l4"}'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([CONFIGURATION, 'ECS_CLUSTER="gpu"', "E"], "where the quotes are a part of the name"),
        ([CONFIGURATION, "ECS_CLUSTER = gpu", "E"], "the user data has 'ECS_CLUSTER = gpu', which the agent does not"),
        ([NAMES, f"echo {ATTRIBUTES} >> /etc/ecs/ecs.config"], "={gpu:l4}' into /etc/ecs/ecs.config, which is no"),
        ([NAMES, "echo 'ECS_INSTANCE_ATTRIBUTES={\"gpu\":1}' >> /etc/ecs/ecs.config"], "the agent does not start"),
        ([NAMES, "echo 'ECS_INSTANCE_ATTRIBUTES={\"gpu\":null}' >> /etc/ecs/ecs.config"], ""),
        (['echo ECS_CLUSTER="gpu" >> /etc/ecs/ecs.config'], ""),
        ([NAMES, "cat <<E > /etc/profile.d/ecs.sh", 'ECS_CLUSTER="gpu"', "export ECS_CLUSTER=gpu", "E"], ""),
        ([NAMES, f"echo '{ATTRIBUTES}' >> /etc/ecs/ecs.config"], ""),
        ([CONFIGURATION, "ECS_CLUSTER=gpu", ATTRIBUTES, "ECS_CONTAINER_INSTANCE_TAGS={}", "E"], ""),
    ],
)
def test_lines_that_the_agent_does_not_read_as_they_are_meant_keep_hosts_out(lines: list[str], said: str) -> None:
    found = asked(RULES, a_pool(cluster="gpu", user_data=read(*lines)))
    assert list(found) == (["GPU098"] if said else [])
    assert not said or (found["GPU098"].severity, said in found["GPU098"].message) == (Severity.ERROR, True)


def test_a_program_may_still_change_what_the_agent_reads() -> None:
    data = read(CONFIGURATION, 'ECS_CLUSTER="gpu"', "E", "bash /opt/setup.sh")
    assert asked(RULES, a_pool(cluster="gpu", user_data=data))["GPU098"].severity is Severity.WARNING


@pytest.mark.parametrize(
    ("changes", "severities"),
    [
        ({}, [Severity.ERROR]),
        ({"told_cluster": UNKNOWN}, [Severity.WARNING]),
        ({"user_data": SHELL}, []),
        ({"cluster": UNKNOWN}, []),
    ],
)
def test_hosts_without_a_provider_are_meant_for_the_only_cluster(
    changes: dict[str, object], severities: list[Severity]
) -> None:
    bare = replace(a_pool(user_data=NO_USER_DATA, has_provider=False), **changes)  # type: ignore[arg-type]
    sent = Workload(name="service", task=GPU_TASK, cluster="gpu")
    fleet = Fleet(pools=(bare,), tasks=(GPU_TASK,), workloads=(sent,), is_whole=True)
    found = check(fleet, rules=[find_rule("GPU098"), find_rule("GPU229")])
    assert [each.severity for each in found if each.rule == "GPU098"] == severities
    assert not severities or [each.rule for each in found] == ["GPU098"]
    two = replace(fleet, workloads=(sent, replace(sent, name="other", cluster=None)))
    assert not check(two, rules=[find_rule("GPU098")])


def test_hosts_that_are_told_a_cluster_or_may_be_are_fine() -> None:
    assert asked(RULES, a_pool(cluster="gpu", user_data=replace(SHELL, agent=(("ECS_CLUSTER", UNKNOWN),)))) == {}
    assert asked(RULES, a_pool(cluster="gpu", user_data=replace(SHELL, agent=(), complete=False))) == {}
    assert asked(RULES, a_pool(cluster="gpu", user_data=UserData(format=UNKNOWN))) == {}


@pytest.mark.parametrize("purchase", [PurchaseOption.SPOT, PurchaseOption.MIXED])
@pytest.mark.parametrize(("user_data", "words"), [(SHELL, "not set"), (NOT_DRAINED, "off")])
def test_spot_hosts_that_do_not_drain_lose_their_tasks(
    purchase: PurchaseOption, user_data: UserData, words: str
) -> None:
    found = asked(RULES, a_pool(purchase=purchase, user_data=user_data))
    assert list(found) == ["GPU059"]
    assert f"its hosts are {purchase}, and {DRAINING} is {words}" in found["GPU059"].message
    assert found["GPU059"].fix.startswith(f"{DRAINING}=true")


def test_batch_gives_bottlerocket_what_it_does_not_read() -> None:
    hosts = a_pool(image=of_image("bottlerocket-ecs-2-nvidia-x86_64"), kind=PoolKind.BATCH)
    assert asked(RULES, hosts)["GPU057"].severity is Severity.WARNING


def test_bottlerocket_drains_by_a_setting_of_its_own() -> None:
    settings = agent_settings("[settings.ecs]\ncluster = 'gpu'\n", lambda _: None).data
    hosts = a_pool(image=of_image("bottlerocket-ecs-2-nvidia-x86_64"), purchase=PurchaseOption.SPOT, user_data=settings)
    assert asked(RULES, hosts)["GPU059"].fix == "enable-spot-instance-draining = true in [settings.ecs]"


OWN = (UNKNOWN, replace(of_image("al2023-gpu"), release="custom"))
SCRIPT = "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config\n"


def _read(text: str, **values: object) -> list[str]:
    data = agent_settings(text, lambda _: "gpu").data
    return list(
        asked(RULES, a_pool(**{"image": of_image("al2023-gpu"), "cluster": "gpu", "user_data": data, **values}))
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\n" + SCRIPT, ["GPU231"]),
        ("#!/usr/bin/python3\nprint('ECS_CLUSTER=gpu')\n", []),
        ("\n#cloud-config\nruncmd: [echo ECS_CLUSTER=gpu >> /etc/ecs/ecs.config]\n", []),
        ("#include\nhttps://example.com/script\n", []),
    ],
)
def test_a_script_that_does_not_begin_with_its_interpreter_never_runs(text: str, found: list[str]) -> None:
    assert _read(text) == found == _read(text, has_provider=False)  # without a provider, only the text names a cluster


@pytest.mark.parametrize("values", [*({"image": each} for each in OWN), {"cluster": "default"}, {"cluster": UNKNOWN}])
def test_nothing_is_said_of_a_script_that_may_not_be_needed(values: dict[str, object]) -> None:
    assert "GPU231" not in _read("\n" + SCRIPT, **values)


ANOTHER = "--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n"
IN_BASE64 = base64.b64encode(b"#!/bin/bash\nsudo  systemctl restart ecs.service\n").decode()


@pytest.mark.parametrize(
    ("header", "part", "command"),
    [
        ("text/x-shellscript", "#!/bin/bash\n  systemctl start ecs", "systemctl start ecs"),
        ("text/cloud-boothook", "#cloud-boothook\nsystemctl restart amazon-ecs", "systemctl restart amazon-ecs"),
        ("text/x-shellscript\nContent-Transfer-Encoding: base64", IN_BASE64, "sudo systemctl restart ecs.service"),
        ("text/cloud-config", "#cloud-config\nwrite_files:\n- content: |\n    systemctl restart ecs", ""),
        ("text/cloud-config", "runcmd:\n  - 'systemctl restart ecs'\n", "systemctl restart ecs"),
        ("text/plain", "runcmd:\n  - systemctl restart ecs\n", ""),
        ("text/cloud-config", f"runcmd: [ls]\n{ANOTHER}systemctl stop ecs", "systemctl stop ecs"),
        ("text/cloud-config", f"runcmd:\n- systemctl start --no-block ecs\n{ANOTHER}systemctl stop ecs", ""),
        ("text/cloud-config", f"power_state: {{mode: reboot}}\n{ANOTHER}systemctl stop ecs", ""),
        ("text/x-shellscript", f"#!/bin/sh\nsed -i /cloud-final/d a\n{ANOTHER}systemctl restart ecs", ""),
    ],
)
def test_parts_do_not_wait_for_the_agent_nor_stop_what_none_starts(header: str, part: str, command: str) -> None:
    archive = f"Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: {header}\n\n{part}\n--B--\n"
    found = asked(RULES, a_pool(cluster="gpu", user_data=agent_settings(archive, lambda _: None).data))
    said = found["GPU273"].message if "GPU273" in found else ""
    assert (said.removeprefix("after ").startswith(command), bool(said)) == (True, bool(command))


@pytest.mark.parametrize("image", OWN)
def test_an_image_of_ones_own_may_have_an_agent_that_waits_for_nothing(image: HostImage | Unknown) -> None:
    found = asked(RULES, a_pool(cluster="gpu", image=image, user_data=read("systemctl start ecs")))
    assert found["GPU273"].severity is Severity.WARNING


EXTRAS = "amazon-linux-extras install -y docker"


@pytest.mark.parametrize(
    ("lines", "severity"),
    [
        (["set -euo pipefail", EXTRAS, NAMES], Severity.ERROR),
        (
            ["set -o errexit", f"sudo {EXTRAS}", "cat <<EOF >> /etc/ecs/ecs.config", "ECS_CLUSTER=gpu", "EOF"],
            Severity.ERROR,
        ),
        ([EXTRAS, NAMES], Severity.WARNING),
        (["set -e", NAMES, EXTRAS], Severity.WARNING),
        (["set -e", "set +e", EXTRAS, NAMES], Severity.WARNING),
        (["set -e", f"{EXTRAS} || true", NAMES], Severity.WARNING),
        (["set -e", "if command -v amazon-linux-extras; then", EXTRAS, "fi", NAMES], None),
        ([f"yum install -y {EXTRAS.split(maxsplit=1)[0]}", EXTRAS, NAMES], None),
    ],
)
def test_amazon_linux_2023_does_not_have_the_extras_of_amazon_linux_2(
    lines: list[str], severity: Severity | None
) -> None:
    found = asked(RULES, a_pool(cluster="gpu", user_data=read(*lines))).get("GPU273")
    assert (found and found.severity) == severity
    assert "GPU273" not in asked(RULES, a_pool(cluster="gpu", user_data=read(*lines), image=of_image("al2-gpu")))


@pytest.mark.parametrize(
    ("before", "severity"), [("yum install -y jq", Severity.WARNING), ("yum install -y dnf", None)]
)
def test_amazon_linux_2_has_no_dnf_and_at_first_docker_20(before: str, severity: Severity | None) -> None:
    lines = read("set -e", before, "dnf install -y lustre-client", OF_DOCKER_20, NAMES)
    image = replace(of_image("al2-gpu"), release="amzn2-ami-ecs-gpu-hvm-2.0.20240625-x86_64-ebs")
    found = asked(RULES, a_pool(cluster="gpu", user_data=lines, image=image)).get("GPU273")
    assert (found and found.severity) == severity


STARTS = ["enable --now ecs.service  # now", "enable docker ecs --now", "--now enable ecs", "-q restart docker ecs"]
CALLS = ["/usr/bin/systemctl start", "sudo -E systemctl start >> /var/log/own 2>&1", "systemctl reload-or-restart"]
DOCKER = ">> /etc/sysconfig/docker"
OF_DOCKER_20 = f"echo 'OPTIONS=\"-g /data\"' {DOCKER}\nservice docker restart"
OF_OTHERS = [f"echo 'A_OPTIONS=\"-g x\"' {DOCKER}", f"grep 'OPTIONS=\"-g x\"' {DOCKER}", "systemctl restart docker"]
RESUMES = ["reboot", "telinit 6", "systemctl isolate a.target", "mount /data; systemctl start --no-block ecs"]
STOPS = ["systemctl mask ecs", "systemctl mask --now ecs", "service ecs stop", "sudo systemctl disable --now ecs"]
WAITS = "systemctl daemon-reload && systemctl enable ecs && systemctl start ecs"


@pytest.mark.parametrize(
    ("lines", "severity"),
    [
        *(([f"systemctl {words}"], Severity.ERROR) for words in STARTS),
        *(([f"echo ${{HOME}}; {call} ecs"], Severity.ERROR) for call in CALLS),
        (["sleep 300 && systemctl start ecs"], Severity.WARNING),
        (["systemctl start docker || systemctl start ecs"], Severity.WARNING),
        (["systemctl mask ecs", "(", "  systemctl unmask ecs", "  systemctl start ecs", ") > /log 2>&1 &"], None),
        ([f"{WAITS} &", "(sleep 9; systemctl start ecs; true) &", "systemctl start ecs --no-block"], None),
        (["systemctl is-active ecs; echo 'a; systemctl start ecs'; systemctl enable ecs"], None),
        ([OF_DOCKER_20], Severity.WARNING),
        (["sed -i 's|.*|OPTIONS=\"-g /a\"|' /etc/sysconfig/docker", "service docker restart"], Severity.WARNING),
        ([f"echo 'OPTIONS=\"--data-root /data-g -gx\"' {DOCKER}; usermod -g a b", *OF_OTHERS], None),
        (["if [ -d /scratch ]; then true; fi", "systemctl start ecs || true"], Severity.ERROR),
        (["if [ -d /scratch ]; then", "systemctl start ecs", "fi"], Severity.WARNING),
        (["later() {", "  systemctl start ecs", "}"], Severity.WARNING),
        (["nohup bash -c '", "systemctl start ecs", "' &"], Severity.WARNING),
        (['echo "#!/bin/bash', "# it's", "systemctl start ecs", '" > again.sh'], Severity.WARNING),
        (["cat > /usr/bin/again <<'EOF'", "systemctl restart ecs", "EOF"], None),
        (["cat > /usr/bin/again <<\\EOF", "systemctl restart ecs", "EOF"], None),
        *(([each, "systemctl start ecs"], None) for each in ("exit 0", "rpm -i amazon-ecs-init.rpm", "apt-get update")),
        (["systemctl restart docker", "systemctl stop ecs docker"], Severity.ERROR),
        *(([f"{each} || true"], Severity.ERROR) for each in (WAITS, *STOPS)),
        (["systemctl disable ecs.service"], Severity.WARNING),
        *((["systemctl stop ecs", each], None) for each in RESUMES),
        *(([each, "systemctl stop ecs"], None) for each in ("trap 'systemctl start ecs' 0", "(systemctl start ecs) &")),
        (["systemctl stop ecs", "bash /opt/configure.sh"], Severity.WARNING),
        (["if [ -f /golden ]; then", "systemctl stop ecs", "fi"], None),
    ],
)
def test_a_script_that_waits_for_the_agent_or_after_which_it_never_starts_is_an_error(
    lines: list[str], severity: Severity | None
) -> None:
    for end in ("\n", "\r\n"):  # cloud-init takes the line ends of Windows away
        data = agent_settings(end.join(("#!/bin/bash", NAMES, *lines, "")), lambda _: None).data
        found = asked(RULES, a_pool(cluster="gpu", user_data=data))
        assert {name: each.severity for name, each in found.items()} == (
            {} if severity is None else {"GPU273": severity}
        )


OF_DISKS = (user_data.has_local_disks,)


@pytest.mark.parametrize("changes", [{"has_unknown_types": True}, {"unknown_type_names": ("g9.xlarge",)}])
def test_types_that_are_not_known_are_said(changes: dict[str, object]) -> None:
    found = asked(OF_DISKS, a_pool("g6.xlarge", user_data=UserData(local_disks=LocalDiskUse.IMAGES), **changes))
    assert "local disks for container images, and whether a host has any is not known" in found["GPU174"].message


def test_disks_of_a_type_that_no_region_offers_are_not_known() -> None:
    prepares = UserData(local_disks=LocalDiskUse.SCRATCH)
    found = asked(OF_DISKS, a_pool("p3.2xlarge", "g3.4xlarge", "g6.xlarge", user_data=prepares))
    assert "whether p3.2xlarge or g3.4xlarge has any is not in the recorded data" in found["GPU174"].message
