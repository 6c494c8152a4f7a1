"""Accelerated types of which no source of `second_sets` gives all that is here: a second list, made another way.

Name, whole devices, memory of one device in MiB (corrected for Trainium2), vCPUs, memory of the host in MiB.
"""

from __future__ import annotations

ACCELERATED: tuple[tuple[str, int, int | None, int, int], ...] = (
    ("dl1.24xlarge", 8, 32768, 96, 786432),
    ("dl2q.24xlarge", 8, 16000, 96, 786432),
    ("f1.2xlarge", 1, None, 8, 124928),
    ("f1.4xlarge", 2, None, 16, 249856),
    ("f1.16xlarge", 8, None, 64, 999424),
    ("f2.6xlarge", 1, 81920, 24, 262144),
    ("f2.12xlarge", 2, 81920, 48, 524288),
    ("f2.48xlarge", 8, 81920, 192, 2097152),
    ("g2.2xlarge", 1, 4096, 8, 15360),
    ("g2.8xlarge", 4, 4096, 32, 61440),
    ("g3.4xlarge", 1, 8192, 16, 124928),
    ("g3.8xlarge", 2, 8192, 32, 249856),
    ("g3.16xlarge", 4, 8192, 64, 499712),
    ("g3s.xlarge", 1, 8192, 4, 31232),
    ("inf1.xlarge", 1, 8192, 4, 8192),
    ("inf1.2xlarge", 1, 8192, 8, 16384),
    ("inf1.6xlarge", 4, 8192, 24, 49152),
    ("inf1.24xlarge", 16, 8192, 96, 196608),
    ("inf2.xlarge", 1, 32768, 4, 16384),
    ("inf2.8xlarge", 1, 32768, 32, 131072),
    ("inf2.24xlarge", 6, 32768, 96, 393216),
    ("inf2.48xlarge", 12, 32768, 192, 786432),
    ("p2.xlarge", 1, 12288, 4, 62464),
    ("p2.8xlarge", 8, 12288, 32, 499712),
    ("p2.16xlarge", 16, 12288, 64, 749568),
    ("p3.2xlarge", 1, 16384, 8, 62464),
    ("p3.8xlarge", 4, 16384, 32, 249856),
    ("p3.16xlarge", 8, 16384, 64, 499712),
    ("trn1.2xlarge", 1, 32768, 8, 32768),
    ("trn1.32xlarge", 16, 32768, 128, 524288),
    ("trn1n.32xlarge", 16, 32768, 128, 524288),
    ("trn2.3xlarge", 1, 98304, 12, 131072),
    ("trn2.48xlarge", 16, 98304, 192, 2097152),
    ("vt1.3xlarge", 1, 24576, 12, 24576),
    ("vt1.6xlarge", 2, 24576, 24, 49152),
    ("vt1.24xlarge", 8, 24576, 96, 196608),
)
