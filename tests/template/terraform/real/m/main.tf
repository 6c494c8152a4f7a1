variable "cluster" {}
variable "secret" {}
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
resource "aws_ecs_task_definition" "train" {
  count  = 1
  family = "train"
  requires_compatibilities = ["EC2"]
  container_definitions = jsonencode([{
    name = "train", image = "pytorch/pytorch:2.4", memory = 8000, cpu = 1024,
    resourceRequirements = [{ type = "GPU", value = "8" }],
    environment = [{ name = "TOKEN", value = var.secret }]
  }])
}
resource "aws_ecs_service" "train" {
  name = "train"
  cluster = var.cluster
  task_definition = aws_ecs_task_definition.train[0].arn
  desired_count  = 1
  capacity_provider_strategy { 
    capacity_provider = "gpu-a-b" 
    weight = 1 
  }
}
output "td" { value = aws_ecs_task_definition.train[0].arn }
