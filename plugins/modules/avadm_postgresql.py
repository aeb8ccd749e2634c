#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_postgresql
short_description: Keep users of PostgreSQL, and a database of each
description:
  - Each user may log in with its password and owns the database of its name, to which no one else may connect. Others are left
    alone.
  - Speaks to the server on this node as its administrator; a standby has what its primary has, and nothing is done there.
  - The server never sees a password, but what SCRAM keeps of it (RFC 5802, 7677).
options:
  users: {description: Name to password., type: dict, required: true}
  absent:
    description: Databases that are dropped, with all that is in them; who is connected is cut off.
    type: list
    elements: str
    default: []
  port: {description: TCP port of the server on this node., type: int, default: 5432}
"""

EXAMPLES = r"""
- name: Configure users and databases
  avadm_postgresql:
    users: {ava: "{{ vault_database_ava }}"}
"""

RETURN = r"""
differing:
  description: What was (in check mode would be) changed, in order.
  type: list
  returned: success
primary:
  description: Whether this node has the primary.
  type: bool
  returned: success
"""

import base64
import hashlib
import hmac
import os
import re

from ansible.module_utils.basic import AnsibleModule

NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
VERIFIER = re.compile(r"^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$")
ROUNDS = 4096


class PostgresError(Exception):
    """The server did not do what it was asked."""


def verifier(password, salt, rounds=ROUNDS):
    """Return what PostgreSQL keeps of a password.

    Args:
        password: of ASCII characters.
        salt: random bytes.
        rounds: of PBKDF2.
    """
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, rounds)

    def keyed(key, text):
        return hmac.new(key, text, hashlib.sha256).digest()

    def text(data):
        return base64.b64encode(data).decode("ascii")

    stored = hashlib.sha256(keyed(salted, b"Client Key")).digest()
    return "SCRAM-SHA-256$%d:%s$%s:%s" % (
        rounds,
        text(salt),
        text(stored),
        text(keyed(salted, b"Server Key")),
    )


def is_of(kept, password):
    """Return whether what is kept is of a password."""
    match = VERIFIER.match(kept or "")
    if not match:
        return False
    try:
        salt = base64.b64decode(match.group(2))
    except (TypeError, ValueError):
        return False
    return verifier(password, salt, int(match.group(1))) == kept


class Server(object):
    """The server of this node.

    Args:
        sql: callable(text) -> lines that it answers; PostgresError where it fails.
        salt: returns random bytes.
    """

    def __init__(self, sql, salt=lambda: os.urandom(16)):
        self.sql, self.salt = sql, salt

    def primary(self):
        """Return whether it is the primary."""
        return self.sql("SELECT pg_is_in_recovery()") == ["f"]

    def rows(self, query):
        """Return a query's rows, by their first column."""
        return dict(line.split("|", 1) for line in self.sql(query))

    def keep(self, users, dry=False):
        """Make it so; return what was done, in words."""
        reports = []

        def do(words, text):
            reports.append(words)
            if not dry:
                self.sql(text)

        kept = self.rows(
            "SELECT rolname, rolcanlogin::text || '|' || coalesce(rolpassword, '') FROM pg_authid"
        )
        # "=T/x" or "=Tc/x" in a database's rights, or no rights of its own at all: everybody may connect.
        owners = self.rows(
            "SELECT datname, pg_get_userbyid(datdba) || '|' || has_database_privilege('public', datname, 'CONNECT')::text"
            " FROM pg_database"
        )
        for name, password in sorted(users.items()):
            login, _, held = kept.get(name, "").partition("|")
            if login != "true" or not is_of(held, password):
                verb = "ALTER" if name in kept else "CREATE"
                do(
                    "user " + name,
                    "%s ROLE %s LOGIN PASSWORD '%s'" % (verb, name, verifier(password, self.salt())),
                )
            owner, _, public = owners.get(name, "||").partition("|")
            if name not in owners:
                do("database " + name, "CREATE DATABASE %s OWNER %s" % (name, name))
            elif owner != name:
                do("owner of " + name, "ALTER DATABASE %s OWNER TO %s" % (name, name))
            if name not in owners or public == "true":
                do(
                    "who may connect to " + name,
                    "REVOKE CONNECT, TEMPORARY ON DATABASE %s FROM PUBLIC" % name,
                )
        return reports

    def drop(self, names, dry=False):
        """Drop databases; return what was done, in words."""
        there = self.sql("SELECT datname FROM pg_database")
        reports = [name for name in names if name in there]
        for name in () if dry else reports:
            self.sql("DROP DATABASE %s WITH (FORCE)" % name)
        return ["dropped " + name for name in reports]


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "absent": {"type": "list", "elements": "str", "default": []},
            "users": {"type": "dict", "required": True, "no_log": True},
            "port": {"type": "int", "default": 5432},
        },
        supports_check_mode=True,
    )
    users, absent = module.params["users"], module.params["absent"]
    wrong = [name for name in list(users) + absent if not NAME.match(name)]
    if wrong:
        module.fail_json(msg="%s cannot be the name of a user and a database." % ", ".join(wrong))
    argv = [
        "runuser",
        "-u",
        "postgres",
        "--",
        "psql",
        "--no-psqlrc",
        "--no-align",
        "--tuples-only",
        "--quiet",
    ]
    argv += ["--set=ON_ERROR_STOP=1", "--port=%d" % module.params["port"], "--dbname=postgres"]

    def sql(text):
        rc, out, err = module.run_command(argv, data=text + ";\n", cwd="/")
        if rc != 0:
            raise PostgresError((err or out).strip()[-600:])
        return [line for line in out.split("\n") if line]

    server = Server(sql)
    try:
        primary = server.primary()
        reports = []
        if primary:
            reports = server.drop(absent, module.check_mode) + server.keep(users, module.check_mode)
    except (PostgresError, OSError) as error:
        if module.check_mode:
            module.exit_json(changed=True, differing=["PostgreSQL does not answer yet"], primary=False)
        module.fail_json(
            msg="Users of PostgreSQL cannot be kept: %s. Remedy: see `journalctl -u patroni`, then apply again."
            % error
        )
    module.exit_json(changed=bool(reports), differing=reports, primary=primary)


if __name__ == "__main__":
    main()
