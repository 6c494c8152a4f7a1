"""Plans with the resources that public modules make, in the forms that Terraform gives them.

All of them were made by hand from the documented outputs of the modules and the form of plans; none is a recorded run:

- terraform-aws-modules/ecs 7 with terraform-aws-modules/autoscaling 9: blocks are dynamic and links go through
  locals, so that the configuration has neither
- cloudposse/ecs-cluster, cloudposse/ec2-autoscale-group and cloudposse/ecs-alb-service-task
- terraform-aws-modules/batch 3
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

AMI = "ami-0123456789abcdef0"
_IMAGE = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended"
JOIN = base64.b64encode(b"#!/bin/bash\necho ECS_CLUSTER=prod >> /etc/ecs/ecs.config\n").decode()
PROFILE = [{"arn": "arn:aws:iam::111122223333:instance-profile/ecsInstanceRole"}]


def refers(*references: str) -> dict[str, Any]:
    """An expression."""
    return {"references": list(references)}


def planned(address: str, after: Mapping[str, Any], **unknown: Any) -> dict[str, Any]:
    """A resource that is created; its address says its type, its name and its key."""
    own = re.fullmatch(r"(?:.*\.)?(\w+)\.([\w-]+)(?:\[(.*)\])?", address)
    assert own is not None
    return {
        "address": address,
        "mode": "managed",
        "type": own[1],
        "name": own[2],
        **({} if own[3] is None else {"index": json.loads(own[3])}),
        "change": {
            "actions": ["create"],
            "before": None,
            "after": dict(after),
            "after_unknown": {"id": True, "arn": True, **unknown},
            "after_sensitive": {},
        },
    }


def configured(address: str, expressions: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """How a resource is written in a module."""
    kind, name = address.split(".")
    written = {"address": address, "mode": "managed", "type": kind, "name": name, "provider_config_key": "aws"}
    return {**written, "expressions": dict(expressions or {}), **more}


def plan(changes: list[dict[str, Any]], root: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A plan for one region."""
    provider = {"name": "aws", "expressions": {"region": {"constant_value": "eu-west-1"}}}
    return {
        "format_version": "1.2",
        "terraform_version": "1.13.0",
        "resource_changes": changes,
        "prior_state": _read_image(),
        "configuration": {"provider_config": {"aws": provider}, "root_module": dict(root)},
        **more,
    }


def _read_image() -> dict[str, Any]:
    values = {"name": _IMAGE, "type": "String", "value": json.dumps({"image_id": AMI})}
    read = {"address": "data.aws_ssm_parameter.ecs", "mode": "data", "type": "aws_ssm_parameter", "name": "ecs"}
    return {"format_version": "1.0", "values": {"root_module": {"resources": [{**read, "values": values}]}}}


def containers(gpus: int, **more: Any) -> str:
    """Container definitions as ``jsonencode`` writes them; keys in the case of the modules."""
    container = {
        "name": "train",
        "image": "111122223333.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        "memory": 8192,
        "cpu": 2048,
        "entrypoint": ["python"],
        "resourcerequirements": [{"type": "GPU", "value": str(gpus)}],
        "linuxParameters": {"sharedMemorySize": 2048},
        **more,
    }
    return json.dumps([container])


def _launch(address: str, instance_type: str) -> dict[str, Any]:
    after = {
        "name_prefix": "gpu-",
        "image_id": AMI,
        "instance_type": instance_type,
        "user_data": JOIN,
        "iam_instance_profile": PROFILE,
        "vpc_security_group_ids": ["sg-0123456789abcdef0"],
        "metadata_options": [{"http_tokens": "required"}],
    }
    return planned(address, after, latest_version=True)


def _group(address: str) -> dict[str, Any]:
    after = {
        "name": "gpu",
        "min_size": 0,
        "max_size": 4,
        "launch_template": [{"version": "$Latest"}],
        "mixed_instances_policy": [],
        "vpc_zone_identifier": ["subnet-0123456789abcdef0"],
        "protect_from_scale_in": True,
    }
    return planned(address, after, launch_template=[{"id": True, "name": True}], desired_capacity=True)


_SCALING = [
    {"managed_scaling": [{"status": "ENABLED", "target_capacity": 100}], "managed_termination_protection": "ENABLED"}
]
_ARN = [{"auto_scaling_group_arn": True}]
_SERVICE = {
    "name": "train",
    "desired_count": 1,
    "launch_type": None,
    "capacity_provider_strategy": [{"capacity_provider": "gpu", "weight": 1, "base": None}],
    "deployment_maximum_percent": 200,
    "deployment_minimum_healthy_percent": 66,
    "load_balancer": [],
    "network_configuration": [],
}


