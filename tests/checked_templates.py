"""A template that is right but for what a test changes, and one with a task that fits no host."""

from __future__ import annotations

__all__ = ["BAD", "GOOD"]

RELEASE = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"

GOOD = f"""\
Parameters:
  Hosts:
    Type: String
    Default: g6.xlarge
    AllowedValues: [g6.xlarge]
Resources:
  Cluster:
    Type: AWS::ECS::Cluster
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        IamInstanceProfile: {{Name: ecsInstanceRole}}
        BlockDeviceMappings: [{{DeviceName: /dev/xvda, Ebs: {{VolumeSize: 100}}}}]
        InstanceType: !Ref Hosts
        ImageId: '{{{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/{RELEASE}/image_id}}}}'
        UserData: !Base64
          Fn::Sub: |
            #!/bin/bash
            echo ECS_CLUSTER=${{Cluster}} >> /etc/ecs/ecs.config
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: '0'
      MaxSize: '4'
      AvailabilityZones: !GetAZs ''
      LaunchTemplate:
        LaunchTemplateId: !Ref Launch
        Version: !GetAtt Launch.LatestVersionNumber
  Provider:
    Type: AWS::ECS::CapacityProvider
    Properties:
      AutoScalingGroupProvider:
        AutoScalingGroupArn: !Ref Group
        ManagedScaling: {{Status: ENABLED}}
  Association:
    Type: AWS::ECS::ClusterCapacityProviderAssociations
    Properties: {{Cluster: !Ref Cluster, CapacityProviders: [!Ref Provider], DefaultCapacityProviderStrategy: []}}
  Train:
    Type: AWS::ECS::TaskDefinition
    Properties:
      RequiresCompatibilities: [EC2]
      ContainerDefinitions:
        - Name: train
          Image: nvidia/cuda:12.8.1-base-ubuntu24.04
          Memory: 4096
          ResourceRequirements:
            - Type: GPU
              Value: '1'
  Service:
    Type: AWS::ECS::Service
    DependsOn: Association
    Properties:
      Cluster: !Ref Cluster
      TaskDefinition: !Ref Train
      DesiredCount: 1
      CapacityProviderStrategy:
        - CapacityProvider: !Ref Provider
          Weight: 1
"""
BAD = GOOD.replace("Value: '1'", "Value: '8'").replace("Default: g6.xlarge", "Default: g5.xlarge").replace("[g6", "[g5")
