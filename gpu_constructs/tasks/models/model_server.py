"""A model server as one value: its image, where it listens, when it is healthy, what it is told about its GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from typing import Literal, TypeAlias, cast, get_args

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from typing_extensions import TypedDict, Unpack

from gpu_constructs.cdk.arguments import known_seconds, require_kind, seconds_of, texts, variables, whole_number
from gpu_constructs.cdk.calls import naming
from gpu_constructs.cdk.kinds import checked, with_names_checked
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown, unexpected
from gpu_constructs.facts.aws_limits import LARGEST_PORT
from gpu_constructs.facts.cuda import Cuda, cuda_image
from gpu_constructs.facts.servers import ServerFacts, arguments_in, known_servers
from gpu_constructs.facts.values import dataclass

Preset: TypeAlias = Literal[
    "vllm",
    "sglang",
    "tgi",
    "triton",
    "ollama",
    "comfyui",
    "dlc_vllm",
    "dlc_sglang",
    "dlc_pytorch",
    "pytorch",
    "cuda",
]


class ServerOptions(TypedDict, total=False):
    """Arguments of the class methods of `ModelServer` that make a server.

    Attributes:
        tag: Tag of the image. By default one that is recent when this version of the library is released.
        image: An image of your own, such as a copy in ECR, instead of the published one.
        port: Where it listens. By default where the server listens by itself.
        arguments: What is added to its command, such as ``["--max-model-len", "8192"]``.
    """

    tag: str | None
    image: ecs.ContainerImage | None
    port: int | None
    arguments: Sequence[str]


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A model server, for `GpuTaskDefinition.add_model_server`.

    Made by a class method for servers that many people run, whose facts and sources are in
    ``facts/data/servers.json``, or directly for your own server::

        ModelServer(name="mine", image=image, port=9000, health_path="/ready")

    Attributes:
        name: What it is called.
        image: Its image. None for the published one.
        image_name: The published image; None where `image` says it alone.
        port: Where it listens; None for what serves nothing, such as a base image.
        health_path: What answers with 200 once it serves; None where nothing does.
        health_check_grace_period: How long it may load before failed health checks count; measured for models of 7
            billion parameters. A larger model takes longer, and so does a first download.
        command: Its command, with ``{port}`` where its port goes. Empty for the image's own.
        model: The model, by its name on Hugging Face; its memory is held against the GPUs. None without a name.
        gpu_arguments: What is added to its command where it has several GPUs, with ``{gpus}`` for how many.
        environment: Environment variables, with ``{port}`` where its port goes.
        cache_directory: Where it keeps what it downloads, which a `ModelCache` keeps for it.
        cache_variables: Environment variables that name that directory, which is ``{cache}`` in them.
    """

    name: str
    image: ecs.ContainerImage | None = None
    image_name: str | None = None
    port: int | None = None
    health_path: str | None = None
    health_check_grace_period: cdk.Duration | None = None
    command: Sequence[str] = ()
    model: str | None = None
    gpu_arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    cache_directory: str | None = None
    cache_variables: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _require_text("name", self.name, example="'mine'")
        if self.model is not None:
            _require_text("model", self.model, example="'Qwen/Qwen2.5-7B-Instruct'")
        if self.image_name is not None:
            _require_text("image_name", self.image_name, example="'registry/name:tag'")
        _require_port(self.port)
        for argument in ("health_path", "cache_directory"):
            value = getattr(self, argument)
            if value is not None and (not isinstance(value, str) or not value.startswith("/")):
                raise unexpected(argument, value, "a path that begins with /", fix=f"{argument}='/health'")
        if self.health_check_grace_period is not None:
            period, example = "health_check_grace_period", "cdk.Duration.minutes(10)"
            require_kind(period, self.health_check_grace_period, cdk.Duration, example=example)
            why = "is no time that others follow from"
            known_seconds(period, self.health_check_grace_period, smallest=0, fix=example, why=why)
        for argument in ("command", "gpu_arguments"):
            listed = texts(argument, getattr(self, argument), example="['--max-model-len', '8192']")
            object.__setattr__(self, argument, tuple(listed))
        for argument in ("environment", "cache_variables"):
            read = variables(argument, getattr(self, argument), of=str, example="{'NAME': 'value'}")
            object.__setattr__(self, argument, read)
        if self.image is None and self.image_name is None:
            raise InvalidValueError(
                f"this library knows no published image of {self.name}",
                argument="image",
                fix="image=ecs.ContainerImage.from_registry('registry/name:tag')",
            )

    @classmethod
    @naming(ServerOptions)
    @checked
    def vllm(cls, model: str, **options: Unpack[ServerOptions]) -> ModelServer:
        """Serves with vLLM from ``vllm/vllm-openai``, the API of OpenAI on port 8000.

        Several GPUs become ``--tensor-parallel-size``, unless `arguments` say how they are used. By default it has CUDA
        13; a tag that ends with ``-cu129`` is for older drivers.

        Args:
            model: A name on Hugging Face, or a directory in the container.
        """
        return cls.preset("vllm", model=model, **options)

    @classmethod
    @naming(ServerOptions)
    @checked
    def sglang(cls, model: str, **options: Unpack[ServerOptions]) -> ModelServer:
        """Serves with SGLang from ``lmsysorg/sglang``, on port 30000, with its metrics switched on.

        Several GPUs become ``--tp``.

        Args:
            model: A name on Hugging Face, or a directory in the container.
        """
        return cls.preset("sglang", model=model, **options)

    @classmethod
    @naming(ServerOptions)
    @checked
    def tgi(cls, model: str, **options: Unpack[ServerOptions]) -> ModelServer:
        """Serves with Text Generation Inference of Hugging Face, on port 80.

        It has been in maintenance mode since December 2025. Several GPUs become ``--num-shard``.

        Args:
            model: A name on Hugging Face, or a directory in the container.
        """
        return cls.preset("tgi", model=model, **options)

    @classmethod
    @naming(ServerOptions)
    @checked
    def triton(cls, model_repository: str | None = None, **options: Unpack[ServerOptions]) -> ModelServer:
        """Serves with NVIDIA Triton Inference Server, HTTP on port 8000. Models say themselves how many GPUs they use.

        It takes a `tag` of ``nvcr.io/nvidia/tritonserver``, such as ``25.12-py3``, or an `image`.

        Args:
            model_repository: Its repository of models, a directory or an ``s3://`` address. By default ``/models``,
                where a `ModelCache` puts it.
        """
        return cls.preset("triton", model=model_repository, **options)

    @classmethod
    @naming(ServerOptions)
    @checked
    def preset(cls, name: Preset, *, model: str | None = None, **options: Unpack[ServerOptions]) -> ModelServer:
        """Serves with any server of the table in ``docs/serving.md``; what it says of image, port and GPUs is data.

        ``pytorch``, ``dlc_pytorch`` and ``cuda`` are images for a `command` of your own. Of ComfyUI only the community
        publishes images, so it takes an `image`; Triton and Ollama take a `tag` or an `image`.

        Args:
            name: The server.
            model: A name on Hugging Face, or a directory in the container. ``dlc_vllm`` takes an ``s3://`` address too,
                with ``arguments=["--load-format", "runai_streamer"]``.
        """
        if name not in get_args(Preset):
            raise UnknownNameError(
                f"no server {shown(name)} is known",
                argument="name",
                value=name,
                nearest=tuple(get_close_matches(shown(name), get_args(Preset), n=2)),
                otherwise=f"one of {', '.join(get_args(Preset))}, or ModelServer(name=…, image=…) for your own",
            )
        facts = known_servers()[name]
        if "{model}" in "".join(facts.command):
            model = facts.model if model is None else model
            _require_text("model", model, example="'Qwen/Qwen2.5-7B-Instruct'")
        elif model is not None:
            raise InvalidValueError(
                f"{name} is told no model when it starts", argument="model", value=model, fix="leave it out"
            )
        port = options.get("port")
        added = tuple(texts("arguments", options.get("arguments") or (), example="['--max-model-len', '8192']"))
        _require_other(facts, added)
        image = options.get("image")
        image_name = _image_name(name, facts, options.get("tag"), image)
        return cls(
            name=name,
            image=image,
            image_name=image_name,
            port=facts.port if port is None else port,
            health_path=facts.health_path,
            health_check_grace_period=None if facts.grace_seconds is None else seconds_of(facts.grace_seconds),
            command=(*(each.replace("{model}", str(model)) for each in facts.command_in(image_name)), *added),
            model=model if facts.gpu_arguments else None,  # that of Triton is a directory of several
            # Arguments of the user that say how GPUs are used take the place of these.
            gpu_arguments=() if facts.sizes(arguments_in(added)) else facts.gpu_arguments,
            environment=facts.environment,
            cache_directory=facts.cache_directory,
            cache_variables=facts.cache_variables,
        )

    @property
    def cuda(self) -> Cuda | None:
        """The CUDA of its image as (major, minor); None where its name does not say it."""
        found = None if self.image_name is None else cuda_image(self.image_name)
        return None if found is None else found.cuda

    def container_image(self) -> ecs.ContainerImage:
        """Its image as CDK takes it."""
        return self.image or ecs.ContainerImage.from_registry(cast("str", self.image_name))


