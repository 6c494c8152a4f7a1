"""What signatures do not say of CDK's kinds: an example of each, how to know one, and what users give instead."""

from __future__ import annotations

from collections.abc import Mapping

_IMAGE = "ecs.ContainerImage.from_registry({})"
_DURATION = "cdk.Duration.seconds({})"

EXAMPLES: Mapping[str, str] = {
    "constructs.Construct": "self, where a Stack or another construct defines it",
    "certificatemanager.ICertificate": "acm.Certificate(self, 'Certificate', domain_name='…')",
    "cdk.Duration": _DURATION.format(30),
    "cloudwatch.IMetric": "cloudwatch.Metric(namespace='Chat', metric_name='TokensWaiting', statistic='Sum')",
    "ec2.ISecurityGroup": "ec2.SecurityGroup(self, 'Tasks', vpc=vpc)",
    "ec2.IVpc": "ec2.Vpc(self, 'Vpc')",
    "ec2.SubnetSelection": "ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)",
    "elasticloadbalancingv2.IApplicationListener": (
        "balancer.add_listener('Https', port=443, certificates=[certificate])"
    ),
    "elasticloadbalancingv2.IApplicationLoadBalancer": "elbv2.ApplicationLoadBalancer(self, 'Balancer', vpc=vpc)",
    "elasticloadbalancingv2.ListenerCondition": "elbv2.ListenerCondition.path_patterns(['/v1/*'])",
    "ecs.CapacityProviderStrategy": "ecs.CapacityProviderStrategy(capacity_provider='FARGATE', weight=1)",
    "ecs.ContainerImage": _IMAGE.format("'nvidia/cuda:12.8.1-base-ubuntu24.04'"),
    "ecs.HealthCheck": "ecs.HealthCheck(command=['CMD-SHELL', 'curl -f http://localhost:8000/health'])",
    "ecs.CredentialSpec": "ecs.DomainJoinedCredentialSpec.from_ssm_parameter(parameter)",
    "ecs.EnvironmentFile": "ecs.EnvironmentFile.from_asset('train.env')",
    "ecs.ICluster": "ecs.Cluster(self, 'Cluster', vpc=vpc)",
    "ecs.LinuxParameters": "ecs.LinuxParameters(self, 'LinuxParameters')",
    "ecs.LogDriver": "ecs.LogDrivers.aws_logs(stream_prefix='train')",
    "ecs.PlacementConstraint": "ecs.PlacementConstraint.distinct_instances()",
    "ecs.PlacementStrategy": "ecs.PlacementStrategy.packed_by_memory()",
    "ecs.PortMapping": "ecs.PortMapping(container_port=8000)",
    "ecs.Secret": "ecs.Secret.from_secrets_manager(secret)",
    "ecs.ServiceManagedVolume": "ecs.ServiceManagedVolume(self, 'Scratch', name='scratch', …)",
    "ecs.SystemControl": "ecs.SystemControl(namespace='net.core.somaxconn', value='4096')",
    "ecs.TaskDefinition": "ecs.Ec2TaskDefinition(self, 'Web')",
    "ecs.TaskDefinitionRevision": "ecs.TaskDefinitionRevision.LATEST",
    "ecs.Ulimit": "ecs.Ulimit(name=ecs.UlimitName.NOFILE, soft_limit=65536, hard_limit=65536)",
    "efs.IAccessPoint": "file_system.add_access_point('Models')",
    "efs.IFileSystem": "efs.FileSystem(self, 'Models', vpc=vpc)",
    "fsx.IFileSystem": "fsx.LustreFileSystem(self, 'Models', …)",
    "iam.IRole": "iam.Role(self, 'Role', assumed_by=iam.ServicePrincipal('ecs-tasks.amazonaws.com'))",
    "kms.IKey": "kms.Key(self, 'Key')",
    "logs.ILogGroup": "logs.LogGroup(self, 'Logs')",
    "s3.IBucket": "s3.Bucket(self, 'Logs')",
    "sns.ITopic": "sns.Topic(self, 'Alarms')",
    "sqs.IQueue": "sqs.Queue(self, 'Work')",
}
"""A value of each kind that has no members to name. Kinds are texts here: to import the classes takes 0.2 s."""

MADE_FROM: Mapping[tuple[str, type], str] = {
    ("ecs.ContainerImage", str): _IMAGE,
    ("cdk.Duration", int): _DURATION,
    ("cdk.Duration", float): _DURATION,
}
"""What makes the kind of what users give instead."""

DURATIONS: Mapping[str, str] = {
    "join_within": "cdk.Duration.minutes(40)",
    "start_within": "cdk.Duration.minutes(40)",
    "timeout": "cdk.Duration.hours(6)",
}
"""Arguments that take a minute or more, with an example."""

LISTS_OF_TEXT: Mapping[str, str] = {
    "command": "['sh', '-c', 'nvidia-smi']",
    "dns_search_domains": "['example.internal']",
    "dns_servers": "['10.0.0.2']",
    "docker_security_options": "['no-new-privileges']",
    "entry_point": "['python', '-u']",
}
"""Arguments of containers that are lists of text, with an example; others have checks of their own."""

MEANT_BY: Mapping[str, str] = {"command": "launcher"}
"""What another argument gives a meaning: a function that has both checks the first itself."""

OTHER_NAMES: Mapping[str, str] = {"gpu_count": "gpus", "memory_mib": "memory_limit_mib"}
"""What an argument is called where it has another name."""

MODULES: Mapping[str, str] = {
    "acm": "certificatemanager",
    "actions": "cloudwatch_actions",
    "appscaling": "applicationautoscaling",
    "cloudmap": "servicediscovery",
    "elbv2": "elasticloadbalancingv2",
    "sfn": "stepfunctions",
}
"""Modules of CDK that are imported under another name."""

ATTRIBUTES: Mapping[str, str] = {
    "efs.IAccessPoint": "access_point_id",
    "efs.IFileSystem": "mount_targets_available",
    "fsx.IFileSystem": "dns_name",
    "constructs.Construct": "node",
    "certificatemanager.ICertificate": "certificate_arn",
    "cloudwatch.IMetric": "to_metric_config",
    "ec2.ISecurityGroup": "security_group_id",
    "ec2.IVpc": "vpc_id",
    "ecs.ICluster": "cluster_arn",
    "elasticloadbalancingv2.IApplicationListener": "is_application_listener",
    "elasticloadbalancingv2.IApplicationLoadBalancer": "is_application_load_balancer",
    "iam.IRole": "role_arn",
    "kms.IKey": "key_arn",
    "logs.ILogGroup": "log_group_name",
    "s3.IBucket": "bucket_arn",
    "sns.ITopic": "topic_arn",
    "sqs.IQueue": "queue_arn",
}
"""An attribute that every construct of an interface has."""
