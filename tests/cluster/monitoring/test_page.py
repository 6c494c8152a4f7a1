"""``docs/monitoring.md`` says what the tables say."""

from __future__ import annotations

import re

from gpu_constructs import AlarmLimits
from gpu_constructs.cluster.monitoring.events import COUNTED, METRICS
from tests.synthesis import ROOT

from .emf import CLUSTER, PROVIDER, SERVICE, SETS
from .watched_site import watched

PAGE = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
WORDS = re.sub(r"\s+", " ", PAGE)
SECTIONS = {
    each.partition("\n")[0]: re.sub(r"\s+", " ", each) for each in re.split(r"^###? ", PAGE, flags=re.MULTILINE)
}

ALARM = re.compile(
    r"(?P<says>[^(]+) \([^)]+\)\. (?P<runbook>.+) More: gpu_constructs, docs/monitoring\.md#(?P<anchor>[\w-]+)\..*"
)


def test_each_alarm_leads_to_its_section_with_its_runbook_line_and_a_source() -> None:
    headings = {each.lower().replace(" ", "-").replace(",", ""): section for each, section in SECTIONS.items()}
    told = {key: ALARM.fullmatch(each["AlarmDescription"]) for key, each in watched().alarms.items()}
    assert len({found["says"] for found in told.values() if found}) == 7
    for key, found in told.items():
        assert found is not None, key
        section = headings[found["anchor"]]
        assert section.startswith(found["says"])
        assert found["runbook"] in section
        assert "https://" in section
        assert any(key.endswith(each) for each in re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))


def test_each_limit_and_each_metric_is_named() -> None:
    assert all(f"`{each}`" in PAGE for each in AlarmLimits.__dataclass_fields__)
    assert re.findall(r"^\| `(\w+)` \| .* \| cluster, capacity", PAGE, re.MULTILINE) == list(METRICS)


def test_the_costs_are_those_of_all_metrics_and_alarms() -> None:
    cluster, pool, service = (sum(each in sets for sets in SETS.values()) for each in (CLUSTER, PROVIDER, SERVICE))
    assert f"{cluster} of the cluster, {pool} of each capacity with GPUs, {service} of each service with GPUs" in WORDS
    assert f"| counted events | {len(COUNTED)}," in PAGE
    alarms = watched().alarms
    metrics = {key: sum("MetricStat" in one for one in each.get("Metrics", [])) or 1 for key, each in alarms.items()}
    of_cluster = sum(number for key, number in metrics.items() if not key.startswith(("L4", "Spot", "Block", "Cpu")))
    of_l4 = sum(number for key, number in metrics.items() if key.startswith("L4"))
    assert f"{of_cluster} metrics of the cluster, up to {of_l4} of each capacity" in WORDS
    a_month = 0.3 * (cluster + 2 * pool + service) + 0.1 * (of_cluster + 2 * of_l4) + 3
    assert f"costs about ${a_month:.0f} a month" in WORDS