def aws_modules(gpus: int = 1, instance_type: str = "g6.xlarge") -> dict[str, Any]:
    """terraform-aws-modules/ecs with its cluster and a service, and terraform-aws-modules/autoscaling for each key."""
    cluster, service, group = (
        "module.ecs.module.cluster",
        'module.ecs.module.service["train"]',
        'module.autoscaling["gpu"]',
    )
    changes = [
        planned(f"{cluster}.aws_ecs_cluster.this[0]", {"name": "prod", "setting": []}),
        planned(
            f'{cluster}.aws_ecs_capacity_provider.this["gpu"]',
            {"name": "gpu", "auto_scaling_group_provider": _SCALING},
            auto_scaling_group_provider=_ARN,
        ),
        planned(
            f"{cluster}.aws_ecs_cluster_capacity_providers.this[0]",
            {"cluster_name": "prod", "capacity_providers": ["gpu"], "default_capacity_provider_strategy": []},
        ),
        planned(f"{service}.aws_ecs_service.ignore_task_definition[0]", _SERVICE, cluster=True, task_definition=True),
        planned(
            f"{service}.aws_ecs_task_definition.this[0]",
            {"family": "train", "container_definitions": containers(gpus), "requires_compatibilities": ["EC2"]},
            network_mode=True,
        ),
        _launch(f"{group}.aws_launch_template.this[0]", instance_type),
        _group(f"{group}.aws_autoscaling_group.this[0]"),
    ]
    in_cluster = {
        "resources": [
            configured("aws_ecs_cluster.this", {"name": refers("var.name")}),
            configured(
                "aws_ecs_capacity_provider.this",
                {"name": refers("each.key")},
                for_each_expression=refers("var.capacity_providers"),
            ),
            configured(
                "aws_ecs_cluster_capacity_providers.this",
                {
                    "cluster_name": refers(
                        "aws_ecs_cluster.this[0].name", "aws_ecs_cluster.this[0]", "aws_ecs_cluster.this"
                    ),
                    "capacity_providers": refers("local.cluster_capacity_providers"),
                },
            ),
        ],
        "outputs": {
            "arn": {
                "expression": refers("aws_ecs_cluster.this[0].arn", "aws_ecs_cluster.this[0]", "aws_ecs_cluster.this")
            }
        },
    }
    in_service = {
        "resources": [
            configured(
                "aws_ecs_service.ignore_task_definition",
                {
                    "cluster": refers("var.cluster_arn"),
                    "task_definition": refers("local.task_definition"),
                    "name": refers("var.name"),
                    "desired_count": refers("var.desired_count"),
                },
            ),
            configured(
                "aws_ecs_task_definition.this",
                {"container_definitions": refers("local.container_definitions"), "family": refers("var.family")},
            ),
        ]
    }
    ecs = {
        "module_calls": {
            "cluster": {"expressions": {"capacity_providers": refers("var.capacity_providers")}, "module": in_cluster},
            "service": {
                "expressions": {"cluster_arn": refers("module.cluster.arn", "module.cluster")},
                "for_each_expression": refers("var.services"),
                "module": in_service,
            },
        }
    }
    autoscaling = {
        "resources": [
            configured(
                "aws_launch_template.this", {"image_id": refers("var.image_id"), "user_data": refers("var.user_data")}
            ),
            configured(
                "aws_autoscaling_group.this", {"max_size": refers("var.max_size"), "min_size": refers("var.min_size")}
            ),
        ],
        "outputs": {
            "autoscaling_group_arn": {
                "expression": refers(
                    "aws_autoscaling_group.this[0].arn", "aws_autoscaling_group.this[0]", "aws_autoscaling_group.this"
                )
            }
        },
    }
    given = refers('module.autoscaling["gpu"].autoscaling_group_arn', 'module.autoscaling["gpu"]', "module.autoscaling")
    calls = {
        "ecs": {"expressions": {"capacity_providers": given}, "module": ecs},
        "autoscaling": {"expressions": {}, "for_each_expression": refers("local.groups"), "module": autoscaling},
    }
    return plan(changes, {"module_calls": calls})


