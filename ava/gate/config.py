"""The gate's settings: one YAML file; its secret is in a file that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Port = Annotated[int, Field(ge=0, le=65535)]


class ConfigError(Exception):
    """The settings cannot be used; the text names every error."""


class Config(BaseModel):
    """All settings.

    Attributes:
        host, port: where browsers come, through the ingress.
        told: port of health and metrics.
        api: URL of the API's internal port.
        secret: file with what the gate shows there.
        site: URL of the site, where people log in.
        below: workbenches have the origins ``https://ID.BELOW``.
        every: seconds between two questions whether what is open may stay open.
        deaf: seconds after which all that is open is closed where the API does not answer that question.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    host: str = "127.0.0.1"
    port: Port = 8080
    told: Port = 9090
    api: Annotated[str, Field(pattern=r"^https?://[^\s/]+$")]
    secret: Path
    site: Annotated[str, Field(pattern=r"^https://[^\s/]+$")]
    below: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
    every: Annotated[float, Field(gt=0, le=60)] = 5
    deaf: Annotated[float, Field(gt=0, le=600)] = 60


def load(path: Path) -> Config:
    """Return the settings of a file; ConfigError names the file and all that is wrong with it."""
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return Config.model_validate(said)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except ValidationError as error:
        lines = [f"{path}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError("\n".join(lines)) from None
