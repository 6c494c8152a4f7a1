"""Old files: what is to be changed in them today, and that the patch applies, keeps the rest and passes the check."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from gpu_constructs.check import doctor
from gpu_constructs.check.report import check_files
from gpu_constructs.cli import main
from gpu_constructs.rules import Severity
from tests.rules.changed import USER_DATA
from tests.template.terraform.written_plans import as_plan
from tools.rule_examples import example_of

OLD = Path(__file__).with_name("old")
GOOD = Path(__file__).parents[1] / "acceptance" / "good"
AGED = {"GPU001", "GPU003", "GPU020", "GPU025", "GPU037", "GPU055", "GPU072", "GPU218"}

# What the patch leaves to the reader.
LEFT = {"07-all-devices-visible.yaml": "default-runtime"}

# Words that the patched file has, one of which each file has not.
NOW = {
    "01-volta-of-2019.yaml": [
        "HostConfigLaunchTemplate:",
        "LaunchTemplateData:   # nothing special",
        "Default: g6e.2xlarge   # enough",
        "amazon-linux-2023/gpu",
    ],
    "02-kepler-with-cfn-init.json": [
        "--resource GpuLaunchTemplate",
        "path=Resources.GpuLaunchTemplate.Metadata",
        '"LaunchTemplateId": {"Ref": "GpuLaunchTemplate"}',
    ],
    "03-gpu-count.json": ['"resourceRequirements": [{"type": "GPU", "value": "2"}],'],
    "04-devices-in-the-request.json": ['"resourceRequirements": [{"type": "GPU", "value": "1"}],'],
    "05-numbers-as-texts.json": [
        '"requiresCompatibilities": ["EC2"],\n  "memory": "30000"',
        '"cpu": 2048,',
        '"essential": true,\n      "portMappings": [{"containerPort": 8080, "hostPort": 0',
        '"value": "12"',
        '"value": "true"',
        '"value": "1"',
    ],
    "06-object-in-a-request.yaml": ['  - type: GPU\n      value: "1"', "memory: 9000"],
    "07-all-devices-visible.yaml": [
        '          ResourceRequirements:\n            - Type: GPU\n              Value: "1"',
    ],
    "08-allowed-types.yaml": [
        "AllowedValues: [g6.4xlarge, g6e.2xlarge, g6e.12xlarge, g4dn.xlarge]",
        "Default: g6e.12xlarge",
    ],
    "09-mapping-by-type.yaml": [
        "g6.2xlarge: {Disk: 100}   # for tests",
        "g6.4xlarge: {Disk: 200}",
        "Default: g6.2xlarge}",
    ],
    "10-launch-type-beside-a-provider.yaml": [
        "CapacityProviderStrategy:\n        - CapacityProvider: !Ref Provider\n          Weight: 1",
    ],
    "11-batch-on-amazon-linux-2.yaml": ["ECS_AL2023_NVIDIA", "[g6e.2xlarge]   # one"],
    "12-on-one-line.json": ['"memory":4000,"resourceRequirements":[{"type": "GPU", "value": "1"}]}]}'],
    "13-lines-of-windows.yaml": ["      LaunchTemplateData:   # nothing special\r\n        ImageId: !Ref Ami\r\n"],
    "14-four-spaces.yaml": [
        'Type: "AWS::EC2::LaunchTemplate"',
        "# of the platform team",
        'InstanceType: "g6e.2xlarge"',
        "            LaunchTemplateData:\n                InstanceType",
    ],
    "15-spot-price.yaml": [
        "Monitoring:\n          Enabled: false",
        'MaxPrice: "0.40"',
        "Arn: !GetAtt Profile.Arn",
        "LaunchTemplateName: spot-hosts",
        "DependsOn: LaunchTemplate",
    ],
    "16-public-hosts.yaml": [
        "NetworkInterfaces:\n          - DeviceIndex: 0\n            AssociatePublicIpAddress: true",
        "- !GetAtt Group.GroupId",
    ],
    "17-constraint-of-a-type.json": ["ecs.instance-type == g6.2xlarge", '\t\t\t\t{"type": "GPU", "value": "1"}'],
    "18-two-groups.yaml": [
        "CpuConfigLaunchTemplate:",
        "GpuConfigLaunchTemplate:",
        "amazon-linux-2023/recommended",
    ],
    "19-list-of-containers.json": [
        '"memory": 8192,\n    "resourceRequirements": [{"type": "GPU", "value": "1"}]\n  }',
    ],
    "20-variable-in-a-list.json": ['{"name": "MODE", "value": "fast 🚀"}\n      ],\n      "resourceRequirements"'],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(OLD, tmp_path / "old")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "old"


def patched(file: str) -> str:
    """The patch of a file, once git has applied it."""
    with redirect_stdout(io.StringIO()) as out:
        assert main(["doctor", file, "--patch"]) == 1
    subprocess.run(["git", "apply", "-"], input=out.getvalue().encode(), check=True)  # noqa: S607 - the git of the path
    return out.getvalue()


Doctored = Callable[..., tuple[str, str]]


@pytest.fixture
def doctored(folder: Path, capsys: pytest.CaptureFixture[str]) -> Doctored:
    """What is said of an old file, once something else stands where these expressions match."""

    def said(number: str, changes: dict[str, str], *flags: str) -> tuple[str, str]:
        (file,) = folder.glob(f"{number}-*")
        text = file.read_text()
        for old, new in changes.items():
            text = re.sub(old, new, text, flags=re.MULTILINE)
        file.write_text(text)
        assert main(["doctor", f"old/{file.name}", *flags]) == 1
        return capsys.readouterr()  # what is printed, and what is told beside it

    return said


@pytest.fixture(scope="module")
def treated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A directory with all old files, the patch that is applied to it, and what is said of it then."""
    folder = tmp_path_factory.mktemp("treated")
    for each in OLD.iterdir():  # files of one directory belong together
        (folder / each.stem).mkdir()
        shutil.copy(each, folder / each.stem)
    with pytest.MonkeyPatch.context() as at, redirect_stdout(io.StringIO()) as out:
        at.chdir(folder)
        patch = patched(".")
        main(["doctor", "."])
    return folder, patch, out.getvalue()


