"""The emulator as a process of its own on loopback, which cannot outlive the process that started it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.utils import parse_timestamp

__all__ = ["ACCOUNT", "REGION", "Emulator", "emulator", "isolated_client"]

REGION = "us-east-1"
ACCOUNT = "123456789012"
"""The account that moto answers for."""

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
_ABSENT_FILES = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
# Without a name for the user agent, botocore puts one together anew for each request, a tenth of what it takes.
_CONFIG = Config(proxies={"http": None}, retries={"total_max_attempts": 1}, user_agent="emulator")
# A signature takes a sixth of a call. A server knows the service by it, and a bucket who asks.
_UNSIGNED = _CONFIG.merge(Config(signature_version=UNSIGNED))
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})


@dataclass(frozen=True)
class Emulator:
    """A running emulator.

    Args:
        port: The port on loopback.
        log: What the server writes.
    """

    port: int
    log: Path

    @property
    def url(self) -> str:
        """The endpoint of every service."""
        return f"http://127.0.0.1:{self.port}"

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """An environment in which nothing can reach a real account.

        Args:
            inherited: The environment to start from; its own AWS settings, CDK settings and proxies are left out.
        """
        kept = {
            name: value
            for name, value in inherited.items()
            if not name.startswith(("AWS_", "CDK_")) and name.upper() not in _PROXIES
        }
        return {
            **kept,
            **_CREDENTIALS,
            **_ABSENT_FILES,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.url,
            # The CLI hands CloudFormation the template's address, and moto takes it for a bucket only under this name.
            "AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION": f"http://localhost:{self.port}",
        }

    def client(self, service: str) -> Any:
        """A boto client of one service, which reads neither profiles nor the environment."""
        return isolated_client(service, self.url)


def isolated_client(service: str, endpoint: str | None = None) -> Any:
    """A boto client that reads neither profiles nor the environment.

    Args:
        service: Such as ``ecs``.
        endpoint: Where it sends requests; to AWS by default, so only call it without one where `moto` answers.
    """
    return _session().create_client(
        service,
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=_CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=_CONFIG if endpoint or service == "s3" else _UNSIGNED,
    )


@functools.cache
def _session() -> Any:
    """One for all clients of a process: it reads each file of botocore's data once."""
    session = botocore.session.Session(
        session_vars={
            "profile": (None, None, None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
    )
    # Who polls gets the same times again and again, and `dateutil` reads each in 100 us.
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=functools.cache(parse_timestamp))
    return session


@contextmanager
def emulator(directory: Path) -> Iterator[Emulator]:
    """Run the emulator while the context lasts.

    Args:
        directory: Where its log goes.
    """
    log = directory / "emulator.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "ecs_emulator.server"],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = process.stdout.readline()
            if not port:
                raise RuntimeError(f"the emulator did not start:\n{log.read_text()}")
            yield Emulator(port=int(port), log=log)
        finally:
            process.stdin.close()  # this ends it, see `server`
            process.wait(timeout=10)
