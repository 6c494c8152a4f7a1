"""Images of containers: what hosts can pull, a driver that is new enough, and GPUs that CUDA has not dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Blocked, Fleet, Pool, Task, UserData, WayOut
from gpu_constructs.rules import Rule, Severity
from gpu_constructs.rules.tasks.images import pulls_its_images, recent_driver, still_compiled
from gpu_constructs.rules.tasks.server_commands import started_once
from tests.rules.changed import endpoint, severities
from tests.rules.given import a_pool, container, fleet_of, gpu, of_image, only, running_on, said, service, task_of

_ECR = "111122223333.dkr.ecr.us-east-1.amazonaws.com/vllm:1"
_CUDA_13 = "vllm/vllm-openai:v0.27.1"
_EMBEDDINGS = "ghcr.io/huggingface/text-embeddings-inference"
_LIBRARIES = "nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04"


def _task(image: str, *command: str) -> Task:
    return task_of(replace(container(gpu()), image=image, command=command))


def _old(*types: str) -> Pool:
    return a_pool(*types, image=of_image("al2-gpu"))


def _on(pool: Pool, image: str) -> Fleet:
    return running_on(pool, task=_task(image))


def test_the_libraries_of_the_toolkit_have_none_either_and_a_program_may_bring_its_own() -> None:
    assert only(still_compiled, _on(a_pool("p3.2xlarge"), _LIBRARIES)).severity is Severity.WARNING
    ngc = _on(a_pool("p3.2xlarge"), "nvcr.io/nvidia/pytorch:26.03-py3")
    assert only(still_compiled, ngc).severity is Severity.ERROR


def test_a_task_that_no_workload_runs_is_judged_where_it_fits() -> None:
    old, new = a_pool("p3.2xlarge"), replace(a_pool("g4dn.xlarge"), name="New")
    alone = Fleet(pools=(old,), tasks=(_task(_CUDA_13),), is_whole=True)
    assert only(still_compiled, alone).severity is Severity.ERROR
    assert not said(still_compiled, replace(alone, pools=(old, new)))


@pytest.mark.parametrize(
    ("types", "image", "severity"),
    [
        (["p6-b200.48xlarge"], "pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime", Severity.ERROR),
        (["p6-b200.48xlarge"], "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime", Severity.WARNING),  # of conda, with PTX
        (["g7e.2xlarge"], "vllm/vllm-openai:v0.8.5", Severity.ERROR),
        (["p6-b200.48xlarge"], "nvidia/cuda:12.1.1-runtime-ubuntu22.04", Severity.WARNING),
        (["p6-b200.48xlarge"], "nvidia/cuda:12.1.1-base-ubuntu22.04", None),  # a program brings the rest
        (["p6-b200.48xlarge"], "nvcr.io/nvidia/pytorch:24.12-py3", Severity.WARNING),
        (["p6-b200.48xlarge"], "nvcr.io/nvidia/pytorch:25.01-py3", None),
        (["g6e.xlarge"], "pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime", None),
        (["g7e.2xlarge", "g6e.xlarge"], "pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime", None),
    ],
)
def test_gpus_that_are_newer_than_the_cuda_of_an_image_need_ptx(
    types: list[str], image: str, severity: Severity | None
) -> None:
    found = said(still_compiled, _on(a_pool(*types), image))
    assert [each.severity for each in found] == [severity][: severity is not None]
    assert all("CUDA compiles for them from 12.8 on" in each.message for each in found)
    assert all("an image with CUDA 12.8 or later, such as 12.8.1" in each.fix for each in found)


@pytest.mark.parametrize(
    ("types", "run", "expected"),
    [
        ("g4dn.xlarge", "vllm/vllm-openai:v0.11.0 --dtype=bfloat16", ["error"]),
        ("p3.2xlarge", "public.ecr.aws/deep-learning-containers/vllm:server-cuda-v1.1 --dtype bfloat16", ["error"]),
        ("g4dn.xlarge g5.xlarge", "vllm/vllm-openai:v0.11.0 --dtype bfloat16", ["warning"]),
        ("g4dn.xlarge", "vllm/vllm-openai:v0.11.0 --dtype bfloat16 --dtype half --kv-cache-dtype bfloat16", []),
        ("g4dn.xlarge", "vllm/vllm-openai:v0.11.0 --dtype bfloat16 $ARGUMENTS", []),
        ("g4dn.xlarge", "vllm/vllm-openai:v0.12.0 --quantization fp8", ["error"]),
        ("g4dn.xlarge", "vllm/vllm-openai:v0.13.0 --quantization fp8", []),
        ("g4dn.xlarge", "vllm/vllm-openai:latest --quantization=fp8", []),
        ("g5.xlarge", "vllm/vllm-openai:v0.12.0 --quantization fp8", []),
        ("p3.2xlarge", "vllm/vllm-openai:v0.13.0 --quantization fp8", ["error"]),
        ("p3.2xlarge", "vllm/vllm-openai:v0.11.0 --quantization awq", ["error"]),
        ("g4dn.xlarge", "vllm/vllm-openai:v0.11.0 --quantization awq", []),
        ("g5g.xlarge", "vllm/vllm-openai:v0.20.0 --quantization awq", ["error"]),
        ("g5g.xlarge", "vllm/vllm-openai:v0.11.0", []),
        ("g4dn.xlarge", "vllm/vllm-openai:v0.20.0", []),
        ("g4dn.xlarge", "ghcr.io/huggingface/text-embeddings-inference:1.8", ["error"]),
        ("g5.xlarge", "ghcr.io/huggingface/text-embeddings-inference:turing-latest", ["error"]),
        ("g6.xlarge", "ghcr.io/huggingface/text-embeddings-inference:1.8", []),  # depends on the version
        ("g4dn.xlarge", "ghcr.io/huggingface/text-embeddings-inference:cuda-1.9", []),
    ],
)
def test_servers_end_on_gpus_that_they_are_not_for(types: str, run: str, expected: list[str]) -> None:
    fleet = running_on(a_pool(*types.split()), task=_task(*run.split()))
    assert [each.severity.value for each in said(still_compiled, fleet)] == expected
    overridden = [replace(each, commands=frozenset({"main"})) for each in fleet.workloads]
    assert "--dtype" not in run or said(still_compiled, replace(fleet, workloads=(*overridden,))) == []


@pytest.mark.parametrize(
    ("types", "image", "fix"),
    [
        ("g5.xlarge", f"{_EMBEDDINGS}:turing-1.8", "the tag 86-1.8 "),
        ("g5.xlarge g6.xlarge", f"{_EMBEDDINGS}:hopper-1.8", "the tag 86-1.8 "),
        ("p4d.24xlarge", f"{_EMBEDDINGS}:89-1.8", "the tag 1.8 "),
        ("p3.2xlarge", f"{_EMBEDDINGS}:1.8", "hosts with other GPUs"),
        ("g5g.xlarge", "vllm/vllm-openai:v0.19.0", "x86_64 hosts"),  # 8.7 is the least of its arm64 image
    ],
)
def test_the_fix_names_what_has_code_for_the_gpus_of_the_hosts(types: str, image: str, fix: str) -> None:
    (found,) = said(still_compiled, running_on(a_pool(*types.split()), task=_task(image)))
    assert fix in str(found.fix)


@pytest.mark.parametrize(
    ("run", "is_wrong"),
    [
        ("vllm/vllm-openai:v0.27.1 vllm serve Qwen/Qwen3-8B", True),
        ("vllm/vllm-openai:v0.11.0 serve Qwen/Qwen3-8B", True),
        ("vllm/vllm-openai:v0.9.1 python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B", True),
        ("docker.io/vllm/vllm-openai:latest sh -c vllm", True),
        ("vllm/vllm-openai:v0.27.1 models/vllm", False),
        ("ollama/ollama:0.5 ollama serve", True),
        ("ollama/ollama:0.5 serve", False),
        ("ghcr.io/huggingface/text-generation-inference:3.3.7 text-generation-launcher --model-id gpt2", True),
        ("lmsysorg/sglang:v0.5.17 python3 -m sglang.launch_server", False),
        ("public.ecr.aws/deep-learning-containers/vllm:server-cuda-v2.5 vllm serve Qwen/Qwen3-8B", True),
        ("public.ecr.aws/deep-learning-containers/vllm:server-sagemaker-cuda-v2.5 vllm", False),
        ("example.com/vllm-openai:v0.27.1 vllm serve Qwen/Qwen3-8B", False),
    ],
)
def test_an_entry_point_that_is_a_server_is_not_named_again(run: str, is_wrong: bool) -> None:
    task = _task(*run.split())
    of_user = replace(task, containers=(replace(task.containers[0], entry_point=("sh", "-c")),))
    assert [bool(said(started_once, fleet_of(each))) for each in (task, of_user)] == [is_wrong, False]


def _pulling(image: str, *, isolated: bool = True, proxy: str = "") -> Fleet:
    data = UserData(text=f"HTTPS_PROXY={proxy}" if proxy else "")
    task, pool = (
        _task(image),
        replace(a_pool(), way_out=WayOut(blocked_by=Blocked.NO_ROUTE if isolated else None), user_data=data),
    )
    return replace(fleet_of(task, workloads=(service(task, pool),)), pools=(pool,))


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("ubuntu", "Docker Hub"),
        ("nvcr.io/nvidia/tritonserver:25.09-py3", "nvcr.io"),
        ("public.ecr.aws/aws-cli/aws-cli:2.36.44", "public.ecr.aws"),
    ],
)
def test_hosts_without_a_route_out_pull_no_image_of_the_internet(image: str, registry: str) -> None:
    assert f"an image of {registry} (" in only(pulls_its_images, _pulling(image)).message


@pytest.mark.parametrize(
    ("rule", "fleets"),
    [
        (recent_driver, [_on(_old("g5.xlarge"), "vllm/vllm-openai:v0.27.1-cu129")]),  # of its major version
        # two with a compatibility package of their own
        (recent_driver, [_on(_old("g5.xlarge"), "public.ecr.aws/deep-learning-containers/vllm:server-cuda-v2.4")]),
        (recent_driver, [_on(_old("g5.xlarge"), "nvcr.io/nvidia/tritonserver:25.08-py3")]),
        (recent_driver, [_on(a_pool("g5.xlarge"), _CUDA_13), _on(a_pool("g5.xlarge", image=UNKNOWN), _CUDA_13)]),
        (pulls_its_images, [_pulling(_ECR)]),
        (pulls_its_images, [_pulling("localhost/vllm:1"), _pulling("ubuntu", isolated=False)]),
        (pulls_its_images, [_pulling("ubuntu", proxy="http://10.0.0.4:3128")]),
    ],
)
def test_other_drivers_other_registries_and_other_ways_out_are_silent(rule: Rule, fleets: list[Fleet]) -> None:
    assert [each for fleet in fleets for each in said(rule, fleet)] == []


_OF_CDK = {"Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/vllm:1"}
_LOGS = {"LogDriver": "awslogs", "Options": {"awslogs-group": "vllm"}}


def _gateway(*tables: Any) -> dict[str, Any]:
    layers, other = endpoint("s3"), {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": {"Ref": "Vpc"}}}
    layers["Properties"]["RouteTableIds"] = [*filter(None, tables)] if tables else {"Fn::ImportValue": "Tables"}
    return {"LayersEndpoint": layers, "Other": other}


@pytest.mark.parametrize(
    ("container", "others", "expected"),
    [
        ({}, _gateway({"Ref": "Other"}), ["error"]),
        ({}, _gateway({"Ref": "Other"}, {"Ref": "Routes"}), []),
        ({}, _gateway({"Ref": "Other"}, {"Fn::ImportValue": "Table"}), []),
        ({}, _gateway(), []),
        ({}, _gateway(None), ["error"]),
        ({}, {**_gateway({"Ref": "Other"}), "Interface": endpoint("s3")}, []),
        ({}, {**_gateway({"Ref": "Other"}), "exported": "LayersEndpoint"}, []),
        ({}, {"LayersEndpoint": None, "exported": "Vpc"}, ["warning"]),
        ({}, {"LayersEndpoint": None}, ["error"]),
        ({}, {"RegistryEndpoint": None}, ["error"]),
        ({"Image": _OF_CDK}, {"ImagesEndpoint": None}, ["error"]),
        ({"Image": {"Fn::Sub": "${Repository.RepositoryUri}:1"}}, {"ImagesEndpoint": None}, ["error"]),
        ({"Image": {"Fn::ImportValue": "Image"}}, {"ImagesEndpoint": None}, []),
        ({"Image": "registry.example.com/vllm:1"}, {"ImagesEndpoint": None}, []),
        ({"LogConfiguration": _LOGS}, {}, ["warning"]),  # no log arrives
        ({"LogConfiguration": {**_LOGS, "Options": {"mode": "blocking"}}}, {}, ["error"]),
        ({"LogConfiguration": {"LogDriver": "json-file"}}, {}, []),
        ({}, {"ImagesEndpoint": endpoint("ecr-fips.dkr")}, []),
        ({}, {"LayersEndpoint": None, "Nested": {"Type": "AWS::CloudFormation::Stack"}}, ["warning"]),
        ({}, {}, []),
    ],
)
def test_images_and_logs_take_endpoints(container: dict[str, Any], others: dict[str, Any], expected: list[str]) -> None:
    written = {"Name": "vllm", "Image": _ECR, "Memory": 8192, "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
    found = {"LayersEndpoint": endpoint("s3"), "Repository": {"Type": "AWS::ECR::Repository"}}
    found |= {name: each or {"Type": "AWS::SNS::Topic"} for name, each in others.items()}
    assert severities("GPU208", {"Task": {"ContainerDefinitions": [{**written, **container}]}}, **found) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("echo hello", ["error"]), ("docker load -i /images/vllm.tar", ["warning"]), ("export HTTPS_PROXY=10.0.0.4", [])],
)
def test_hosts_may_have_the_image_or_a_proxy(line: str, expected: list[str]) -> None:
    data = {"Fn::Base64": {"Fn::Sub": f"#!/bin/bash\necho ECS_CLUSTER=${{Cluster}} >> /etc/ecs/ecs.config\n{line}"}}
    assert severities("GPU208", {"Template": {"LaunchTemplateData": {"UserData": data}}}) == expected


@pytest.mark.parametrize(
    ("image", "more", "launch", "expected"),
    [
        ("docker.io/nvidia/cuda:latest", {}, {}, ["error"]),
        ("nvcr.io/nvidia/cuda:10.2-base-ubuntu18.04", {}, {}, ["error"]),
        ("nvcr.io/nvidia/tritonserver", {}, {}, ["error"]),
        ("nvidia/cuda:11.0.3-base-ubuntu20.04", {}, {}, []),
        ("nvidia/cuda", {"Essential": False}, {}, ["warning"]),
        ("nvidia/cuda", {}, {"LaunchTemplateData": {"ImageId": "ami-0123456789abcdef0"}}, ["warning"]),
        ("nvidia/cuda", {}, {"LaunchTemplateData": {"UserData": {"Fn::Base64": "# mirrors"}}}, ["warning"]),
    ],
)
def test_a_tag_that_is_gone_cannot_be_pulled(image: str, more: Any, launch: Any, expected: list[str]) -> None:
    work = {"Name": "work", "Image": image, "Memory": 8192, "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
    assert severities("GPU397", {"Task": {"ContainerDefinitions": [work | more]}, "Template": launch}) == expected
