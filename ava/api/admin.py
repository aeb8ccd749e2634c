"""`python -m ava.api.admin`: what is done on the API's own machine: the first administrator, a sealing key."""

from __future__ import annotations

import argparse
import os
import re
import sys
from datetime import timedelta
from pathlib import Path

from cryptography.fernet import Fernet
from pydantic import TypeAdapter, ValidationError

from ava.db.database import Database
from ava.domain.model import User, UserState
from ava.domain.problems import ApiError
from ava.schemas.common import Email, Password, UserName
from ava.schemas.validation import problems
from ava.services.auth.caller import digest
from ava.services.auth.passwords import Passwords
from ava.services.config import Config
from ava.services.context import utc_now
from ava.services.factory import database as open_database
from ava.settings import ConfigError, load


def create_admin(db: Database, passwords: Passwords, name: str, email: str, password: str) -> str:
    """Make an active administrator, or make the user of this name one; return what was done.

    Twice with the same password changes nothing; another password replaces the present one, and anyone who was logged in
    with that one is no longer.
    """
    now = utc_now()
    user = _there(db, name)
    if user is None:
        db.users.create(
            name,
            email,
            passwords.hash(password),
            now,
            admin=True,
            state=UserState.ACTIVE,
            email_confirmed=True,
        )
        done = "made"
    else:
        same = passwords.matches(db.users.password_hash(name), password)
        if same and user.admin and user.state is UserState.ACTIVE:
            return "unchanged"
        hashed = None if same else passwords.hash(password)
        db.users.update(name, now, admin=True, state=UserState.ACTIVE, password=hashed)
        if not same:
            _end_log_ins(db, name)
        done = "changed"
    db.audit.write(
        now,
        who="create-admin",
        action="users.make",
        object=f"user {name}",
        outcome="done",
        address="local",
        detail={"did": done},
    )
    return done


LENT = timedelta(hours=1)
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def lend(db: Database, secret: str, name: str | None) -> tuple[str, str]:
    """Make a token of an administrator that ends within the hour; return whose it is and its id.

    Args:
        db: the database.
        secret: the token's, made by who asks and known to no other user.
        name: whose; None: the only active administrator.

    Raises:
        ValueError: there is none, there are several and none was named, or this is no secret.
    """
    if _SECRET.fullmatch(secret) is None:
        raise ValueError("standard input: wanted: a secret of 43 characters")
    now, there = utc_now(), []
    after: str | None = None
    while True:
        page = db.users.list(state=UserState.ACTIVE, after=after, limit=500)
        there += [user.name for user in page.items if user.admin]
        if (after := page.next) is None:
            break
    if name is not None and name not in there:
        raise ValueError(f"{name} is no active administrator; wanted: {', '.join(there[:20]) or 'one'}")
    if name is None and len(there) != 1:
        raise ValueError(
            f"wanted: the name of one of the administrators {', '.join(there[:20]) or '(there is none)'}"
        )
    whose = name or there[0]
    id = db.secrets.create(whose, "token", digest(secret), now, until=now + LENT, label="avadm")
    db.audit.write(
        now,
        who="avadm",
        action="tokens.make",
        object=f"user {whose}",
        outcome="done",
        address="local",
        detail={"label": "avadm", "hours": 1},
    )
    return whose, id


def _end_log_ins(db: Database, name: str) -> None:
    """End all sessions and tokens of a user, who may have been somebody else's until now."""
    for kind in ("session", "token"):
        for secret in db.secrets.list(name, kind):
            db.secrets.delete(name, secret["id"])


def _there(db: Database, name: str) -> User | None:
    try:
        return db.users.get(name)
    except ApiError as refused:
        if refused.status == 404:
            return None
        raise


def sealing_key(path: Path) -> str:
    """Write a new sealing key, mode 0600; one that is there is left alone."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return "unchanged"
    with os.fdopen(handle, "wb") as file:
        file.write(Fernet.generate_key() + b"\n")
    return "made"


def _password() -> str:
    """Return the password from standard input, one line."""
    return sys.stdin.readline().rstrip("\r\n")


def _checked(name: str, email: str, password: str) -> list[str]:
    """Return what is wrong with the three, never with the password in it."""
    found = []
    for where, kind, value in (
        ("--name", UserName, name),
        ("--email", Email, email),
        ("password", Password, password),
    ):
        try:
            TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            errors = [{**e, "loc": (where,)} for e in error.errors()]
            found += [f"{p.where}: {p.what} Wanted: {p.wanted}." for p in problems(errors)]
    return found


def main(argv: list[str] | None = None) -> int:
    """Run; 0 done (or nothing to do), 1 refused, 2 could not run."""
    parser = argparse.ArgumentParser(prog="python -m ava.api.admin", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("create-admin", help="password: one line on standard input")
    make.add_argument("--config", type=Path, required=True)
    make.add_argument("--name", required=True)
    make.add_argument("--email")
    lent = verbs.add_parser("lend", help="secret of a token for an hour: one line on standard input")
    lent.add_argument("--config", type=Path, required=True)
    lent.add_argument("--name")
    key = verbs.add_parser("sealing-key")
    key.add_argument("file", type=Path)
    options = parser.parse_args(argv)
    try:
        if options.verb == "sealing-key":
            print(sealing_key(options.file))
            return 0
        if options.verb == "lend":
            return _lend(load(options.config, Config), options.name)
        return _create(
            load(options.config, Config), options.name, options.email or f"{options.name}@localhost"
        )
    except (ConfigError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _lend(config: Config, name: str | None) -> int:
    db = open_database(config)
    try:
        print(*lend(db, _password(), name))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except ApiError as refused:
        print(f"{refused}", file=sys.stderr)
        return 2
    finally:
        db.close()
    return 0


def _create(config: Config, name: str, email: str) -> int:
    password = _password()
    if wrong := _checked(name, email, password):
        print("\n".join(wrong), file=sys.stderr)
        return 2
    db = open_database(config)
    try:
        print(create_admin(db, Passwords(), name, email, password))
    except ApiError as refused:
        print(f"{refused}", file=sys.stderr)
        return 2 if refused.status == 503 else 1
    finally:
        db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
