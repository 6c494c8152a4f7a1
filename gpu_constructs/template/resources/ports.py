"""Ports of a container.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html
"""

from __future__ import annotations

import re

from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware.aws_limits import LARGEST_PORT
from gpu_constructs.template.resources.section import Section

__all__ = ["host_ports_of"]

_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")


def host_ports_of(section: Section, network_mode: str | Unknown) -> tuple[tuple[int, str], ...]:
    """Ports of the host that are certainly taken: static ones in mode bridge, all of them in mode host.

    One that two mappings take is there twice, which no host can give.
    """
    ports: list[tuple[int, str]] = []
    for each in section.sections("PortMappings"):
        _note_range(each)
        port, protocol = each.integer("HostPort"), each.text("Protocol")
        if network_mode == "host" and port in {None, 0}:
            port = each.integer("ContainerPort")
        if not isinstance(port, int) or port == 0 or isinstance(protocol, Unknown):
            continue
        if not 0 < port <= LARGEST_PORT:
            each.note(f"expects a port from 0 to {LARGEST_PORT}", port, "HostPort")
        elif network_mode in {"bridge", "host"}:
            ports.append((port, (protocol or "tcp").lower()))
    return tuple(ports)


def _note_range(mapping: Section) -> None:
    """Notes a range of ports that is none."""
    written = mapping.text("ContainerPortRange")
    if written is None or isinstance(written, Unknown):
        return
    found = _RANGE.fullmatch(written)
    if found is None or not 0 < int(found[1]) <= int(found[2]) <= LARGEST_PORT:
        expected = f"expects two ports from 1 to {LARGEST_PORT} with a hyphen between them, the smaller one first"
        mapping.note(expected, written, "ContainerPortRange")
