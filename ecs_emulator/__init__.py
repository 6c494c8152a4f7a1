"""An emulator of the part of AWS that a GPU cluster on ECS needs: moto's server, with the gaps of moto 5.2.5 filled.

It is our model of ECS, EC2 and Auto Scaling, not these. It is written from the AWS documentation and does not import
the library under test, so the two can disagree: a contract in ``pyproject.toml`` holds this. A process starts it with
`process` and asks it as any account; a test has it without a socket by `local`, and looks at the account with `account`
and `inventory`. ``python -m ecs_emulator``, ``gpu-constructs-emulator`` where it is installed, is a shell in front.

What is here that moto lacks:

- CloudFormation that refuses unknown types and exports in use, follows references on update, takes a failed one back
  and deletes in order (`cloudformation`, `stacks`, `references`, `deletion`), with the types of the modules in
  `install.RESOURCES`;
- Auto Scaling groups that launch what their template, policies, reservations and placement groups say, or cannot
  (`autoscaling`, `launch_settings`, `launching`, `reservations`, `placement_groups`), with warm pools, lifecycle hooks
  and scheduled actions that do something (`warm_pools`, `lifecycle_hooks`, `scheduled_actions`);
- EventBridge rules and schedules that run tasks when they are told to (`schedules`);
- hosts that register the CPU, memory, GPUs and Neuron devices of their type (`hosts`, `instance_types`, `images`);
- Managed Instances (`managed_instances`, `instance_requirements`);
- a scheduler that honours constraints, GPUs, shares of GPUs, Neuron devices, CPU, memory and ports (`placement`,
  `expressions`, `strategy`);
- cluster auto scaling, services, daemons and tasks with GPU ids (`managed_scaling`, `services`, `daemons`, `tasks`,
  `running`);
- state machines that run, and events that start them (`state_language`, `executions`, `sdk_calls`, `event_targets`);
- roles that refuse what state machines, what starts them, agents and tasks may not call (`permissions`, `policies`);
- load balancers whose targets are the tasks of a service, healthy where security groups let requests through
  (`load_balancers`, `targets`);
- names of services, by Cloud Map and Service Connect (`cloud_map`), secrets and file systems (`secrets`,
  `file_systems`), and repositories of images that go with them (`image_repositories`);
- weak references between stacks, ``Fn::GetStackOutput`` (`stack_outputs`);
- security groups with all their rules, alarms, and Bottlerocket's image parameters (`security_groups`, `alarms`,
  `images`).

The world outside the account is set by SSM parameters below ``/emulator/``: the time, GPUs that fail at boot, types
that EC2 has none of, reservations (`switches`).

What it does not have: Fargate, external hosts, StartTask, custom resources but CDK's for the default security group
(`functions`), quotas, spot interruptions, prices and allocation strategies, types by requirements or segments of a
distribution in Auto Scaling groups, scaling policies, recurrence, managed draining, network traffic, what user data
really does, and the time that things take. Each module says what it leaves out.
"""
