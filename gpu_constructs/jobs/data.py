"""Where a job reads, writes and resumes: a bucket, or a directory that its container mounts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import require_kind
from gpu_constructs.cdk.kinds import checked, with_names_checked
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown, unexpected
from gpu_constructs.facts.values import dataclass

_NOT_PLAIN = "quotes, braces, backslashes, control characters, . and .."
# A name, or where the execution of a job says it.
INPUT = "$$.Execution.Input."
"""Before a field of what an execution is started with."""

_FIELD = re.compile(r"\$(?:\$\.Execution\.Name|(?:\.[A-Za-z_][A-Za-z0-9_]*)+)")
# Variables with which a container finds its programs, libraries, credentials and GPUs.
_IS_OF_CONTAINER = re.compile(r"(?:HOSTNAME|LD_LIBRARY_PATH|LD_PRELOAD|PATH)\Z|(?:AWS|ECS|NVIDIA)_")


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class JobData:
    """A place of data, which a job is told by an environment variable and allowed to use.

    Attributes:
        location: What the variable says: ``s3://my-bucket/data/``, or a directory.
        bucket: The bucket; None for a directory.
        prefix: The part of the bucket.
    """

    location: str
    bucket: s3.IBucket | None = None
    prefix: str = ""

    @staticmethod
    @checked
    def s3(bucket: s3.IBucket, *, prefix: str = "") -> JobData:
        """A bucket or a part of it, which the task role is granted.

        Args:
            bucket: The bucket.
            prefix: The part of it, such as ``data/``. By default all of it.
        """
        if prefix and (prefix.startswith("/") or not prefix.endswith("/") or not _is_plain(prefix, besides="*?")):
            raise unexpected(
                "prefix",
                prefix,
                "the beginning of keys up to a slash",
                allowed=f"'data/', or nothing for the whole bucket; without wildcards, {_NOT_PLAIN}",
                fix=f"prefix='{prefix.strip('/') if _is_plain(prefix, besides='*?') else 'data'}/'",
            )
        return JobData(location=f"s3://{bucket.bucket_name}/{prefix}", bucket=bucket, prefix=prefix)

    @staticmethod
    @checked
    def directory(path: str) -> JobData:
        """A directory of the container, where it mounts EFS, FSx for Lustre or a disk of its host.

        Args:
            path: The directory, such as ``/checkpoints``.
        """
        if not path.startswith("/") or not _is_plain(path):
            raise unexpected(
                "path", path, "an absolute path", allowed=f"one without {_NOT_PLAIN}", fix="path='/checkpoints'"
            )
        return JobData(location=f"{path.rstrip('/')}/")

    def grant(self, role: iam.IGrantable, *, writes: bool) -> None:
        """Lets the role of a task use it."""
        if self.bucket is not None:
            (self.bucket.grant_read_write if writes else self.bucket.grant_read)(role, f"{self.prefix}*")


class DataOptions(TypedDict, total=False):
    """Arguments that all jobs share: where they read, write and resume.

    Attributes:
        reads: Where its data are, by the variable that its containers get. Their role may read them.
        writes: Where its results go, likewise. Their role may read and write them.
        checkpoints: Where it keeps what it resumes from. Its containers get ``JOB_CHECKPOINTS``, a directory there, the
            same on all hosts and in each attempt.
        checkpoint_key: The name of that directory. By default that of the job, so that a job that failed goes on when
            it is started again, and its program deletes what it has no more use for. Starts that may overlap need one
            each: of a `GpuJob` ``"$.trial"`` for a field of what it is started with, or ``"$$.Execution.Name"``; each
            submission to AWS Batch may set ``JOB_CHECKPOINTS`` itself.
    """

    reads: Mapping[str, JobData] | None
    writes: Mapping[str, JobData] | None
    checkpoints: JobData | None
    checkpoint_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlaces:
    """All places of one job.

    Attributes:
        reads: Where its data are, by variable.
        writes: Where its results go, by variable.
        checkpoints: Where it keeps what it resumes from; None without.
        key: The directory there, or where its execution says it; empty for one that is named after the job.
    """

    reads: Mapping[str, JobData]
    writes: Mapping[str, JobData]
    checkpoints: JobData | None
    key: str = ""

    @staticmethod
    def of(options: DataOptions, *, reserved: frozenset[str], has_fields: bool = False) -> JobPlaces:
        """The places as given, whose variables are none that the container has already."""
        read = _by_variable("reads", options.get("reads"), reserved)
        written = _by_variable("writes", options.get("writes"), reserved | {*read})
        checkpoints = options.get("checkpoints")
        if checkpoints is not None:
            require_kind("checkpoints", checkpoints, JobData, example="JobData.s3(bucket, prefix='checkpoints/')")
        key = _key_of(options.get("checkpoint_key"), checkpoints, has_fields=has_fields)
        return JobPlaces(reads=read, writes=written, checkpoints=checkpoints, key=key)

    @property
    def every(self) -> tuple[JobData, ...]:
        """All of them."""
        return (*self.reads.values(), *self.written)

    @property
    def variables(self) -> dict[str, str]:
        """What the variables of `reads` and `writes` say."""
        return {name: each.location for name, each in (*self.reads.items(), *self.writes.items())}

    @property
    def written(self) -> tuple[JobData, ...]:
        """Those that it writes to."""
        return (*self.writes.values(), *(() if self.checkpoints is None else (self.checkpoints,)))

    def grant(self, role: iam.IGrantable) -> None:
        """Lets a role use them."""
        for each in self.reads.values():
            each.grant(role, writes=False)
        for each in self.written:
            each.grant(role, writes=True)


def _key_of(key: str | None, checkpoints: JobData | None, *, has_fields: bool) -> str:
    """The directory of a job's checkpoints, or where in its execution it is said; empty where nothing was given."""
    if key is None:
        return ""
    if checkpoints is None:
        fix = "checkpoints=JobData.s3(bucket, prefix='checkpoints/')"
        raise InvalidValueError("is for checkpoints, and there are none", argument="checkpoint_key", value=key, fix=fix)
    if has_fields and _FIELD.fullmatch(key):
        return key if key.startswith("$$") else f"{INPUT}{key.removeprefix('$.')}"
    if not key or key != key.strip("/") or not _is_plain(key, besides="*?$"):
        raise unexpected(
            "checkpoint_key",
            key,
            f"a directory{' or a field' if has_fields else ''}",
            allowed=f"a name without {_NOT_PLAIN}"
            + (", '$.field' of its input, or '$$.Execution.Name'" if has_fields else " and $"),
            fix=f"checkpoint_key={'$.trial' if has_fields else 'trial-1'!r}"
            + ("" if has_fields else ", or JOB_CHECKPOINTS among the environment of a submission"),
        )
    return key


def _is_plain(text: str, *, besides: str = "") -> bool:
    """Whether a text stands for itself: in a function of the Amazon States Language, in a shell, and in a policy."""
    if is_token(text):
        return True
    is_one_place = text.isprintable() and not {".", ".."} & {*text.split("/")}
    return is_one_place and not {*text} & {*"'{}\\", *besides}


def _by_variable(argument: str, value: Mapping[str, JobData] | None, reserved: frozenset[str]) -> dict[str, JobData]:
    example = "{'DATASET': JobData.s3(bucket, prefix='data/')}"
    given = {} if value is None else value
    if not isinstance(given, Mapping) or not all(isinstance(each, JobData) for each in given.values()):
        raise unexpected(argument, value, "places by variable", fix=f"{argument}={example}")
    for name in given:
        if not isinstance(name, str) or not name.isidentifier() or name in reserved or _IS_OF_CONTAINER.match(name):
            raise InvalidValueError(
                f"{shown(name)} is not free as the name of a variable",
                argument=argument,
                value=name,
                allowed=f"letters, digits and _, other than {', '.join(sorted(reserved))} and variables of the shell, "
                "the loader, ECS and NVIDIA",
                fix=f"{argument}={example}",
            )
    return dict(given)