def _image_name(name: str, facts: ServerFacts, tag: str | None, image: ecs.ContainerImage | None) -> str | None:
    """The published image; with an image of the user's own, its tag alone says what that is made of."""
    if tag is not None:
        _require_text("tag", tag, example=repr(facts.tag or "1.2.3"))
    chosen = tag or (None if image is not None else facts.tag)
    if facts.repository is None or (image is not None and chosen is None):
        return None
    if chosen is None:
        raise InvalidValueError(
            f"this library knows no tag of {facts.repository} to take by default",
            argument="tag",
            fix=f"tag='…', one that {facts.repository} has, or image=… for an image of your own ({name})",
        )
    return f"{facts.repository}:{chosen}"


def _require_other(facts: ServerFacts, added: tuple[str, ...]) -> None:
    """Refuses arguments at which a server ends, and those that this library writes from another one."""
    found = facts.refuses(added)
    for argument in ("port", "model") if facts.gpu_arguments else ("port",):  # Triton may have several repositories
        option = facts.argument_for(f"{{{argument}}}")
        value = arguments_in(added).get(option) if option else None
        if value is not None:
            found = f"{option}, which {argument} says", f"{argument}={value if value.isdecimal() else repr(value)}"
    if found is not None:
        raise InvalidValueError(f"got {found[0]}", argument="arguments", value=list(added), fix=found[1])


def _require_text(argument: str, value: object, *, example: str) -> None:
    if not isinstance(value, str) or not value.strip() or " " in value or not value.isprintable():
        raise unexpected(argument, value, "text without spaces", fix=f"{argument}={example}")


def _require_port(value: object) -> None:
    if value is None:
        return
    if is_token(value):
        raise InvalidValueError(
            "the command of the server needs a port that is known at synth", argument="port", fix="port=8000"
        )
    whole_number("port", value, smallest=1, largest=LARGEST_PORT, fix="port=8000")
