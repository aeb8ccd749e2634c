"""What a file of users, groups and quotas says. It never holds a password."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from avadm.site.values import Model


def _written(value: object) -> object:
    """Return a number as it was written: amounts are text, with or without a unit."""
    return f"{value}" if type(value) in (int, float) else value


Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$")]
KeyName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9._]{0,98}[a-z0-9])?$")]
PublicKey = Annotated[str, Field(pattern=r"^(ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/=]+( .*)?$", max_length=16_384)]
Cards = Annotated[str, BeforeValidator(_written), Field(pattern=r"^(none|[0-9]{1,6})$")]
Cores = Annotated[str, BeforeValidator(_written), Field(pattern=r"^(none|[0-9]{1,9}(\.[0-9]{1,3})?)$")]
Size = Annotated[
    str, BeforeValidator(_written), Field(pattern=r"^(none|0|[0-9]{1,9}(\.[0-9]{1,3})? ?[KMGTP]iB)$")
]
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


class Quota(Model):
    """What a group may have at once; what is left out stays as it is (of a new group: nothing, `storage` without limit)."""

    gpu: Cards | None = None
    """GPUs, or `none`: no limit."""
    cpu: Cores | None = None
    """Cores, or `none`."""
    memory: Size | None = None
    """Memory, such as `512GiB`, or `none`."""
    storage: Size | None = None
    """Bytes of the group's folder in the shared file system (cephfs), such as `10TiB`, or `none`."""
    disk: Size | None = None
    """Bytes of the workbenches' disks of their own (block volumes) together, such as `2TiB`, or `none`."""

    def amounts(self) -> dict[str, int | None]:
        """Return the value, as the API counts it: cards, thousandths of a core, bytes; None: no limit."""
        report = {name: getattr(self, name) for name in ("gpu", "cpu", "memory", "storage", "disk")}
        return {name: amount(name, text) for name, text in report.items() if text is not None}


class User(Model):
    """A user. Who is new gets a link by which a password is chosen, once."""

    name: Name
    """Login name; also in containers and of the home."""
    email: str = Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)
    """Where mail goes; no two users have the same."""
    admin: bool | None = None
    """Whether the user may do everything; absent: stays, and a new user may not."""
    state: Literal["active", "disabled"] | None = None
    """`disabled` ends logins and tokens. Absent: stays; who is new, or has registered and waits, is active."""
    ssh_keys: dict[KeyName, PublicKey] = Field(default={}, max_length=50)
    """Public keys by name, for workbenches."""
    default_group: Name | None = None
    """Group that later runs are charged to; absent: stays, at first the first group."""
    home: Size | None = None
    """Bytes of the home in the shared file system, or `none`: the site's own limit."""


class Group(Model):
    """A group and who is in it."""

    name: Name
    """Name of the group; also of its folder."""
    members: list[Name] = Field(default=[])
    """Users; further ones that are there stay unless `--prune` names them."""
    quota: Quota = Quota()
    """What it may have at once."""


class People(Model):
    """Users, groups and quotas of the platform."""

    users: list[User] = Field(default=[])
    """Users; others that are there stay as they are."""
    groups: list[Group] = Field(default=[])
    """Groups; others that are there stay as they are."""


def amount(name: str, text: str) -> int | None:
    """Return an amount as the API counts it: cards, thousandths of a core, bytes; None: no limit."""
    if text == "none":
        return None
    if name == "gpu":
        return int(text)
    if name == "cpu":
        return round(float(text) * 1000)
    unit = text[-3:] if text.endswith("iB") else ""
    return round(float(text.removesuffix(unit)) * _UNITS.get(unit, 1))
