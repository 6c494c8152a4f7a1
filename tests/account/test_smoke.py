"""``make smoke`` where something goes wrong, whose recordings are, and what the commands say of them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest
from botocore.client import BaseClient
from botocore.session import Session
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs.account import self_test
from tests.examples import times
from tests.replayed import RECORDINGS, said_otherwise
from tools.smoke.__main__ import main
from tools.smoke.account import Account, Said, recording
from tools.smoke.scrub import scrubbed
from tools.smoke.steps import Done, run

STEPS = {"preflight": "preflight", "deploy 0": "deploy", "run-self-test": "self-test", "job": "job", "why": "why"}
STEPS |= {"deploy 1": "update", "verify": "verify"}
STEPS |= dict.fromkeys(("destroy 0", "without_logs", "gone"), "destroy")
"""What can be refused, and the step of which that is said."""
DESTROY = ("settled", "stop-tasks", "destroy 0", "without_logs", "gone")


class StandIn:
    """An account in which one thing goes wrong: it is refused, or whatever is given is raised."""

    def __init__(self, wrong: str, error: BaseException | None = None) -> None:
        self.did: list[str] = []
        self._wrong, self._error = wrong, error
        self.calls = SimpleNamespace(ask=lambda _: {"Account": "111122223333"})
        self.session = SimpleNamespace(region_name="us-east-1")

    def __getattr__(self, name: str) -> Any:
        def act(*words: object, **_: object) -> Any:
            did = f"{words[0]} {words[1]}" if name == "cdk" else str(words[0]) if name == "command" else name
            self.did.append(did)
            is_before = did == "gone" and "destroy 0" not in self.did
            is_wrong = self._wrong == ("there" if is_before else did)
            if is_wrong and self._error is not None:
                raise self._error
            said = Said(not is_wrong, {"log": "log group gpu-constructs-self-test, which keeps"})
            return "value" if name in {"output", "assembly"} else said

        return act


def smoke(tmp_path: Path, account: StandIn, *words: str, answer: str | BaseException = "y") -> int:
    of: Any = lambda _: account  # noqa: E731
    ask: Any = Mock(side_effect=[answer])
    return main(["--record", str(tmp_path / "r"), *words], of=of, ask=ask)


@pytest.mark.parametrize("error", [None, RuntimeError("no"), KeyboardInterrupt()], ids=str)
@pytest.mark.parametrize("wrong", STEPS)
def test_whatever_fails_what_was_deployed_is_destroyed(
    wrong: str, error: BaseException | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = StandIn(wrong, error)
    assert smoke(tmp_path, account, "--yes") == 1
    said = capsys.readouterr().err
    assert f"\n{STEPS[wrong]} failed: " in said
    assert ("; to remove it, once" in said) is (STEPS[wrong] == "destroy")
    is_last = wrong in DESTROY[2:] and isinstance(error, KeyboardInterrupt)
    after = () if wrong == "preflight" else DESTROY[: DESTROY.index(wrong) + 1] if is_last else DESTROY
    assert tuple(each for each in account.did[1:] if each in DESTROY) == after
    assert json.loads((tmp_path / "r" / "1-preflight.json").read_text())["passed"] is (wrong != "preflight")


@pytest.mark.parametrize("gone", [OSError, KeyboardInterrupt])
def test_what_was_deployed_is_destroyed_where_nobody_can_be_told(gone: type[BaseException]) -> None:
    def tell(step: str) -> None:
        if step == "destroy":
            raise gone

    account: Any = StandIn("")
    done: list[Done] = []
    run(account, done, tell)
    assert account.did[-5:] == list(DESTROY)
    assert done[-1].passed


def test_a_terminal_that_is_closed_keeps_nothing_from_its_end(tmp_path: Path) -> None:
    account = StandIn("")
    with patch("sys.stderr", Mock(**{"write.side_effect": OSError})):
        assert smoke(tmp_path, account, "--yes") == 0
    assert account.did[-5:] == list(DESTROY)


@pytest.mark.parametrize("answer", ["", EOFError(), KeyboardInterrupt()], ids=repr)
def test_nothing_is_deployed_without_a_yes_over_a_stack_or_over_a_recording(
    answer: str | BaseException, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smoke(tmp_path, there := StandIn("there"), "--yes") == 2
    account = StandIn("")
    assert smoke(tmp_path, account, answer=answer) == 2
    assert capsys.readouterr().err.endswith("\nnothing was deployed\n")
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "1.json").touch()
    assert smoke(tmp_path, account, "--yes") == 2
    assert account.did == there.did == ["gone"]
    assert "is not empty; fix: RECORD=FOLDER" in capsys.readouterr().err


def test_ctrl_c_before_a_yes_says_that_nothing_was_deployed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke(tmp_path, StandIn("there", KeyboardInterrupt())) == 2
    assert capsys.readouterr().err == "nothing was deployed\n"


def test_a_job_that_outlives_its_time_is_stopped(tmp_path: Path) -> None:
    asked: list[str] = []
    slept: list[float] = []

    def ask(call: str, **_: str) -> dict[str, Any]:
        asked.append(call)
        outputs = [{"OutputKey": "StateMachine", "OutputValue": "machine"}]
        return {"executionArn": "job", "status": "RUNNING", "Stacks": [{"Outputs": outputs}]}

    account: Any = Account(tmp_path, sleep=slept.append)
    account.calls = SimpleNamespace(ask=ask)
    assert not account.job().passed
    assert asked[-1] == "states:StopExecution"
    assert sum(slept) == 30 * 60


def test_what_accounts_have_shown_is_read_as_it_was_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "_POLL_SECONDS", 0)
    assert said_otherwise(RECORDINGS) == []


@pytest.mark.parametrize(("service", "operation", "noted"), [("sts", "GetSessionToken", 0), ("ecs", "ListClusters", 1)])
def test_no_answer_with_credentials_is_recorded(service: str, operation: str, noted: int) -> None:
    client = Session().create_client(service, "us-east-1")
    answer = {"Credentials": {"SecretAccessKey": "secret"}}
    with patch.object(BaseClient, "_make_api_call", lambda *_: answer), recording() as calls:
        client._make_api_call(operation, {})
    assert len(calls) == noted


def hexes(count: int) -> st.SearchStrategy[str]:
    return st.text("0123456789abcdef", min_size=count, max_size=count)


WORDS = st.from_regex(r"[a-z][a-z0-9]{2,8}-[g-z][a-z0-9]{2,7}", fullmatch=True)
SECRETS = st.fixed_dictionaries(
    {
        "account": st.from_regex(r"[2-9][0-9]{11}", fullmatch=True),
        "host": hexes(17).map("i-{}".format),
        "task": hexes(32),
        "ip": st.ip_addresses(network="10.0.0.0/8").map(str),
        "ipv6": st.ip_addresses(network="2600:1f00::/24").map(str),
        "uuid": st.uuids().map(str),
        **dict.fromkeys(("user", "name", "owner", "role", "team", "secret", "variable"), WORDS),
    }
)
AROUND = ("({}) ", "from {}. ", '\\n{}\\n"', "\\u0022{}\\u0022", "a%2F{}%2Fb", "a_{}_b ", "<{}>")
"""What stands around one in a text: in JSON, in an address, at the end of a sentence."""


@settings(max_examples=times(15))
@given(SECRETS, st.data())
def test_nothing_of_whose_it_is_stays(of: dict[str, str], data: st.DataObject) -> None:
    arn = f"arn:aws:ecs:eu-west-1:{of['account']}:task/{of['name']}/{of['task']}"
    answer: Any = {
        "taskArn": arn,
        "serviceName": of["name"],
        "Tags": [{"Key": "Owner", "Value": of["owner"]}, {"Key": "aws:autoscaling:groupName", "Value": "kept"}],
        "message": f"User: arn:aws:iam::{of['account']}:user/{of['user']} ({of['uuid']}) may not assume {of['role']}",
        "roleName": of["role"],
        "environment": [{"name": "TOKEN", "value": f"{of['variable']} and {of['host']}"}],
        "attributes": [{"name": "ecs.instance-type", "value": "g4dn.xlarge"}],
        "hosts": [
            of["host"],
            f"ip-{of['ip'].replace('.', '-')}.eu-west-1.compute.internal",
            of["ip"],
            f"[{of['ipv6']}]",
        ],
        "tags": {"team": of["team"], "aws:ecs:clusterName": "kept"},
        "secretArn": f"arn:aws:secretsmanager:eu-west-1:{of['account']}:secret:{of['secret']}-AbCd12",
        "text": "".join(
            data.draw(st.sampled_from(AROUND)).format(each)
            for each in data.draw(st.permutations([each for name, each in of.items() if name != "variable"]))
        ),
    }
    found: Any = scrubbed([answer, answer])
    assert [name for name, each in of.items() if each.lower() in json.dumps(found).lower()] == []
    assert found[0] == found[1]
    assert found[0]["taskArn"].split("/")[1] == found[0]["serviceName"]
    assert found[0]["attributes"] == answer["attributes"]
    assert found[0]["Tags"][1]["Value"] == "kept"


def test_addresses_after_a_colon_tags_by_their_keys_and_what_is_encoded_of_an_instance_go() -> None:
    answer: Any = {
        "text": "mac:0a:1b:2c:3d:4e:5f, ip:2600:1f00::17, arn:aws:ec2::image/x arn:aws:s3:::bead",
        "tags": {"acme": "1", "aws:ecs:clusterName": "kept"},
        "UserData": {"Value": base64.b64encode(b"echo 10.1.2.3").decode()},
    }
    found: Any = scrubbed(answer)
    said = json.dumps(found) + base64.b64decode(found["UserData"]["Value"]).decode()
    assert [each for each in ("0a:1b", "2600:", "acme", "10.1.2.3") if each in said] == []
    assert "arn:aws:ec2::image" in found["text"]
    assert "aws:ecs:clusterName" in found["tags"]


def test_ports_addresses_in_links_and_values_of_variables_in_messages_go() -> None:
    secrets = ["0a:1b:2c:3d:4e:5f", "2600:1f00::17", "2600:1f00:0:0:0:0:0:17", "hunter-2", "me@acme.example"]
    role = "https://aws.example/?role=arn%3aaws%3Aiam%3A%3A222233334444%3Arole%2Facme"
    quoted = f"0a%3A1b%3A2c%3A3d%3A4e%3A5f 2600%3A1f00%3A%3A17 me%40acme.example p=hunter-2%40x {role}"
    variables: Any = [{"name": "V", "value": each} for each in ("hunter-2", "eu-west-1", "g6.xlarge", "warning")]
    message = "; ".join([*(f"{each}:32768" for each in secrets), quoted, "eu-west-1 g6.xlarge warning a%20b"])
    found: Any = scrubbed({"environment": variables, "message": message})
    gone = [*secrets, "%3A1b", "%3A1f00", "%40acme", "222233334444", "Facme"]
    assert [each for each in gone if each in found["message"]] == []
    assert found["environment"][0]["value"] in found["message"]
    assert found["message"].count(":32768") == len(secrets)
    assert found["message"].endswith("; eu-west-1 g6.xlarge warning a%20b")


def test_ctrl_c_while_the_report_is_written_loses_no_recording(tmp_path: Path) -> None:
    report = Mock(side_effect=KeyboardInterrupt)
    with patch("tools.smoke.__main__._report", report), pytest.raises(KeyboardInterrupt):
        smoke(tmp_path, StandIn(""), "--yes")
    assert len([*(tmp_path / "r").iterdir()]) == len(STEPS.keys() - DESTROY) + 1


@settings(max_examples=times(15))
@given(st.from_regex(r"[a-z][a-z0-9]?", fullmatch=True).filter(lambda name: name != "s3"))
def test_a_short_name_goes_where_it_is_one_and_words_stay(name: str) -> None:
    def answer(name: str, word: str) -> Any:
        arns = [f"arn:aws:iam::111122223333:role/{name}", f"arn:aws:logs:eu-west-1:111122223333:log-group:{name}:*"]
        text = f"role/{name} may not call '{name}' of what is in a region, and {word} stays"
        return {"roleName": name, "arns": arns, "Tags": [{"Key": name, "Value": name}], "text": text}

    values = {"A": name, "B": "", "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_API_KEY": "nvapi-0"}
    variables: Any = [{"name": key, "value": value} for key, value in values.items()]
    found: Any = scrubbed({**answer(name, name), "environment": variables})
    other = found["roleName"]
    assert len(other) > len(name)
    *known, secret = (each["value"] for each in found.pop("environment"))
    assert known == [other, "", "all"]
    assert secret.startswith("value-")
    assert found == answer(other, name)
