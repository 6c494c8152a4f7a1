from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.fleet import NO_USER_DATA, UNKNOWN, LocalDiskUse, Unknown, UserData, UserDataFormat
from gpu_constructs.template.model import Reference, Text
from gpu_constructs.template.resources.user_data import AgentSettings, agent_settings

CLUSTER = Reference("Stack", "Cluster")


def named(value: Any) -> str | Unknown:
    return value if isinstance(value, str) else "gpu" if value == CLUSTER else UNKNOWN


def read(*pieces: Any) -> UserData:
    return agent_settings(pieces[0] if len(pieces) == 1 else Text(pieces), named).data


def cluster(*pieces: Any) -> str | Unknown | None:
    return agent_settings(Text(pieces), named).cluster


def agent(*pieces: Any) -> dict[str, str | Unknown]:
    return dict(read(*pieces).agent)


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("echo ECS_CLUSTER=a>>/etc/ecs/ecs.config;echo ok", {"ECS_CLUSTER": "a"}),
        ("sed -i 's/ECS_CLUSTER=.*/ECS_CLUSTER=b/' /etc/ecs/ecs.config", {"ECS_CLUSTER": UNKNOWN}),
        ('if [ "$ECS_CLUSTER" == a ]; then true; fi', {}),
        ('cat <<- "EOF" > /etc/ecs/ecs.config\nECS_CLUSTER="a"\n\tEOF\necho EOF', {"ECS_CLUSTER": '"a"'}),
        ('echo ECS_CLUSTER="a" >> /etc/ecs/ecs.config', {"ECS_CLUSTER": "a"}),
        ("cat <<E >> /etc/ecs/ecs.config\n ECS_A=1 \nECS_CLUSTER = a\nexport ECS_B=1\nE", {"ECS_A": "1"}),
    ],
)
def test_a_shell_script_sets_what_its_lines_say(line: str, settings: dict[str, Any]) -> None:
    found = read(f"#!/bin/bash\n{line}\n")
    assert dict(found.agent) == settings
    assert found.format is UserDataFormat.SHELL


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("echo ECS_CLUSTER=prefix-", CLUSTER, " >> /etc/ecs/ecs.config\n"), UNKNOWN),
        (("echo hello\n",), None),
    ],
)
def test_any_other_piece_does_not_say_which_cluster_is_meant(pieces: Any, expected: Any) -> None:
    assert cluster("#!/bin/bash\n", *pieces) == expected


def test_attributes_of_bottlerocket_are_unknown_where_one_is_not_understood() -> None:
    text = '[settings.ecs.instance-attributes]\ngpu = "l4"\nrack = [1]\n'
    assert read(text).get("ECS_INSTANCE_ATTRIBUTES") is UNKNOWN


CLOUD_CONFIG = """#cloud-config
write_files:
  - path: /etc/ecs/ecs.config
    content: |
      ECS_CLUSTER=gpu
      ECS_RESERVED_MEMORY=256
runcmd:
  - echo ECS_ENABLE_SPOT_INSTANCE_DRAINING=true >> /etc/ecs/ecs.config
  - [sh, -c, "echo 'ECS_LOGLEVEL=debug' >> /etc/ecs/ecs.config"]
"""

MIME = """Content-Type: multipart/mixed; boundary="==B=="
MIME-Version: 1.0

--==B==
Content-Type: text/cloud-boothook; charset="us-ascii"

#cloud-boothook
echo ECS_CLUSTER=gpu >> /etc/ecs/ecs.config

--==B==
Content-Type: text/x-shellscript
Content-Transfer-Encoding: base64

{encoded}
--==B==--
"""


def test_a_cloud_config_sets_what_it_writes_and_runs_in_order_of_name() -> None:
    found = read(CLOUD_CONFIG)
    assert found.format is UserDataFormat.CLOUD_CONFIG
    assert found.agent == (
        ("ECS_CLUSTER", "gpu"),
        ("ECS_ENABLE_SPOT_INSTANCE_DRAINING", "true"),
        ("ECS_LOGLEVEL", "debug"),
        ("ECS_RESERVED_MEMORY", "256"),
    )


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["- path: /etc/ecs/ecs.config", "  content: |", '    ECS_A="a"'], '"a"'),
        (["- content: |", '    ECS_A="a"', "  path: /etc/profile.d/a.sh"], "a"),
        (["- path: /etc/profile.d/a.sh", "  content: |", '    ECS_A="a"'], UNKNOWN),
        (["- 'echo ''ECS_A=[\"a\"]'' >> /etc/ecs/ecs.config'"], '["a"]'),
        (['- "echo ECS_A=[\\"a\\"] >> /etc/ecs/ecs.config"'], "[a]"),
        (['- [sh, -c, "echo \'ECS_A=[\\"a\\"]\' >> /etc/ecs/ecs.config"]'], '["a"]'),
        (["- [sh, -c, 'echo ECS_A=a >> /etc/ecs/ecs.config']"], "a"),
    ],
)
def test_quotes_of_yaml_and_of_the_shell_are_no_quotes_of_the_file(lines: list[str], value: Any) -> None:
    assert agent("\n".join(("#cloud-config", *lines))) == {"ECS_A": value}


