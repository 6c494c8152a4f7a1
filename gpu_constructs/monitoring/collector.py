"""Measures the GPUs of a host, and prints a line a minute of which CloudWatch makes metrics."""

from __future__ import annotations

import time

__all__ = []

if __name__ == "__main__":
    while True:
        time.sleep(60)
