"""What the commands say of answers that ``make smoke`` recorded, beside what they said of them then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from gpu_constructs.cli.program import main

__all__ = ["COMMANDS", "RECORDINGS", "replayed", "said_otherwise"]

RECORDINGS = Path(__file__).parent / "account" / "recordings"
"""Of accounts, each in a folder. What is recorded on the emulator shows nothing about AWS, and is not kept there."""
COMMANDS = ("self-test", "why", "verify")


def said_otherwise(recordings: Path) -> list[str]:
    """Folders over which a command does not say what it said then, or in which none has said anything."""
    folders = {each: list(replayed(each)) for each in recordings.iterdir() if each.is_dir()}
    return [each.name for each, pairs in folders.items() if not pairs or any(then != now for then, now in pairs)]


def replayed(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Exit code and report of each command, as it was recorded and as it is now."""
    for path in sorted(folder.glob("*.json")):
        recorded = json.loads(path.read_text(encoding="utf-8"))
        facts = recorded["facts"]
        if recorded["step"] in COMMANDS and "words" in facts:
            with _answering(recorded["calls"]), redirect_stdout(StringIO()) as out:
                code = main(facts["words"])
            now = {"exit": code, "said": json.loads(out.getvalue() or "null")}
            yield {"exit": facts["exit"], "said": facts["said"]}, now


@contextmanager
def _answering(calls: list[Any]) -> Iterator[None]:
    """Each call of boto3 has the next answer that was recorded of it, and none goes to AWS."""
    left = [*calls]

    def answered(client: Any, operation: str, _: Any) -> Any:
        asked = client.meta.service_model.service_name, operation
        found = next((each for each in left if (each["service"], each["operation"]) == asked), None)
        assert found is not None, f"the recording has no more answers of {' '.join(asked)}"
        left.remove(found)
        if "Error" in found["answer"]:
            raise ClientError(found["answer"], operation)
        return found["answer"]

    with patch.object(BaseClient, "_make_api_call", answered):
        yield
