"""Run the emulator: ``python -m ecs_emulator.server``.

Prints the port it listens on, on loopback, and lives as long as its standard input stays open: whatever happens to the
process that started it, the pipe between them closes and no server is left behind.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from .install import install

log = logging.getLogger(__name__)

_IN_XML = "<Response><Errors><Error><Code>InvalidAction</Code><Message>{}</Message></Error></Errors></Response>"
"""The error of EC2 and of other services whose answers are XML, of an action that they do not have."""

Application = Callable[[Any, Any], Iterable[bytes]]


def main() -> None:
    """Serve until standard input closes."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    install()
    server = make_server("127.0.0.1", 0, _one_at_a_time(DomainDispatcherApplication(create_backend_app)), threaded=True)
    threading.Thread(target=_die_with_standard_input, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


def _one_at_a_time(application: Application) -> Application:
    """Moto's models know no locks, and neither do the emulator's."""
    lock = threading.Lock()

    def answer(environ: Any, start_response: Any) -> Iterable[bytes]:
        with lock:
            try:
                return list(application(environ, start_response))
            except NotImplementedError as error:
                log.warning("not answered: %s", error)  # such as an operation that neither moto nor the emulator has
                start_response("501 Not Implemented", [("Content-Type", "text/plain")])
                is_query = environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded")
                return [(_IN_XML if is_query else "{}").format(error).encode()]

    return answer


def _die_with_standard_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
