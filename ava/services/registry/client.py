"""What an image runs by itself, asked of the site's registry, so that the init process is before that too (K9).

Only registries of the settings are asked: anyone who may submit cannot make the platform talk to an address of theirs.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import httpx
from pydantic import Field, TypeAdapter

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.domain.spec import Distributed, Spec, Text
from ava.settings import Strict

SECONDS = 5.0
LARGEST = 4 * 2**20
"""Bytes of a manifest or of an image's configuration (the registry's own limit)."""
LISTS = 2
"""Lists of images by architecture within each other that are followed."""
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
"""The grammar of the registry itself: what does not fit is no repository of it."""
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_REFERENCE = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}|{_DIGEST.pattern}")
"""A tag or a digest (OCI distribution, 1.1). Whatever else is put into an address asks for something else."""
_COMMAND = TypeAdapter(Annotated[tuple[Text, ...], Field(max_length=256)])
"""As a definition may have it."""
_ONE = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
)
_MANY = (
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.index.v1+json",
)


class Registry(Strict):
    """How a registry is reached by HTTPS; ``certificate`` and ``key`` are shown to it where it wants that."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """What an image runs by itself; ``image`` is its name by digest."""

    image: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Got:
    """An answer's content, and the digest that the registry gives it."""

    content: bytes
    digest: str


class RegistryUnavailable(Exception):
    """The registry has not answered, or not as one answers."""


