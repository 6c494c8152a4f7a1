"""Apps of all that has roles, as CloudFormation would make them: each resource is called by its logical id."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from moto.iam.aws_managed_policies import aws_managed_policies_data

from ecs_emulator.policies import Call, is_allowed, listed
from gpu_constructs import (
    CapacityChoice,
    GpuBatchQueue,
    GpuCluster,
    GpuJob,
    GpuService,
    HostMount,
    HostStorage,
    JobData,
    ModelCache,
    ModelServer,
    MultiNodeTraining,
)
from gpu_constructs.facts.names import HOST_LOG, SELF_TEST
from tests.synthesis import Site, app_in

ACCOUNT: Final = "111122223333"
HERE: Final = f"us-east-1:{ACCOUNT}"
_PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": ACCOUNT,
    "AWS::URLSuffix": "amazonaws.com",
}
_ARNS = {
    "AWS::ECS::Cluster": f"arn:aws:ecs:{HERE}:cluster/{{}}",
    "AWS::ECS::TaskDefinition": f"arn:aws:ecs:{HERE}:task-definition/{{}}:1",
    "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{{}}",
    "AWS::IAM::InstanceProfile": f"arn:aws:iam::{ACCOUNT}:instance-profile/{{}}",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{HERE}:log-group:{{}}:*",
    "AWS::SQS::Queue": f"arn:aws:sqs:{HERE}:{{}}",
    "AWS::S3::Bucket": "arn:aws:s3:::{}",
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{HERE}:table/{{}}",
    "AWS::ECR::Repository": f"arn:aws:ecr:{HERE}:repository/{{}}",
    "AWS::EFS::FileSystem": f"arn:aws:elasticfilesystem:{HERE}:file-system/{{}}",
    "AWS::StepFunctions::StateMachine": f"arn:aws:states:{HERE}:stateMachine:{{}}",
    "AWS::SNS::Topic": f"arn:aws:sns:{HERE}:{{}}",
    "AWS::SecretsManager::Secret": f"arn:aws:secretsmanager:{HERE}:secret:{{}}-abcdef",
    "AWS::Events::Rule": f"arn:aws:events:{HERE}:rule/{{}}",
    "AWS::KMS::Key": f"arn:aws:kms:{HERE}:key/{{}}",
    "AWS::Batch::JobQueue": f"arn:aws:batch:{HERE}:job-queue/{{}}",
    "AWS::Batch::ComputeEnvironment": f"arn:aws:batch:{HERE}:compute-environment/{{}}",
    "AWS::CloudWatch::Alarm": f"arn:aws:cloudwatch:{HERE}:alarm:{{}}",
}
_REF_IS_ARN = {"StepFunctions::StateMachine", "SNS::Topic", "ECS::TaskDefinition", "SecretsManager::Secret"}
_ARN_OF = {"Arn", "TopicArn", "JobQueueArn", "ComputeEnvironmentArn"}
GIVEN_CLUSTER: Final = "production"
"""The cluster that a reference stack adds hosts to."""


def template_with_a_key() -> dict[str, Any]:
    """A template where all is encrypted, hosts mount storage, and somebody may open shells."""
    site = Site(app_in(context=Site.recommended_context()))
    stack, key = site.stack, kms.Key(site.stack, "Key")
    bucket = s3.Bucket(stack, "Data", encryption_key=key)
    logging = ecs.ExecuteCommandLogConfiguration(
        cloud_watch_log_group=logs.LogGroup(stack, "Shells"), cloud_watch_encryption_enabled=False
    )
    shells = ecs.ExecuteCommandConfiguration(
        kms_key=key, log_configuration=logging, logging=ecs.ExecuteCommandLogging.OVERRIDE
    )
    cluster = GpuCluster(stack, "Cluster", vpc=site.vpc, encryption_key=key, execute_command_configuration=shells)
    disks = fsx.LustreFileSystem.from_lustre_file_system_attributes(
        stack,
        "Disks",
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        file_system_id="fs-0123456789abcdef0",
        security_group=ec2.SecurityGroup.from_security_group_id(stack, "Around", "sg-0123456789abcdef0"),
    )
    mounts = [HostMount.s3(bucket, prefix="models/"), HostMount.fsx_lustre(disks, mount_name="abcd")]
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=4, storage=HostStorage(mounts=mounts))
    chat = site.task(l4, name="Chat")
    chat.add_gpu_container("chat", image=site.image, gpus=1)
    GpuService(stack, "Service", cluster=cluster, task_definition=chat, enable_execute_command=True)
    train = site.task(l4, name="Train")
    train.add_gpu_container("train", image=site.image, gpus=1)
    job = GpuJob(
        stack,
        "Job",
        cluster=cluster,
        task_definition=train,
        timeout=cdk.Duration.hours(1),
        writes={"TUNED": JobData.s3(bucket, prefix="tuned/")},
    )
    job.run_from_queue("Asked", queue=sqs.Queue(stack, "Wanted", encryption_master_key=key), max_concurrent=4)
    return site.template()


def template_of_all() -> dict[str, Any]:
    """A template with every construct that makes a role."""
    site = Site(app_in(context=Site.recommended_context()))
    stack, cluster, l4 = site.stack, site.cluster, site.l4
    monitoring = cluster.add_monitoring("Monitoring", notify=sns.Topic(stack, "Told"))
    monitoring.add_recovery()
    managed = site.managed(instance_types=["g6.xlarge"])
    bucket, repository = s3.Bucket(stack, "Data"), ecr.Repository(stack, "Images")
    secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(stack, "Token"))
    image = ecs.ContainerImage.from_ecr_repository(repository)
    kept = efs.FileSystem(stack, "Kept", vpc=site.vpc)

    train = site.task(l4, name="Train")
    train.add_gpu_container("train", image=image, gpus=1, secrets={"TOKEN": secret})
    job = GpuJob(
        stack,
        "Job",
        cluster=cluster,
        task_definition=train,
        timeout=cdk.Duration.hours(1),
        reads={"TEXTS": JobData.s3(bucket, prefix="texts/")},
        writes={"TUNED": JobData.s3(bucket, prefix="tuned/")},
        checkpoints=JobData.s3(bucket, prefix="checkpoints/"),
        checkpoint_key="$.trial",
    )
    nightly = scheduler.ScheduleExpression.rate(cdk.Duration.days(1))
    job.run_on_schedule("Nightly", schedule=nightly, job_input={"trial": "nightly"})
    job.run_from_queue("Asked", queue=sqs.Queue(stack, "Wanted"), max_concurrent=4)
    job.run_on_object("Come", bucket=bucket, prefix="in/")

    for name, cache in {"Chat": ModelCache.efs(kept), "Talk": ModelCache.s3_copy(bucket, prefix="models/")}.items():
        chat = site.task(l4, name=name)
        chat.add_model_server("server", server=ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct"), gpus=1, cache=cache)
    look = site.task(managed, name="Look")
    look.add_gpu_container("look", image=image, gpus=1)

    queue = GpuBatchQueue(
        stack,
        "Queue",
        vpc=site.vpc,
        vpc_subnets=site.one_zone,
        environments=[CapacityChoice("Batch", instance_types=["g6.xlarge"], max_instances=2)],
    )
    queue.add_job("Sweep", image=image, gpus=1)
    queue.watch(notify=sns.Topic(stack, "ToldOfJobs"))
    MultiNodeTraining(
        stack,
        "Gang",
        queue=queue,
        hosts=2,
        image=image,
        command=["train.py"],
        checkpoints=JobData.s3(bucket, prefix="gang/"),
        timeout=cdk.Duration.hours(1),
    )
    return site.template()


class World:
    """The resources of a template with what CloudFormation's functions come to."""

    def __init__(self, template: dict[str, Any]) -> None:
        self._types = {name: each["Type"] for name, each in template["Resources"].items()}
        self._families = {
            name: each["Properties"]["Family"]
            for name, each in template["Resources"].items()
            if each["Type"] == "AWS::ECS::TaskDefinition"
        }
        self.resources: dict[str, dict[str, Any]] = {
            name: {**self._known(each.get("Properties", {})), "Type": each["Type"]}
            for name, each in template["Resources"].items()
        }

    @property
    def cluster(self) -> str:
        """The ARN of its only cluster."""
        (name,) = {each["Cluster"] for each in self.of("ECS::ClusterCapacityProviderAssociations").values()}
        return _ARNS["AWS::ECS::Cluster"].format(name)

    def arn(self, name: str) -> str:
        """The ARN of a resource."""
        return _ARNS[self._types[name]].format(self._families.get(name, name))

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        """The resources of one type."""
        return {name: each for name, each in self.resources.items() if each["Type"] == f"AWS::{kind}"}

    @cached_property
    def policies(self) -> dict[str, list[dict[str, Any]]]:
        """The statements of each role, by its ARN."""
        found: dict[str, list[dict[str, Any]]] = {}
        for name, role in self.of("IAM::Role").items():
            documents = [each["PolicyDocument"] for each in role.get("Policies", [])]
            documents += [
                each["PolicyDocument"] for each in self.of("IAM::Policy").values() if name in each.get("Roles", [])
            ]
            found[self.arn(name)] = [each for document in documents for each in listed(document["Statement"])]
        return found

    @cached_property
    def of_aws(self) -> dict[str, list[dict[str, Any]]]:
        """The statements of each role that are in policies of AWS."""
        return {
            self.arn(name): [
                each for arn in role.get("ManagedPolicyArns", ()) for each in _managed(arn.rpartition("/")[2])
            ]
            for name, role in self.of("IAM::Role").items()
        }

    def allows(self, role: str, call: Call) -> bool:
        """Whether a role may make a call."""
        return is_allowed([*self.policies[role], *self.of_aws[role]], call)

    def other(self, text: str) -> str:
        """The same with another cluster, bucket, queue in the place of ours."""
        names = "|".join(
            sorted(
                (*self._types, *self._families.values(), "AWSBatch", GIVEN_CLUSTER, HOST_LOG, SELF_TEST),
                key=len,
                reverse=True,
            )
        )
        return re.sub(rf"(?<=[:/])({names})", r"other-\1", text)

    def _known(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return [self._known(each) for each in value] if isinstance(value, list) else value
        if len(value) == 1:
            ((function, of),) = value.items()
            known = self._called(function, of)
            if known is not None:
                return known
        return {key: self._known(each) for key, each in value.items()}

    def _called(self, function: str, of: Any) -> Any:
        """What a function comes to; None where it is none, or cannot be known."""
        given = self._known(of)
        found: Any = None
        if function == "Ref":
            found = _PSEUDO.get(of) or self._referred(of)
        elif function == "Fn::Join" and isinstance(given[1], list):
            found = given[0].join(map(str, given[1]))
        elif function == "Fn::Split":
            found = str(given[1]).split(given[0])
        elif function == "Fn::Select" and isinstance(given[1], list) and int(given[0]) < len(given[1]):
            found = given[1][int(given[0])]
        elif function == "Fn::Sub" and isinstance(of, str):
            found = re.sub(r"\$\{([\w:]+)\}", lambda name: str(self._known({"Ref": name[1]})), of)
        elif function == "Fn::GetAtt":
            found = _ARNS.get(self._types[of[0]], "{}").format(of[0]) if of[1] in _ARN_OF else of[0]
        return found

    def _referred(self, name: str) -> str:
        kind = self._types.get(name, "AWS::Parameter").removeprefix("AWS::")
        if kind == "SQS::Queue":
            return f"https://sqs.us-east-1.amazonaws.com/{ACCOUNT}/{name}"
        return self.arn(name) if kind in _REF_IS_ARN else name


def _managed(name: str) -> list[dict[str, Any]]:
    """The statements of a policy of AWS, as moto 5.2.5 has it."""
    return listed(json.loads(aws_managed_policies_data)[name]["Document"]["Statement"])
