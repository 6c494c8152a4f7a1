"""``python -m gpu_constructs`` is the command ``gpu-constructs``."""

from __future__ import annotations

import sys

from gpu_constructs.cli import main

if __name__ == "__main__":
    sys.exit(main())
