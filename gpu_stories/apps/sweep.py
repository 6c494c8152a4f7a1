"""Many trials on Spot hosts, eight at a time; one that fails does not end the others."""

from aws_cdk import App, CfnOutput, Duration, Stack, aws_ec2 as ec2, aws_ecs as ecs, aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct
from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition, JobData, JobRetries, Purchase

AT_ONCE = 8
IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"  # your image and program; this one shows its GPU and its trial
TRIAL = 'nvidia-smi && echo "$JOB_INPUT to $RESULTS, checkpoints in $JOB_CHECKPOINTS"'


class SweepStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        spot = cluster.add_capacity(
            "Spot", instance_types=["g6.xlarge", "g5.xlarge"], max_instances=AT_ONCE, purchase=Purchase.spot()
        )
        trial = GpuTaskDefinition(self, "Trial", capacity=[spot])
        image = ecs.ContainerImage.from_registry(IMAGE)
        trial.add_gpu_container("trial", image=image, command=["sh", "-c", TRIAL])

        bucket = s3.Bucket(self, "Bucket", enforce_ssl=True)  # stays when the stack is deleted
        job = GpuJob(
            self,
            "Job",
            cluster=cluster,
            task_definition=trial,
            timeout=Duration.hours(1),
            retries=JobRetries(lost_host=2),
            writes={"RESULTS": JobData.s3(bucket, prefix="results/")},
            checkpoints=JobData.s3(bucket, prefix="checkpoints/"),
            checkpoint_key="$.trial",  # a directory for each trial
        )
        item, nothing = sfn.TaskInput.from_json_path_at("$"), sfn.JsonPath.DISCARD
        run = job.step(self, "Run", job_input=item, result_path=nothing)
        run.add_catch(sfn.Pass(self, "Failed"), result_path=nothing)  # job.alarm tells of it
        trials = sfn.Map(self, "Trials", items_path="$.trials", max_concurrency=AT_ONCE, result_path=nothing)
        body = sfn.DefinitionBody.from_chainable(trials.item_processor(run))
        sweep = sfn.StateMachine(self, "Sweep", definition_body=body, timeout=Duration.days(7))
        start = f"aws stepfunctions start-execution --state-machine-arn {sweep.state_machine_arn}"
        CfnOutput(self, "Start", value=f'{start} --input \'{{"trials": [{{"trial": 1, "lr": 0.1}}]}}\'')


if __name__ == "__main__":
    app = App()
    SweepStack(app, "sweep")
    app.synth()