def test_a_cluster_in_quotes_is_the_one_that_is_meant() -> None:
    pieces = ('#!/bin/sh\ncat <<E >> /etc/ecs/ecs.config\nECS_CLUSTER="', CLUSTER, '"\nE\n')
    assert (agent(*pieces), cluster(*pieces)) == ({"ECS_CLUSTER": '"gpu"'}, "gpu")


def test_a_reference_in_a_part_is_found() -> None:
    before, _, after = MIME.partition("gpu")
    assert cluster(before, CLUSTER, after.replace("{encoded}", "")) == "gpu"


def test_a_part_in_a_function_that_encodes_it_is_read() -> None:
    before, _, after = MIME.replace("echo ECS_CLUSTER=gpu >> /etc/ecs/ecs.config\n", "").partition("{encoded}")
    script = "#!/bin/bash\necho ECS_CLUSTER="  # ec2.MultipartUserData: Fn::Base64 of a part within that of all
    assert cluster(before + script, CLUSTER, " >> /etc/ecs/ecs.config\n" + after) == "gpu"


def test_a_file_that_is_written_encoded_may_set_anything() -> None:
    assert not read(CLOUD_CONFIG.replace("    content: |\n", "    encoding: b64\n    content: |\n")).complete
    assert read(CLOUD_CONFIG).complete


@pytest.mark.parametrize("kind", ["text/x-shellscript", "text/cloud-config"])
def test_a_part_that_is_compressed_may_set_anything(kind: str) -> None:
    assert not read(MIME.replace("text/x-shellscript", kind).replace("{encoded}", "H4sIAAAAAAAAA3N0dA==")).complete


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, AgentSettings(data=NO_USER_DATA)),
        ("<powershell>", AgentSettings(data=UserData(format=UserDataFormat.OTHER, complete=False))),
    ],
)
def test_what_is_no_text_to_read_is_not_known(value: Any, expected: AgentSettings) -> None:
    assert agent_settings(value, named) == expected


FRAGMENTS = st.sampled_from(
    [
        "#!/bin/sh\n",
        "#cloud-config\n",
        "ECS_CLUSTER=",
        "<<EOF\n",
        "EOF\n",
        "[settings.ecs]\n",
        "cluster = ",
        '"',
        "'",
        "{",
        "MIME-Version: 1.0\n",
        "Content-Type: multipart/mixed; boundary=b\n\n",
        "--b\n",
        "$A",
        "\\n",
        "\ue0000\ue000",
    ]
)


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=20), st.just(UNKNOWN), st.just(CLUSTER)), max_size=20))
def test_no_text_makes_it_fail(pieces: list[Any]) -> None:
    found = agent_settings(Text(tuple(pieces)), named).data
    assert list(found.agent) == sorted(found.agent, key=lambda each: each[0])


@pytest.mark.parametrize(
    ("command", "use"),
    [
        ('["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/docker"]', LocalDiskUse.IMAGES),
        ('["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/log/ecs"]', LocalDiskUse.SCRATCH),
        ('["apiclient", "ephemeral-storage", "init"]', LocalDiskUse.NONE),
    ],
)
def test_disks_that_bottlerocket_binds_are_seen(command: str, use: LocalDiskUse) -> None:
    text = f"[settings.bootstrap-commands.disks]\ncommands = [{command}]\n[settings.ecs]\ncluster = 'gpu'"
    assert read(text).local_disks is use


def test_bottlerocket_sets_the_agents_variables_by_names_of_its_own() -> None:
    lines = ("[settings.ecs]", "enable-spot-instance-draining = true", "reserved-memory = 256")
    assert dict(read("\n".join(lines)).agent) == {
        "ECS_ENABLE_SPOT_INSTANCE_DRAINING": "true",
        "ECS_RESERVED_MEMORY": "256",
    }
