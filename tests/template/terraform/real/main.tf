terraform {
  required_providers {
    aws = { source = "hashicorp/aws", version = "3.39.0" }
  }
}
variable "region" { default = "eu-west-1" }
variable "secret" {
  default = "hunter2-very-secret"
  sensitive = true
}
provider "aws" {
  region                      = var.region
  access_key                  = "a"
  secret_key                  = "b"
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
}
provider "aws" {
  alias = "west"
  region                      = "us-west-2"
  access_key                  = "a"
  secret_key                  = "b"
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
}
locals { image = "ami-0123456789abcdef0" }
resource "aws_ecs_cluster" "gpu" {
  name               = "gpu"
  capacity_providers = [for each in aws_ecs_capacity_provider.gpu : each.name]
}
resource "aws_launch_template" "gpu" {
  name_prefix   = "gpu-"
  image_id      = local.image
  instance_type = "g5.xlarge"
  user_data     = base64encode("#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config\n")
  block_device_mappings {
    device_name = "/dev/xvda"
    ebs { 
      volume_size = 100 
      volume_type = "gp3"
    }
  }
  metadata_options { http_tokens = "required" }
  iam_instance_profile { arn = aws_iam_instance_profile.h.arn }
}
resource "aws_iam_role" "h" {
  assume_role_policy = jsonencode({Version="2012-10-17", Statement=[{Effect="Allow", Action="sts:AssumeRole", Principal={Service="ec2.amazonaws.com"}}]})
}
resource "aws_iam_role_policy_attachment" "h" { 
  role = aws_iam_role.h.name 
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"
}
resource "aws_iam_instance_profile" "h" { role = aws_iam_role.h.name }
resource "aws_autoscaling_group" "gpu" {
  for_each            = { "a.b" = 4, "c" = 2 }
  name                = "gpu-${each.key}"
  min_size            = 0
  max_size            = each.value
  vpc_zone_identifier = ["subnet-0123456789abcdef0"]
  protect_from_scale_in = true
  mixed_instances_policy {
    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.gpu.id
        version = "$Latest"
      }
      override { 
        instance_type = "g5.xlarge" 
        weighted_capacity = "1" 
      }
    }
  }
  tag { 
    key = "AmazonECSManaged" 
    value = true 
    propagate_at_launch = true
  }
}
resource "aws_ecs_capacity_provider" "gpu" {
  for_each = aws_autoscaling_group.gpu
  name = "gpu-${replace(each.key, ".", "-")}"
  auto_scaling_group_provider {
    auto_scaling_group_arn         = each.value.arn
    managed_termination_protection = "ENABLED"
    managed_scaling { 
      status = "ENABLED"
      target_capacity = 100
    }
  }
}
resource "aws_ecs_service" "open" {
  name            = "open"
  cluster         = aws_ecs_cluster.gpu.id
  task_definition = aws_ecs_task_definition.open.arn
  desired_count   = 1
  capacity_provider_strategy {
    capacity_provider = aws_ecs_capacity_provider.gpu["c"].name
    weight            = 1
  }
}
module "train" {
  source = "./m"
  cluster = aws_ecs_cluster.gpu.id
  secret = var.secret
}
resource "aws_ecr_repository" "r" { name = "r" }
resource "aws_ecs_task_definition" "open" {
  family = "open"
  container_definitions = jsonencode([{ name="x", image="${aws_ecr_repository.r.repository_url}:1", memory=1024, resourceRequirements=[{type="GPU", value="1"}] }])
}
