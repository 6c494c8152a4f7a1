"""The program that watches a node of a gang: it runs in the containers, as the text of this file, with Python alone.

It starts a command, and tells the main node every few seconds over UDP how the node does. AWS Batch tries a job again
by the exit code of the main node alone, so this one ends with `LOST_HOST` where another host is lost, and with the
code of the failed program else. A node is lost where it never comes, is stopped (SIGTERM, before its host ends) or is
silent; one whose program failed says so, and is not. Arguments: the code for a lost host, the port, the address of the
main node, the name of this attempt, and how long nodes wait for each other in seconds; then the command.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

BEAT = float(os.environ.get("GANG_BEAT_SECONDS", "5"))
SILENT = 12 * BEAT  # after which a node is lost
FINISH = 12 * BEAT  # that other nodes have to end in after one has failed
ENDING = 30  # seconds that a command has to end in
RUNS, STOPPED = "runs", "stopped"  # what nodes say beside the exit codes of their programs


def is_silent(state: str, seconds: float) -> bool:
    """Whether a node that was last heard of so long ago is lost."""
    return state == RUNS and seconds > SILENT


class Watch:
    """One node: its socket, its command and, on the main one, what it heard of the others."""

    def __init__(self, lost: int, port: int, main: str, attempt: str) -> None:
        self.lost, self.main, self.attempt = lost, (main, port), attempt
        self.node, self.nodes = int(os.environ["AWS_BATCH_JOB_NODE_INDEX"]), int(os.environ["AWS_BATCH_JOB_NUM_NODES"])
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.command: subprocess.Popen[bytes] | None = None
        self.stopped = False
        self.heard: dict[int, tuple[float, str]] = {}
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_: object) -> None:
        """Passes a stop on."""
        self.stopped = True
        if self.command is not None:
            self.command.terminate()

    def receive(self, seconds: float) -> str | None:
        """What somebody of this attempt says in the next seconds."""
        self.socket.settimeout(seconds)
        try:
            said, who = self.socket.recvfrom(1000)
        except OSError:  # nothing came, or nobody listens yet
            return None
        attempt, node, state = [*said.decode(errors="replace").split("|"), "", ""][:3]
        if attempt != self.attempt:
            return None
        if self.node == 0 and node.isdigit() and 0 < int(node) < self.nodes:
            self.heard[int(node)] = time.monotonic(), state
            answer = "go" if len(self.heard) == self.nodes - 1 else ""
            self.socket.sendto(f"{self.attempt}|0|{answer}".encode(), who)
        return state

    def ended(self) -> int | None:
        """The exit code of the command as a shell has it; None while it runs."""
        code = None if self.command is None else self.command.poll()
        if code is None:
            return None
        if self.stopped:
            return 143
        code = 128 - code if code < 0 else code
        return 1 if code == self.lost else code

    def end(self, words: str, code: int) -> int:
        """Ends the command, and says why."""
        sys.stderr.write(f"node {self.node}: {words}\n")
        if self.command is not None and self.command.poll() is None:
            self.command.terminate()
            try:
                self.command.wait(ENDING)
            except subprocess.TimeoutExpired:
                self.command.kill()
        return code

    def wait_for_all(self, wait: float) -> int | None:
        """On the main node: None once all others have come, else how it ends."""
        begin = time.monotonic()
        while len(self.heard) < self.nodes - 1:
            self.receive(BEAT)
            if self.stopped:
                return 143
            if time.monotonic() - begin > wait:
                missing = [each for each in range(1, self.nodes) if each not in self.heard]
                return self.end(f"nodes {missing} have not come in {wait:.0f} seconds: hosts are lost", self.lost)
        return None

    def run_main(self, wait: float, command: list[str]) -> int:
        """The main node, which decides how the job ends."""
        self.socket.bind(("", self.main[1]))
        code = self.wait_for_all(wait)
        if code is not None:
            return code
        self.command = subprocess.Popen(command)
        since = 0.0  # when the first program failed
        while True:
            self.receive(BEAT / 5)
            code, now = self.ended(), time.monotonic()
            if code == 0 or (self.stopped and code is not None):
                return code
            gone = [each for each, (at, state) in self.heard.items() if state == STOPPED or is_silent(state, now - at)]
            if gone and not self.stopped:
                return self.end(f"nodes {gone} are stopped or silent: hosts are lost", self.lost)
            failed = {each: int(state) for each, (_, state) in self.heard.items() if state.isdigit() and int(state)}
            if code is None and not failed:
                continue
            since = since or now
            # Who runs and is heard of after the failure was there when it happened.
            if any(state == RUNS and at <= since for at, state in self.heard.values()):
                continue
            if code is not None:
                return code
            if now - since > FINISH:
                return self.end(f"the programs of nodes {failed} failed", next(iter(failed.values())))

    def tell(self, state: str) -> str | None:
        """Tells the main node a state; returns the answer."""
        try:
            self.socket.sendto(f"{self.attempt}|{self.node}|{state}".encode(), self.main)
        except OSError:
            return None
        return self.receive(BEAT / 5)

    def run_other(self, wait: float, command: list[str]) -> int:
        """Another node."""
        begin = time.monotonic()
        while self.tell(RUNS) != "go":
            if self.stopped:
                break
            if time.monotonic() - begin > wait:
                return self.end(f"the main node does not answer in {wait:.0f} seconds", 1)
            time.sleep(BEAT / 5)
        else:
            self.command = subprocess.Popen(command)
        told = time.monotonic()
        while self.command is not None and not self.stopped and self.ended() is None:
            time.sleep(BEAT / 50)
            if time.monotonic() - told > BEAT:
                told = time.monotonic()
                self.tell(RUNS)
        state = STOPPED if self.stopped else str(self.ended())
        for _ in range(10):
            if self.tell(state) is not None:
                break
        if self.command is not None:
            self.command.wait()
        return 143 if self.stopped else self.ended() or 0


def main(lost: str, port: str, address: str, attempt: str, wait: str, *command: str) -> int:
    """Watches this node; returns how it ends."""
    watch = Watch(int(lost), int(port), address, attempt)
    return (watch.run_main if watch.node == 0 else watch.run_other)(float(wait), list(command))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
