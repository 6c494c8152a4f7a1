"""Commands of model servers: what do the words of a container say to its server, and where does it then listen?

They are read in four steps: words, arguments, port, address; None as soon as a word may mean more. A new option needs
nothing here unless it moves the port: then it is in `_OPENING`, or in `other_ports` of ``servers.json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from gpu_constructs.facts.model_memory import ModelMemory, served
from gpu_constructs.facts.servers import ServerFacts, arguments_in, known_servers, server_of_image
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import Container, Unknown

# Where these are, arguments may be in a file, or be for several hosts.
_OPEN = frozenset({"--config", "--nnodes", "--distributed-executor-backend", "ray"})
_VARIABLE = r"\$|^Ref::"  # of a shell, of ECS or of a job of AWS Batch: it may be anything
# Entry points that run a command which names the server itself.
SHELLS = frozenset({"sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/env"})
# Tags of these repositories that start something else, such as trtllm of TGI and sagemaker of AWS, at other ports.
_OTHER_START = r"sagemaker|rayserve|trtllm|llamacpp|neuron|gaudi"
# Another port, as -p of text-generation-inference; a socket of vLLM or no HTTP; Triton for Vertex AI, SageMaker: 8080.
_OPENING = r"(?s)-p\d*|--uds|--headless|--grpc|--help|--version|--allow-.*|.*\bports?\b.*"
NUMBER = r"[0-9]{1,5}"
_LOOPBACK = ("127.", "localhost", "::1")  # how such addresses begin
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - as commands of servers in containers have it
# Of NIM: NIM_HEALTH_PORT opens another port, and SageMaker, at 8080, may be served instead.
_OTHER_PORT = "PORT|SAGEMAKER"
# With these, a command of a shell may be a text or a comment, one of several, run elsewhere or not at all.
UNREAD = r"[#'\"`<(\[{]|\|\||(?<![&>])&(?![&>])|\b(?:case|echo|exit|for|if|printf|ray|ssh|until|while)\s"
# $(NAME) is a form of Kubernetes; ECS replaces none in Command.
_REFERENCE = r"(?:--[\w-]+=)?\$(?:\{\w+\}|\(\w+\)|[A-Za-z_]\w*)"
_CONCEALED = r"(?i)--[\w-]*(?:key|token|secret|password)"  # what follows may begin with $ itself, and is never printed
_BOUND = r"([A-Za-z0-9.-]{0,255})(?::([0-9]{1,5}))?"  # an address, a port or both, without a scheme
# What any image has: Triton starts with a directory that is empty, and ends where there is none ("failed to stat file",
# https://github.com/triton-inference-server/server/issues/1931); its own is in /opt, as build.py there says.
_OF_IMAGES = r"/(?:(?:media|mnt|srv)?/*|(?:dev|etc|home|opt|root|run|tmp|usr|var|workspace)(?:/.*)?)"
# As the errors say: https://github.com/vllm-project/vllm/issues/8793, and _derive_context_length in
# https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/configs/model_config.py
_LONGER = {
    "--max-model-len": "VLLM_ALLOW_LONG_MAX_MODEL_LEN",
    "--context-length": "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
}


class Mistake(NamedTuple):
    """What a server does not start with, as the end of a sentence about its container, and a fix."""

    what: str
    fix: str


def words_of(server: ServerFacts, container: Container) -> tuple[str, ...] | None:
    """The words of a command that starts a server; None where they may mean more, or another program."""
    written = (*container.entry_point, *container.command)
    if any(isinstance(each, Unknown) for each in written):
        return None
    words = tuple(map(str, written))
    if words and words[0] in SHELLS:
        words = ("$",) if re.search(UNREAD, " ".join(words)) else tuple(" ".join(words).split())
    if any(re.search(_VARIABLE, each) or each.partition("=")[0] in _OPEN for each in words):
        return None
    # Without an entry point of its own, the image decides; what another one makes of its command is not known.
    by_image = not container.entry_point and (server.entry_point or not words)
    in_shell = words[:1] and words[0] in SHELLS and any(map(_is_server, words))
    return words if by_image or in_shell or _starts_server(server, words) else None


def arguments_of(server: ServerFacts, container: Container, words: tuple[str, ...]) -> Mapping[str, str | Unknown]:
    """The arguments of a server, be they words of its command or variables, each with the word that follows it."""
    named = dict(container.environment) if server.takes_variables else {}
    by_variable = {f"--{name.lower().replace('_', '-')}": value for name, value in named.items()}
    return {**by_variable, **arguments_in(words)}


def server_of_entry_point(container: Container) -> ServerFacts | None:
    """The server whose image alone says how it is started; None where that is another program, or not known."""
    image = container.image if isinstance(container.image, str) and not container.entry_point else ""
    return None if re.search(_OTHER_START, image) else server_of_image(image)


@by_identity(maxsize=1 << 16)
def model_of(container: Container) -> ModelMemory | None:
    """The model that its server serves, where the command says which memory that takes."""
    server = server_of_entry_point(container)
    words = None if server is None else words_of(server, container)
    if server is None or not server.gpu_arguments or words is None:
        return None
    said = arguments_of(server, container, words)
    return served(str(said.get(server.argument_for("{model}"), (*words, "")[0])), said, server)


def refused_at(container: Container) -> Mistake | None:
    """What a server that its image starts ends at in Command; None where nothing is known."""
    server, words = server_of_entry_point(container), tuple(map(str, container.command))
    if server is None or not (server.entry_point or _starts_server(server, words)):
        return None
    first, directory = "".join(words[:1]).split(" ")[0], server.directory_of_model(words)
    if server.entry_point and first in {*server.entry_point, "python", "python3", *SHELLS}:
        what = f"has {first} in Command, and its image starts the server already, which ends at that argument"
        return Mistake(what, f"no {first}, or another entry point for it")
    if refused := server.refuses(words):
        return Mistake(f"has in Command {refused[0]}, and ends at it", refused[1])
    is_there = container.relations.may_mount(directory) or "--exit-on-error" in arguments_in(words)
    if directory and not re.fullmatch(_OF_IMAGES, directory) and not is_there:
        other = "an s3:// address" if f"{server.model}".startswith("/") else "a model of Hugging Face"
        what = f"names in Command the model {directory}, where no volume is mounted, and ends"
        return Mistake(what, f"a volume that is mounted at {directory}, or {other}")
    return None


def not_replaced(container: Container) -> Mistake | None:
    """A variable in Command of a server that is started without a shell; None without one."""
    server, words = server_of_entry_point(container), tuple(map(str, container.command))
    if server is None or not server.is_strict or not (server.entry_point or _starts_server(server, words)):
        return None
    named = (each for each in pairwise(("", *words)) if not any(re.match(_CONCEALED, word) for word in each))
    found = next((each for _, each in named if re.fullmatch(_REFERENCE, each)), "")
    if not found or words[0] in SHELLS:
        return None
    what = f"has in Command {found}, which no shell replaces: the server gets it as it is"
    return Mistake(what, "the value itself, or EntryPoint sh -c and the whole command as one text")


def longer_than_model(container: Container) -> Mistake | None:
    """A context above that of the model; None where it is not longer, or not known."""
    text = " ".join(map(str, container.command)).replace("_", "-")
    option, variable = next((each for each in _LONGER.items() if each[0] in text), ("", ""))
    model = model_of(container) if option and variable not in dict(container.environment) else None
    if model is None or not 0 < (most := model.shape.longest) < model.context:
        return None
    what = f"has in Command {option} {model.context}, where its model has {most}, and ends"
    return Mistake(what, f"{option} {most}, or {variable} with the value 1")


class Elsewhere(NamedTuple):
    """Where a server listens instead, a fix, and the property that it is in."""

    listens: str
    fix: str
    property_name: str


def listens_elsewhere(container: Container, port: int) -> Elsewhere | None:
    """Where its server listens instead of a port; None where it may listen there."""
    bound = _bound_by(container)
    if bound is None:
        return None
    if port not in bound.ports:
        at, fix = bound.ports[0], bound.to_move.format(port=port)
        return Elsewhere(f"listens at port {at}", f"{fix}, or ContainerPort {at}", bound.property_name)
    is_alone = port == bound.ports[0] and f"{bound.address}".startswith(_LOOPBACK)
    return Elsewhere(f"listens at {bound.address} alone", bound.to_open, bound.property_name) if is_alone else None


def port_of(container: Container) -> int | None:
    """The port at which others reach its server, the first of several; None where that is not certain."""
    bound = _bound_by(container)
    return None if bound is None or f"{bound.address}".startswith(_LOOPBACK) else bound.ports[0]


class _Bound(NamedTuple):
    """Ports and address of a server, what moves it to ``{port}`` and opens it to other hosts, in which property."""

    ports: Sequence[int]
    address: object
    to_move: str
    to_open: str
    property_name: str


def _bound_by(container: Container) -> _Bound | None:
    """Where its server listens; None where that is not certain."""
    server = server_of_entry_point(container)
    words = None if server is None else words_of(server, container)
    if server is None or words is None:
        return None
    if variable := next((name for name, value in server.environment.items() if "{port}" in value), ""):
        return _bound_by_variable(server, variable, container) if words in {(), ("serve",)} else None
    of_port, of_address = server.argument_for("{port}"), server.argument_for(_EVERYWHERE)
    said, defaults = arguments_of(server, container, words), {of_port: server.port, **server.other_ports}
    # An argument for a port that is not known here may open one.
    may_open = any(re.fullmatch(_OPENING, each) for each in said.keys() - defaults.keys())
    if may_open or not (server.entry_point or _starts_server(server, words)):
        return None
    ports = [str(said.get(each, default)) for each, default in defaults.items()]
    if not all(re.fullmatch(NUMBER, each) for each in ports):
        return None
    to_move, to_open = f"{of_port} {{port}}", f"{of_address} {_EVERYWHERE}"
    return _Bound([*map(int, ports)], said.get(of_address, server.address), to_move, to_open, "Command")


def _bound_by_variable(server: ServerFacts, name: str, container: Container) -> _Bound | None:
    """Where a server listens whose address is in a variable, such as OLLAMA_HOST; by default at all addresses."""
    said, form = dict(container.environment), server.environment[name]
    written = said.pop(name, "")
    if form == "{port}" and isinstance(written, str) and written:
        written = f":{written}"
    bound = re.fullmatch(_BOUND, written) if isinstance(written, str) else None
    port = None if bound is None else bound[2] or server.port
    if bound is None or port is None or any(re.search(_OTHER_PORT, each) for each in said):
        return None
    return _Bound([int(port)], bound[1], f"{name} {form}", f"{name} {form.format(port=port)}", "Environment")


def _starts_server(server: ServerFacts, words: tuple[str, ...]) -> bool:
    """Whether a command starts a server, and not a program beside it such as the load balancer of SGLang."""
    own = [*takewhile(lambda word: not word.startswith("--"), server.command)]
    first = ["python3" if name.startswith("python") else name for name in (each.rpartition("/")[2] for each in words)]
    return bool(own and first[: len(own)] == own) or any(map(_is_server, words[:1]))


def _is_server(word: str) -> bool:
    """Whether a word is the program of a server, or a module of it as ``vllm.entrypoints.openai.api_server``."""
    return _named(word) in _programs()


@cache
def _programs() -> frozenset[str]:
    """Programs and modules that are the entry points of images of servers."""
    started = (each.entry_point for each in known_servers().values() if each.entry_point)
    return frozenset(_named(words[2 if "-m" in words else 0]) for words in started)


def _named(word: str) -> str:
    return word.rpartition("/")[2].partition(".")[0]