def test_a_directory_is_patched_at_once(treated: tuple[Path, str, str]) -> None:
    _, patch, said = treated
    assert patch.count("--- a/") == len(NOW)
    assert re.findall(r"/([^/:\n]+):[\d:]+  .*\n +advice  (\S+)", said) == [*LEFT.items()]
    assert "0 changes in the patch, 1 left to you in 20 files" in said


@pytest.mark.parametrize("name", sorted(each.name for each in OLD.iterdir()))
def test_a_patch_applies_keeps_the_rest_and_passes_the_check(name: str, treated: tuple[Path, str, str]) -> None:
    before, file = (OLD / name).read_bytes().decode(), treated[0] / Path(name).stem / name
    assert not any(each in before for each in NOW[name][:1])
    after = file.read_bytes().decode()
    assert [each for each in NOW[name] if each not in after] == []
    comments = re.findall(r"#[^!{\r\n].*", before)
    assert [each for each in comments if each not in after and "every GPU" not in each] == []
    assert after.count("\r") == (after.count("\n") if "\r" in before else 0)
    report = check_files([file])
    assert [each for each in report.findings if each.severity is Severity.ERROR or each.rule in AGED] == []


def test_doctor_writes_no_file_and_names_lines_of_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {each: each.read_bytes() for each in folder.iterdir()}
    assert main(["doctor", "old/14-four-spaces.yaml"]) == 1
    said = capsys.readouterr().out
    assert "old/14-four-spaces.yaml:16:13  Launch\n    patch   GPU001  p3.2xlarge" in said
    assert "$2.24 an hour" in said
    assert {each: each.read_bytes() for each in folder.iterdir()} == before


@pytest.mark.usefixtures("folder")
def test_only_lines_that_are_concerned_are_in_the_patch() -> None:
    patch = patched("old/08-allowed-types.yaml")
    lines = [each for each in patch.splitlines()[2:] if each[0] in "+-"]
    assert lines == [
        "-    AllowedValues: [p2.xlarge, g3.4xlarge, p3.2xlarge, p3.8xlarge, g4dn.xlarge]",
        "-    Default: p3.8xlarge",
        "+    AllowedValues: [g6.4xlarge, g6e.2xlarge, g6e.12xlarge, g4dn.xlarge]",
        "+    Default: g6e.12xlarge",
    ]


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("      EbsOptimized: true", "      ClassicLinkVPCId: vpc-1", "a launch template has no ClassicLinkVPCId"),
        ("- !GetAtt Group.GroupId", "- default", "'default' may be the name of a security group"),
        ("Resources:", "Outputs: {Launch: {Value: !Ref LaunchConf}}\nResources:", "Launch refers to LaunchConf"),
    ],
)
def test_what_cannot_be_patched_safely_is_left_with_the_reason(
    old: str, new: str, left: str, doctored: Doctored
) -> None:
    patch, told = doctored("16", {old: new}, "--patch")
    assert "LaunchTemplate" not in patch
    assert left in re.sub(r"\s+", " ", told)