def cloudposse(gpus: int = 1, instance_type: str = "g6.xlarge") -> dict[str, Any]:
    """The modules of Cloud Posse: a cluster with its groups in it, and a service beside it."""
    changes = [
        planned("module.cluster.aws_ecs_cluster.default[0]", {"name": "prod"}),
        planned(
            'module.cluster.aws_ecs_capacity_provider.ec2["gpu"]',
            {"name": "gpu", "auto_scaling_group_provider": _SCALING},
            auto_scaling_group_provider=_ARN,
        ),
        planned(
            "module.cluster.aws_ecs_cluster_capacity_providers.default[0]",
            {"cluster_name": "prod", "capacity_providers": ["gpu"]},
        ),
        _launch('module.cluster.module.autoscale_group["gpu"].aws_launch_template.default[0]', instance_type),
        _group('module.cluster.module.autoscale_group["gpu"].aws_autoscaling_group.default[0]'),
        planned("module.train.aws_ecs_service.default[0]", _SERVICE, cluster=True, task_definition=True),
        planned(
            "module.train.aws_ecs_task_definition.default[0]",
            {"family": "train", "container_definitions": containers(gpus), "requires_compatibilities": ["EC2"]},
        ),
    ]
    group = {
        "resources": [configured("aws_launch_template.default"), configured("aws_autoscaling_group.default")],
        "outputs": {"autoscaling_group_arn": {"expression": refers("aws_autoscaling_group.default[0].arn")}},
    }
    arn = "module.autoscale_group"
    provider = {"auto_scaling_group_provider": [{"auto_scaling_group_arn": refers(f"{arn}", "each.key")}]}
    cluster = {
        "resources": [
            configured("aws_ecs_cluster.default"),
            configured(
                "aws_ecs_capacity_provider.ec2", provider, for_each_expression=refers("local.ec2_capacity_providers")
            ),
            configured("aws_ecs_cluster_capacity_providers.default"),
        ],
        "module_calls": {"autoscale_group": {"expressions": {}, "module": group}},
        "outputs": {"arn": {"expression": refers("local.cluster_arn")}},
    }
    revision = ["aws_ecs_task_definition.default[0].family", "aws_ecs_task_definition.default[0].revision"]
    service = {
        "resources": [
            configured(
                "aws_ecs_service.default",
                {"cluster": refers("var.ecs_cluster_arn"), "task_definition": refers(*revision)},
            ),
            configured("aws_ecs_task_definition.default"),
        ]
    }
    calls = {
        "cluster": {"expressions": {}, "module": cluster},
        "train": {
            "expressions": {"ecs_cluster_arn": refers("module.cluster.arn", "module.cluster")},
            "module": service,
        },
    }
    return plan(changes, {"module_calls": calls})


def batch_module(gpus: int = 1, instance_type: str = "g6.xlarge", image_type: str | None = None) -> dict[str, Any]:
    """terraform-aws-modules/batch with one environment, one queue and one job.

    Its blocks are dynamic, so that a plan shows nothing of what is written in them, and an id of an image that nobody
    wrote as one that only the apply knows.
    """
    resources = {
        "type": "EC2",
        "instance_type": [instance_type],
        "max_vcpus": 16,
        "min_vcpus": 0,
        "subnets": ["subnet-0123456789abcdef0"],
        "security_group_ids": ["sg-0123456789abcdef0"],
        "instance_role": PROFILE[0]["arn"],
    }
    configuration = {} if image_type is None else {"ec2_configuration": [{"image_type": image_type}]}
    later = [{"ec2_configuration": [{"image_id_override": True}]}] if configuration else False
    container = {
        "image": "111122223333.dkr.ecr.eu-west-1.amazonaws.com/train:1",
        "resourceRequirements": [
            {"type": "GPU", "value": str(gpus)},
            {"type": "VCPU", "value": "2"},
            {"type": "MEMORY", "value": "8192"},
        ],
    }
    changes = [
        planned(
            'module.batch.aws_batch_compute_environment.this["gpu"]',
            {"name": "gpu", "type": "MANAGED", "compute_resources": [resources | configuration]},
            compute_resources=later,
        ),
        planned(
            'module.batch.aws_batch_job_queue.this["high"]',
            {"name": "high", "priority": 1, "state": "ENABLED", "compute_environment_order": [{"order": 0}]},
            compute_environment_order=[{"compute_environment": True}],
        ),
        planned(
            'module.batch.aws_batch_job_definition.this["train"]',
            {"name": "train", "type": "container", "container_properties": json.dumps(container)},
        ),
    ]
    module = {
        "resources": [
            configured("aws_batch_compute_environment.this"),
            configured("aws_batch_job_queue.this"),
            configured("aws_batch_job_definition.this"),
        ]
    }
    return plan(changes, {"module_calls": {"batch": {"expressions": {}, "module": module}}})
