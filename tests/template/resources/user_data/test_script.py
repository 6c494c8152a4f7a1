"""What a script certainly writes, what it may write, and what is never read for long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.fleet import UNKNOWN, UserDataFormat
from gpu_constructs.template.model import Text
from gpu_constructs.template.resources.agent_script import settings_of_script
from gpu_constructs.template.resources.user_data import agent_settings
from tests.pace import paces
from tests.template.resources.declared import fleet_of_data, joined

F = "/etc/ecs/ecs.config"
JOIN = f"echo ECS_CLUSTER=a >> {F}\n"
GPU = f"echo ECS_ENABLE_GPU_SUPPORT=false >> {F}"
OFF = "ECS_ENABLE_GPU_SUPPORT"


def read(script: str) -> tuple[dict[str, Any], bool]:
    return settings_of_script("#!/bin/bash\n" + script)


NOT_EVERY_HOST = [
    f"{{ echo {OFF}=false; echo; }} | sudo tee -a {F} > /dev/null",
    f"( echo {OFF}=false ) >> {F}",
    f"{{\n  echo {OFF}=false\n}} >> {F}",
    f"if nvidia-smi; then echo {OFF}=true >> {F}; else {GPU}; fi",
    f"lspci | grep -qi nvidia || {GPU}",
    f"grep -q x y && {GPU}",
    f"grep -q x y && mkdir -p z && {GPU}",
    f"case $(uname -m) in\n  x86_64) {GPU} ;;\n  *) true ;;\nesac",
    f"for each in 1 2; do {GPU}; done",
    f"while false; do\n{GPU}\ndone",
    f"disable() {{\n  {GPU}\n}}",
    f"function disable {{\n{GPU}\n}}",
    f"if true; then echo {OFF}=false; fi >> {F}",
    f"if a; then if b; then true; fi; {GPU}; fi",
    f"[ -f x ] || exit 0\n{GPU}",
    f"grep -q x y && ({GPU})",
    f"grep -q x y || {{ true; echo {OFF}=false; }} >> {F}",
    "{ " * 100 + f"echo {OFF}=false >> {F}",
    f"if [ -f x ]; then exit; fi\n{GPU}",
    f"echo {OFF}=false | sed s/false/true/ >> {F}",
    f"if x; then echo {OFF}=true >> {F}; fi\n{GPU}",
    f"echo {OFF}=true >> {F}\necho {OFF}=false >> /var/lib/ecs/ecs.config",
    f"{GPU}\nsed -i '/{OFF}/d' {F}",
    f"{GPU}\nif x; then cat y > {F}; fi",
    f"FILE=$(pick)\necho {OFF}=false >> $FILE",
    f"cd /etc/ecs\necho {OFF}=false >> ecs.config",
    f"VALUE=true\nif x; then VALUE=false; fi\necho {OFF}=$VALUE >> {F}",
    f"export {OFF}=false\nenv | grep ECS_ >> {F}",
    f"for each in {OFF}=false; do echo $each >> {F}; done",
    f"echo {OFF}=false > /tmp/ecs\ncp /tmp/ecs {F}",
    f"python3 - <<EOF\nopen('{F}','a').write('{OFF}=false')\nEOF",
]


def test_what_not_every_host_writes_is_unknown() -> None:
    wrong = {script: found for script in NOT_EVERY_HOST if (found := read(script)[0]) != {OFF: UNKNOWN}}
    assert not wrong


def test_what_every_host_writes_is_known() -> None:
    wrong = {
        script: (settings, complete)
        for script in [
            f"mkdir -p /etc/ecs && {GPU}",
            f"if true; then true; fi\n{GPU}",
            f"case x in\n a) true;;\nesac\n{GPU}",
            f"for x in a b; do true; done; {GPU}",
            f"echo {OFF}=false | sudo tee -a {F} >/dev/null 2>&1",
            f"sudo tee -a {F} <<'EOF'\n{OFF}=false\nEOF",
            f"cat <<EOF | tee {F}\n{OFF}=false\nEOF",
            f"echo {OFF}=true >> {F}\necho {OFF}=false > {F}",
            f"{GPU}\n{GPU}",
            f"echo {OFF}=true >> {F}\n{GPU}",
            f"cat <<E >> {F}\n{OFF}=true\n{OFF}=false\nE",
            f"FILE={F}\necho {OFF}=false >> $FILE",
            f"echo {OFF}=false >> //etc/ecs//ecs.config",
            f"echo {OFF}=false >> /var/lib/ecs/ecs.config",
            f"echo \\\n  {OFF}=false \\\n  >> {F}",
            f'echo "{OFF}=false\nECS_LOGLEVEL=$x" >> {F}; true',
            f"X=$(date); {GPU} # {OFF}=true",
            f"{GPU}\ncat {F}\nchmod 644 {F}",
            f"exec > >(tee /var/log/user-data.log | logger -t user-data) 2>&1\n{GPU}",
            f"FOLDER=/etc/ecs\necho {OFF}=false >> $FOLDER/ecs.config",
            f"printf '{OFF}=false\\nECS_LOGLEVEL=%s\\n' debug >> {F}",
            f"a=1 b=2\n{GPU}",
        ]
        for settings, complete in [read(script)]
        if settings.get(OFF) != "false" or not complete
    }
    assert not wrong


@pytest.mark.parametrize(
    "script",
    [
        f"echo {OFF}=false > /root/notes.txt",
        f"echo {OFF}=false >> /etc/ecs.config",
        f"export {OFF}=false",
        f"echo {OFF}=false",
        "growpart /dev/xvda 1\ndocker pull x\nwget -qO /tmp/x https://example.com/x\naws s3 cp s3://b/$X /opt/models",
        f"# {GPU}",
        f"{OFF}=false\necho ECS_CLUSTER=a >> {F}",
        "pkill -SIGHUP dockerd\ncurl -s https://example.com/x | jq .a | sudo tee -a /var/log/x.log > /dev/null",
    ],
)
def test_what_goes_to_another_file_is_no_setting(script: str) -> None:
    settings, complete = read(script)
    assert OFF not in settings
    assert complete


SETS_MORE = [
    f"aws s3 cp s3://b/ecs.config {F}",
    "curl https://example.com/x | sort -o /etc/cron.d/job",
    f"cp /opt/conf/ecs.config {F}",
    "aws s3 cp s3://b/b.sh /tmp/b.sh\nbash /tmp/b.sh",
    "aws s3 cp s3://b/b.sh - | bash -s",
    ". /etc/profile.d/setup",
    "wget -O /tmp/../etc/ecs/more https://example.com/x",
    "curl https://example.com/x | tee /var/log/../../etc/systemd/system/x.service",
    "curl https://example.com/x | env A=1 bash",
    'add() { echo "$1=$2" >> /etc/ecs/ecs.config; }\nadd ECS_CLUSTER a',
    "docker run -d --net host -e ECS_CLUSTER=a amazon/amazon-ecs-agent",
    f"sed -i s/a/b/ {F}",
    f"cat /opt/more >> {F}",
    f"cp{' -a' * 40} ! /x",  # which a pattern of two forms for one word does not end on
    "echo 'never closed",
]


def test_a_script_is_not_complete_where_something_else_may_set_more() -> None:
    assert read(JOIN)[1]
    assert not [command for command in SETS_MORE if read(JOIN + command)[1]]


def test_what_another_language_does_is_unknown() -> None:
    data = agent_settings(f"#!/usr/bin/env python3\nopen('{F}', 'a').write('ECS_CLUSTER=a\\n')\n", lambda _: None).data
    assert (data.agent, data.complete) == ((("ECS_CLUSTER", UNKNOWN),), False)


@pytest.mark.parametrize("kind", ["message/rfc822", "Message/RFC822", "multipart/digest; boundary=b"])
def test_messages_within_messages_are_not_followed(kind: str) -> None:
    data = agent_settings("MIME-Version: 1.0\n" + f"Content-Type: {kind}\n\n" * 1000, lambda _: None).data
    assert (data.format, data.agent, data.complete) == (UserDataFormat.MIME, (), False)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 65_000 + "x",
        " " * 65_000 + "x",
        "A" * 65_000 + "!",
        "A " * 32_000 + "=!",
        "#!/bin/bash\n" + "[settings\n" * 6_000,
        "#!/bin/bash\n" + "'" * 65_000,
        "MIME-Version: 1.0\n" + "Content-Type: text/plain\n\n" + "\n" * 60_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    assert paces(lambda: agent_settings(text, lambda _: None)) < 50


def test_a_longer_text_than_ec2_takes_by_far_is_not_read_and_told() -> None:
    for data in ("#!/bin/sh\n" + "x" * 65_536, joined("#!/bin/sh\n" + "x" * 65_536, {"Unknown": 0})):
        found = fleet_of_data({"UserData": data})
        assert found.pools[0].user_data.format is UNKNOWN
        assert ["UserData: expects 16 KB at most" in each.text for each in found.remarks] == [True]
    assert fleet_of_data({"UserData": "#!/bin/sh\n"}).remarks == ()


BRACKETS = ["{", "}", "(", ")", "$(", "`", "'", '"', "\\", "<<A", "A\n", "<<<", "f()"]
OPERATORS = ["|", "||", "&&", ";", ";;", ">", ">>", "2>&1", "#", "\n"]
KEYWORDS = ["if", "then", "fi", "case", "esac", "function", "exit", "export", "echo", "ECS_A=1", "tee", F, "cat"]
WORDS = st.sampled_from([*BRACKETS, *OPERATORS, *KEYWORDS])


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_no_script_makes_it_fail(script: str) -> None:
    settings, complete = settings_of_script(script)
    assert set(settings) <= {"ECS_A"}
    assert isinstance(complete, bool)
    assert agent_settings(Text((f"#!/bin/sh\n{script}", UNKNOWN)), lambda _: None).data.format is UserDataFormat.SHELL