@dataclass(slots=True)
class Registries:
    """The registries of the settings, by ``HOST[:PORT]``."""

    known: Mapping[str, Registry]
    transport: httpx.BaseTransport | None = None
    _clients: dict[str, httpx.Client] = field(default_factory=dict)

    def own(self, image: str) -> ImageConfig | None:
        """Return what an image of one of them runs; None where it is not there. Unanswered, or KeyError for another registry."""
        host, _, rest = image.partition("/")
        client = self._client(host)
        name, reference = split(rest)
        reference = reference or "latest"
        if REPOSITORY.fullmatch(name) is None or _REFERENCE.fullmatch(reference) is None:
            # No registry has that; it may be a path into a repository of somebody else's.
            return None
        try:
            return self._own(client, host, name, reference)
        # Users push what is read here.
        except (httpx.HTTPError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise RegistryUnavailable(f"{type(error).__name__}: {error}") from error

    def _own(
        self, client: httpx.Client, host: str, name: str, reference: str, lists: int = LISTS
    ) -> ImageConfig | None:
        found = self._get(client, f"/v2/{name}/manifests/{reference}", (*_ONE, *_MANY))
        if found is None:
            return None
        manifest = _object(json.loads(found.content))
        if manifest.get("mediaType") in _MANY:
            if not lists:
                raise ValueError("lists of lists of images")
            fits = [
                m for m in manifest["manifests"] if _object(_object(m)["platform"])["architecture"] == "amd64"
            ]
            return self._own(client, host, name, _digest(fits[0]["digest"]), lists - 1) if fits else None
        config = self._get(client, f"/v2/{name}/blobs/{_digest(manifest['config']['digest'])}", ("*/*",))
        if config is None:
            raise ValueError("the image has no configuration")
        reply = _object(_object(json.loads(config.content)).get("config") or {})
        parts = [reply.get(part) or [] for part in ("Entrypoint", "Cmd")]
        if not all(isinstance(part, list) for part in parts):
            raise TypeError("the image's command is no list")
        command = _COMMAND.validate_python((*parts[0], *parts[1]))
        if any("\0" in word for word in command):
            raise ValueError("the image's command holds a NUL character")
        return ImageConfig(f"{host}/{name}@{_digest(found.digest)}", command)

    def _get(self, client: httpx.Client, path: str, accept: tuple[str, ...]) -> _Got | None:
        with client.stream("GET", path, headers={"accept": ", ".join(accept)}) as answer:
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            content = b""
            for part in answer.iter_bytes():
                content += part
                # A blob may have the size of a disk.
                if len(content) > LARGEST:
                    raise ValueError(f"{path}: more than {LARGEST} bytes")
            return _Got(content, answer.headers.get("docker-content-digest", ""))

    def _client(self, host: str) -> httpx.Client:
        if host not in self._clients:
            self._clients[host] = connected(host, self.known[host], self.transport)
        return self._clients[host]


def connected(
    host: str, made: Registry, transport: httpx.BaseTransport | None = None, seconds: float = SECONDS
) -> httpx.Client:
    """Return a client for one host, which shows it what the settings say."""
    trust = ssl.create_default_context(cafile=made.ca)
    if made.certificate is not None:
        trust.load_cert_chain(made.certificate, made.key)
    # A redirect would lead where the settings do not.
    return httpx.Client(
        base_url=f"https://{host}",
        verify=trust,
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
        transport=transport,
    )


def _digest(value: Any) -> str:
    """Return a digest that an answer names: users push manifests, and what is in them is asked for."""
    if not isinstance(value, str) or _DIGEST.fullmatch(value) is None:
        raise ValueError("an answer names no digest")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an answer is no object")
    return value


def resolve_command(spec: Spec, registries: Registries, where: str = "body.spec") -> Spec:
    """Return a definition that says what runs, the image's own command where it says none.

    Raises:
        ApiError: 422 where that is not known (another registry's image, no such image, none in it), 503 where the registry does
            not answer. Without registries in the settings nothing is asked or refused.
    """
    if not registries.known or not _open(spec):
        return spec
    try:
        own = registries.own(spec.image)
    except KeyError:
        raise _no_command(spec, where, f"{spec.image}, whose registry is not one of the site's") from None
    except RegistryUnavailable:
        raise away(where) from None
    if own is None:
        raise unknown(spec.image, where)
    if not own.command:
        raise _no_command(spec, where, f"{spec.image}, which runs nothing by itself")
    return spec.model_copy(update={"image": own.image, "command": own.command})


def split(name: str) -> tuple[str, str]:
    """Return repository and reference (tag or digest, "" for none) of ``REPOSITORY[:TAG][@DIGEST]``."""
    name, _, digest = name.partition("@")
    head, _, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{head}/{last}" if head else last, digest or tag


def away(where: str) -> ApiError:
    """Return the refusal of a definition about whose image the registry does not answer."""
    return ApiError(
        503,
        Problem(
            "registry-unavailable",
            Phrase("The registry does not say what this image runs by itself."),
            f"{where}.image",
            Phrase("no usable answer"),
            Phrase("the image's configuration"),
            Phrase("Try again later, or say the command."),
        ),
    )


def silent(where: str) -> ApiError:
    """Return the refusal of what cannot be done while the registry does not tell what is there."""
    return ApiError(
        503,
        Problem(
            "registry-timeout",
            Phrase("The registry does not answer."),
            where,
            Phrase("no usable answer"),
            Phrase("what is in the registry"),
            Phrase("Try again later; if it stays, tell an administrator."),
        ),
    )


def unknown(image: str, where: str) -> ApiError:
    """Return the refusal of an image that is not there, or not the caller's to know."""
    return ApiError(
        422,
        Problem(
            "image-unknown",
            Phrase("The registry has no such image."),
            f"{where}.image",
            image,
            Phrase("an image that is there"),
            Phrase("Correct the name or the tag, or push the image."),
        ),
    )


def _open(spec: Spec) -> bool:
    """Whether some container would run what its image says; workbenches and MPI's workers run what the platform says."""
    if spec.command or spec.kind == "workbench":
        return False
    roles = [r for r in spec.roles if spec.distributed is not Distributed.MPI or r.name == "launcher"]
    return any(not role.command for role in roles)


def _no_command(spec: Spec, where: str, found: str) -> ApiError:
    return ApiError(
        422,
        Problem(
            "command-missing",
            Phrase("It is not known what is to run."),
            f"{where}.command",
            Phrase("none, of {names}", names=found),
            Phrase("a command: the platform's init process starts it, so that a stop reaches it"),
            Phrase("Say the command, as it stands in the image's ENTRYPOINT and CMD."),
        ),
    )
