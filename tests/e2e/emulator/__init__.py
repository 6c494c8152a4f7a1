"""An emulator of the part of AWS that a GPU cluster on ECS needs: moto's server, with the gaps of moto 5.2.5 filled.

It is our model of ECS, not ECS. It is written from the AWS documentation and does not import the library under test,
so the two can disagree.

What is here that moto lacks:

- CloudFormation that refuses unknown types, follows references on update and deletes in order (`stacks`,
  `cloudformation`, `deletion`), with the types of `ecs_resources`, `autoscaling_resources`, `bootstrap_resources`;
- hosts that come from Auto Scaling groups and register the CPU, memory and GPUs of their type (`autoscaling`, `hosts`);
- a scheduler that honours constraints, GPUs, CPU, memory and ports (`placement`, `expressions`, `strategy`);
- cluster auto scaling, services and tasks with GPU ids (`managed_scaling`, `services`, `tasks`, `running`);
- Bottlerocket's image parameters (`images`).

What it has not: Fargate, Managed Instances, external hosts, GPU sharing with MPS, Neuron devices, StartTask, load
balancers, change sets, custom resources, quotas, capacity shortages, and the time that things take.
"""
