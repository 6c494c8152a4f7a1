"""What ends a host that is not in its cluster some time after its start, so that it does not cost money for nothing.

A mount, a local disk or a driver that fails leaves a host that runs without an agent, and neither Auto Scaling nor AWS
Batch looks at the agent. A unit of systemd waits until the agent's introspection names its container instance
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-introspection.html), and never acts again on this
instance: what it remembers is beside cloud-init's own state of one instance, so that an AMI made of a host forgets it.
Else it writes why to the console, which EC2 shows for an hour after the end, and to a log group, and shuts down; the
launch template says that this terminates. curl signs the requests itself, because images for ECS have no AWS CLI
(decision 47). The time does not count while a host waits in a warm pool: its target state is then ``Warmed:…``
(https://docs.aws.amazon.com/autoscaling/ec2/userguide/retrieving-target-lifecycle-state-through-imds.html).

Bottlerocket has no shell, and no such unit.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from gpu_constructs.cdk.arguments import known_seconds, require_kind
from gpu_constructs.cluster.capacity.local_disks import unit_lines
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.names import HOST_LOG
from gpu_constructs.fleet import Unknown

_NAME = "join-deadline"
DEFAULT_SECONDS = 30 * 60
"""The longest that ECS itself waits for the host of a task. Hosts take some five minutes, with many disks and a copy of
the images in their AMI more, and one that is ended too early never comes."""
_LEAST_SECONDS, _MOST_SECONDS = 5 * 60, 24 * 3600
_STEP_SECONDS = 10

_SCRIPT = """\
#!/bin/bash
joined=/var/lib/cloud/instance/joined-cluster
[ ! -e "$joined" ] && command -v curl > /dev/null || exit 0
for ((waited = 0; waited < {seconds}; waited += {step})); do
  if curl -s -m 5 http://localhost:51678/v1/metadata | grep -q ':container-instance/'; then
    touch "$joined"
    exit 0
  fi{warm}
  sleep {step}
done
{{
  echo "gpu-constructs: this host is not in its ECS cluster after {seconds} seconds and ends itself"
  systemctl --failed --no-legend --plain
  systemctl list-jobs --no-legend
  findmnt --real --noheadings --output TARGET,SOURCE
  tail -n 20 /var/log/ecs/ecs-init.log /var/log/ecs/ecs-agent.log
  tail -n 20 /var/log/cloud-init-output.log
}} 2>&1 | tee /dev/console /run/join-deadline
{tell}
sleep 5
shutdown -h now"""

# The credentials are in a file of curl, which no list of processes shows.
_TELL = r"""token=$(curl -s -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
ask() { curl -s -m 5 -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"; }
key=$(ask "iam/security-credentials/$(ask iam/security-credentials/)")
of() { sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p" <<< "$key"; }
region=$(ask placement/region)
logs() {
  curl -s -m 10 -K <(printf 'user = "%s:%s"\nheader = "X-Amz-Security-Token: %s"\n' \
    "$(of AccessKeyId)" "$(of SecretAccessKey)" "$(of Token)") \
    --aws-sigv4 "aws:amz:$region:logs" -H "X-Amz-Target: Logs_20140328.$1" \
    -H 'Content-Type: application/x-amz-json-1.1' -d "{\"logGroupName\":\"HOST_LOG\"$2}" \
    "https://logs.$region.$(ask services/domain)/"
}
logs CreateLogGroup
logs PutRetentionPolicy ',"retentionInDays":30'
stream=",\"logStreamName\":\"$(ask instance-id)\""
logs CreateLogStream "$stream"
text=$(tr '\t"\\' " '/" < /run/join-deadline | tr -cd '\n -~' | sed 's/$/\\n/' | tr -d '\n')
logs PutLogEvents "$stream,\"logEvents\":[{\"timestamp\":$(date +%s)000,\"message\":\"$text\"}]"
""".rstrip().replace("HOST_LOG", HOST_LOG)

_WARM = """
  token=$(curl -s -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
  state=$(curl -s -m 5 -H "X-aws-ec2-metadata-token: $token" \\
    http://169.254.169.254/latest/meta-data/autoscaling/target-lifecycle-state)
  case $state in Warmed:*) waited=0 ;; esac"""


def shutdown_of(operating_system: OperatingSystem | Unknown) -> ec2.InstanceInitiatedShutdownBehavior | None:
    """What a shutdown does to hosts with this system; None for the default of EC2, which stops them."""
    is_silent = operating_system is OperatingSystem.BOTTLEROCKET
    return None if is_silent else ec2.InstanceInitiatedShutdownBehavior.TERMINATE


def deadline_lines(
    operating_system: OperatingSystem | Unknown, join_within: cdk.Duration | None, *, may_be_warm: bool
) -> tuple[str, ...]:
    """Lines of user data that come before all that may fail or hang."""
    if join_within is not None:
        require_kind("join_within", join_within, cdk.Duration, example="cdk.Duration.minutes(30)")
    if operating_system is OperatingSystem.BOTTLEROCKET:
        if join_within is not None:
            raise IncompatibleError(
                "Bottlerocket has no shell, so its hosts cannot end themselves",
                argument="join_within",
                fix="leave it out, or an image of Amazon Linux",
            )
        return ()
    seconds = DEFAULT_SECONDS
    if join_within is not None:
        fix, why = "cdk.Duration.minutes(30)", "cannot be written into a script"
        seconds = known_seconds(
            "join_within", join_within, smallest=_LEAST_SECONDS, largest=_MOST_SECONDS, fix=fix, why=why
        )
    script = _SCRIPT.format(seconds=seconds, step=_STEP_SECONDS, warm=_WARM if may_be_warm else "", tell=_TELL)
    unit = f"""\
[Unit]
Description=Ends a host that does not join its cluster
[Service]
ExecStart=/usr/local/sbin/{_NAME}
Restart=on-failure
[Install]
WantedBy=multi-user.target"""
    return (*unit_lines(_NAME, unit, script.splitlines()), f"systemctl enable --now --no-block {_NAME}.service")
