"""The settings of AVA's programs: one YAML file each; secrets are named by the files that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Address = Annotated[str, Field(pattern=r"^\[?[0-9A-Za-z.:-]*\]?:[0-9]{1,5}$")]
"""``HOST:PORT`` to listen at."""


class ConfigError(Exception):
    """The settings cannot be used; the text names every error."""


class Strict(BaseModel):
    """Settings, of which nothing is unknown and nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


M = TypeVar("M", bound=Strict)


def load(path: Path, model: type[M]) -> M:
    """Return the settings of a file; ConfigError names the file and all that is wrong with it."""
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from None
    try:
        return model.model_validate(data if data is not None else {})
    except ValidationError as error:
        rows = [f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors()]
        raise ConfigError("\n".join(f"{path}: {row}" for row in rows)) from None


def split(address: str) -> tuple[str, int]:
    """Return host and port of an Address; an empty host is every address."""
    host, _, port = address.rpartition(":")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104  an empty host in the settings says so