_ASKS = "curl http://169.254.169.254/latest/meta-data/placement/region"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("amazon-linux-extras install -y lustre", "Amazon Linux 2023 has no amazon-linux-extras"),
        (_ASKS, "not in the patch: user data asks 169.254.169.254 without a token"),
        (f"{_ASKS}\n        MetadataOptions: {{HttpTokens: optional}}", "1 change in the patch, 0 left"),
        (f"{_ASKS} -H 'X-aws-ec2-metadata-token: $TOKEN'", "1 change in the patch, 0 left"),
    ],
)
def test_what_amazon_linux_2023_has_not_is_named(
    line: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2/gpu/recommended/image_id"
    part = f"Resources:\n{USER_DATA % line}        ImageId: {old}\n"
    (tmp_path / "template.json").write_text(example_of("GPU003").file(part))
    main(["doctor", str(tmp_path / "template.json")])
    assert told in " ".join(capsys.readouterr().out.split())


def test_a_price_that_was_the_most_for_a_retired_type_goes_with_it(doctored: Doctored) -> None:
    assert "without SpotPrice" in doctored("15", {"g4dn.2xlarge": "p2.xlarge"})[0]
    patch = patched("old/15-spot-price.yaml")
    assert "MarketType: spot" in patch
    assert "MaxPrice" not in patch


def test_types_of_a_plan_of_terraform_are_told_with_prices_and_what_memory_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    computing = {"Type": "EC2", "InstanceTypes": ["p2", "g3.4xlarge"], "MaxvCpus": 16, "Subnets": ["subnet-11111111"]}
    of_batch = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeResources": computing}}
    (tmp_path / "plan.json").write_text(json.dumps(as_plan({"Resources": {"Old": of_batch}})))
    assert main(["doctor", str(tmp_path)]) == 1
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "g6, whose g6.4xlarge (1 x L4 of 22.3 GiB, $1.32 an hour in us-east-1)" in said
    assert "the host has 64 GiB of memory, and had 122 (not in the patch: Terraform writes the file)" in said


@pytest.mark.parametrize(
    ("images", "types", "becomes"),
    [
        ("- ImageType: ECS_AL2", "[g5, g6]", ["ImageType: ECS_AL2023_NVIDIA"]),
        ("- ImageType: ECS_AL2", "[m5, g6]", ["ImageType: ECS_AL2023"]),
        ("- {ImageType: ECS_AL2}\n          - {ImageType: ECS_AL2023_NVIDIA}", "[g5, g6]", ["ImageType: ECS_AL2023"]),
        (
            "- ImageType: ECS_AL2_NVIDIA",
            "[g5, p3, p3dn]",  # p3dn is offered still, and the new image does not support it
            [r"InstanceTypes: \[g5, g6e\]", "ImageType: ECS_AL2023_NVIDIA"],
        ),
        ("- ImageType: ECS_AL2_NVIDIA", '["p3"]', [r'InstanceTypes: \["g6e"\]']),
    ],
)
def test_hosts_of_batch_get_the_image_with_their_driver_and_types_that_it_supports(
    images: str, types: str, becomes: list[str], doctored: Doctored
) -> None:
    changes = {r"InstanceTypes: \[.*?\]": f"InstanceTypes: {types}", "- ImageType: ECS_AL2_NVIDIA": images}
    patch, _ = doctored("11", changes, "--patch")
    assert [each for each in becomes if not re.search(rf"^\+.*{each}(?!\w)", patch, re.MULTILINE)] == []


@pytest.mark.parametrize("name", ["", "ServiceName: chat"])
def test_a_service_that_gets_a_strategy_may_be_replaced(name: str, doctored: Doctored) -> None:
    said = " ".join(doctored("10", {"LaunchType: EC2": f"LaunchType: EC2\n      {name}"})[0].split())
    assert "CloudFormation may replace the service, and start the new one beside the old one" in said
    assert ("which its ServiceName prevents: leave that out, or change it" in said) is bool(name)


def test_containers_that_share_a_gpu_are_advised_to_take_shares(doctored: Doctored) -> None:
    patch, told = doctored("07", {"DesiredCount: 1": "DesiredCount: 3", "8000": "4000"}, "--patch")
    assert "ResourceRequirements" not in patch
    assert "NvidiaMps" in told
    assert "not in the patch: with it GPU009" in re.sub(r"\s+", " ", told)


def test_an_alias_of_yaml_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(
        "family: a\nx: &r {type: gpu, count: 1}\ncontainerDefinitions:\n"
        "  - {name: a, image: a, memory: 1000, resourceRequirements: [*r]}\n"
        "  - name: b\n    image: b\n    memory: 1000\n    resourceRequirements: *r\n"
    )
    assert main(["doctor", str(file), "--patch"]) == 1
    assert "*r" in file.read_text()
    assert "x: &r" not in [each[1:] for each in capsys.readouterr().out.splitlines() if each.startswith("-")]


def test_an_app_is_advised_by_construct_and_argument(doctored: Doctored) -> None:
    made = {
        r"^  (\w+):\n    Type: AWS::(?!SSM)(.*)$": (
            r"  \1:\n    Metadata: {aws:cdk:path: Stack/\1/Resource}\n    Type: AWS::\2"
        )
    }
    said = re.sub(r"\s+", " ", doctored("01", made)[0])
    assert "0 changes in the patch" in said
    assert "HostConfig, Stack/HostConfig/Resource advice GPU055" in said
    assert "in CDK: launch_template=ec2.LaunchTemplate(" in said
    assert "in CDK: machine_image=ecs.EcsOptimizedImage.amazon_linux2023(" in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Resources: [",
        "{" * 1000,
        "- 1",
        "Resources: {A: {Type: AWS::AutoScaling::AutoScalingGroup, Properties: {LaunchConfigurationName: {Ref: [A]}}}}",
        '{"family": "\\ud800", "containerDefinitions": [{"name": "a", "image": "a", "gpu": 1}]}',
        "containerDefinitions: [{? {a: b} : c}]",
        "containerDefinitions: [{name: a, image: b, gpu: {a: [*x]}}]",
    ],
)
def test_hostile_input_is_an_answer_and_no_crash(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    assert main(["doctor", str(file), "--patch"]) in {0, 1, 2}
    assert "internal error" not in capsys.readouterr().err


def test_good_files_have_nothing_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    old = {each.name for each in sorted(GOOD.iterdir()) if main(["doctor", str(each)]) != 0}
    assert "internal error" not in capsys.readouterr().err
    assert old == {
        "23-launch-configuration-old-type.yaml",
        "32-old-sharing-recipe.yaml",
        "113-cdk-of-2021-launch-configuration.json",
        "115-of-2018.json",
        # A launch type finds the hosts that stand there, and their provider does not scale for it (GPU072).
        "106-cdk-rule-on-a-standing-host.json",
        "52-launch-type-on-standing-hosts.yaml",
        "75-rule-on-standing-hosts.json",
    }


def test_a_file_with_too_much_to_change_is_patched_as_far_as_that_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_READ", 2 * (folder / "05-numbers-as-texts.json").stat().st_size)
    assert main(["doctor", "old/05-numbers-as-texts.json"]) == 1
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "not in the patch: too much is to be changed at once" in said
    assert "changes in the patch, 0 left" not in said


def test_a_file_that_cannot_be_read_keeps_none_of_the_others_from_a_patch(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.yaml").write_text("Resources: [")
    assert main(["doctor", "old/broken.yaml", "old/03-gpu-count.json", "--patch"]) == 2
    said = capsys.readouterr()
    assert "old/broken.yaml:2" in said.err
    assert "b/old/03-gpu-count.json" in said.out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"gpus": 0', '"gpus": 0'),  # it asks for none
        ('"gpu": true', '"resourceRequirements": [{"type": "GPU", "value": "1"}]'),
        (
            '"resourceRequirements": [{"type": "VCPU", "value": "4"}, {"type": "GPU", "count": 2}]',
            '"resourceRequirements": [{"type": "VCPU", "value": "4"}, {"type": "GPU", "value": "2"}]',
        ),
        (
            '"resourceRequirements": {"type": "GPU", "sharingStrategy": {"nvidiaMps": {"memory": 4096}}}',
            '"resourceRequirements": [{"type": "GPU", "sharingStrategy": {"nvidiaMps": {"memory": 4096}}}]',
        ),
        (
            '"resourceRequirements": [{"type": "VCPU", "count": 4}]',
            '"resourceRequirements": [{"type": "VCPU", "count": 4}]',
        ),
    ],
)
def test_a_request_keeps_what_is_right_in_it(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'{{"family": "a", "containerDefinitions": [{{"name": "a", "image": "b", "memory": 4000, {old}}}]}}\n'
    Path("a.json").write_text(text)
    if new == old:
        main(["doctor", "a.json", "--patch"])
        assert capsys.readouterr().out == ""
    else:
        patched("a.json")
        assert Path("a.json").read_text() == text.replace(old, new)
