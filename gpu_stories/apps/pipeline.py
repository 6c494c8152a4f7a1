"""Data prepared on a CPU host, then a training and an evaluation on GPUs, step by step."""

from aws_cdk import App, CfnOutput, Duration, Stack, aws_ec2 as ec2, aws_ecs as ecs
from aws_cdk import aws_stepfunctions as sfn, aws_stepfunctions_tasks as sfn_tasks
from constructs import Construct
from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition

IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"  # your image; each step is a command of it
PREPARE, STEPS = ["nproc"], {"Train": ["nvidia-smi"], "Evaluate": ["nvidia-smi", "-L"]}


class PipelineStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
        cpu = cluster.add_capacity("Cpu", instance_types=["c7i.xlarge"], max_instances=2)
        image = ecs.ContainerImage.from_registry(IMAGE)

        prepare = ecs.Ec2TaskDefinition(self, "Prepare")
        prepare.add_container(
            "work",
            image=image,
            cpu=1024,
            memory_limit_mib=2048,
            command=PREPARE,
            logging=ecs.LogDriver.aws_logs(stream_prefix="prepare"),
        )
        on_cpu = sfn_tasks.CapacityProviderOptions.custom([cpu.strategy()])
        pipeline: sfn.Chain = sfn.Chain.start(
            sfn_tasks.EcsRunTask(
                self,
                "RunPrepare",
                cluster=cluster.cluster,
                task_definition=prepare,
                launch_target=sfn_tasks.EcsEc2LaunchTarget(capacity_provider_options=on_cpu),
                integration_pattern=sfn.IntegrationPattern.RUN_JOB,
                task_timeout=sfn.Timeout.duration(Duration.hours(1)),
                result_path=sfn.JsonPath.DISCARD,
            )
        )
        for name, command in STEPS.items():
            task = GpuTaskDefinition(self, name, capacity=[l4])
            task.add_gpu_container("work", image=image, command=command)
            job = GpuJob(self, f"{name}Job", cluster=cluster, task_definition=task, timeout=Duration.hours(4))
            pipeline = pipeline.next(job.step(self, f"Run{name}", result_path=sfn.JsonPath.DISCARD))
        body = sfn.DefinitionBody.from_chainable(pipeline)
        machine = sfn.StateMachine(self, "Pipeline", definition_body=body, timeout=Duration.days(2))
        start = f"aws stepfunctions start-execution --state-machine-arn {machine.state_machine_arn}"
        CfnOutput(self, "Start", value=start)


if __name__ == "__main__":
    app = App()
    PipelineStack(app, "pipeline")
    app.synth()
