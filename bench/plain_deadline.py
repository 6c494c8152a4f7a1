"""What ends a host that does not join its cluster, as somebody writes it by hand."""

from __future__ import annotations

__all__ = ["join_deadline"]

_BEFORE = """\
cat <<'EOF' > /usr/local/sbin/join-deadline
#!/bin/bash
joined=/var/lib/cloud/instance/joined-cluster
[ ! -e "$joined" ] && command -v curl > /dev/null || exit 0
for ((waited = 0; waited < 1800; waited += 10)); do
  if curl -s -m 5 http://localhost:51678/v1/metadata | grep -q ':container-instance/'; then
    touch "$joined"
    exit 0
  fi""".splitlines()
"""The script up to the look at a warm pool."""

_WARM = """\
  token=$(curl -s -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
  state=$(curl -s -m 5 -H "X-aws-ec2-metadata-token: $token" \\
    http://169.254.169.254/latest/meta-data/autoscaling/target-lifecycle-state)
  case $state in Warmed:*) waited=0 ;; esac""".splitlines()
"""The time does not count in a warm pool."""

_AFTER = r"""
  sleep 10
done
{
  echo "gpu-constructs: this host is not in its ECS cluster after 1800 seconds and ends itself"
  systemctl --failed --no-legend --plain
  systemctl list-jobs --no-legend
  findmnt --real --noheadings --output TARGET,SOURCE
  tail -n 20 /var/log/ecs/ecs-init.log /var/log/ecs/ecs-agent.log
  tail -n 20 /var/log/cloud-init-output.log
} 2>&1 | tee /dev/console /run/join-deadline
token=$(curl -s -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
ask() { curl -s -m 5 -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"; }
key=$(ask "iam/security-credentials/$(ask iam/security-credentials/)")
of() { sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p" <<< "$key"; }
region=$(ask placement/region)
logs() {
  curl -s -m 10 -K <(printf 'user = "%s:%s"\nheader = "X-Amz-Security-Token: %s"\n' \
    "$(of AccessKeyId)" "$(of SecretAccessKey)" "$(of Token)") \
    --aws-sigv4 "aws:amz:$region:logs" -H "X-Amz-Target: Logs_20140328.$1" \
    -H 'Content-Type: application/x-amz-json-1.1' -d "{\"logGroupName\":\"gpu-constructs-hosts\"$2}" \
    "https://logs.$region.$(ask services/domain)/"
}
logs CreateLogGroup
logs PutRetentionPolicy ',"retentionInDays":30'
stream=",\"logStreamName\":\"$(ask instance-id)\""
logs CreateLogStream "$stream"
text=$(tr '\t"\\' " '/" < /run/join-deadline | tr -cd '\n -~' | sed 's/$/\\n/' | tr -d '\n')
logs PutLogEvents "$stream,\"logEvents\":[{\"timestamp\":$(date +%s)000,\"message\":\"$text\"}]"
sleep 5
shutdown -h now
EOF
chmod +x /usr/local/sbin/join-deadline
cat <<'EOF' > /etc/systemd/system/join-deadline.service
[Unit]
Description=Ends a host that does not join its cluster
[Service]
ExecStart=/usr/local/sbin/join-deadline
Restart=on-failure
[Install]
WantedBy=multi-user.target
EOF
systemctl daemon-reload
systemctl enable --now --no-block join-deadline.service""".splitlines()[1:]
"""The rest, and the unit that runs it."""


def join_deadline(*, warm: bool = False) -> list[str]:
    """Lines of user data, before all that may fail."""
    return [*_BEFORE, *(_WARM if warm else ()), *_AFTER]
