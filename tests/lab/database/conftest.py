"""PostgreSQL of the lab: who is the primary, and questions by its address."""

import json
import subprocess
import time
from dataclasses import dataclass

import pytest

from avadm.components.database.component import PATRONI
from avadm.site.load import load
from avadm.site.vault import Vault

PSQL = "psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1"


@dataclass
class Database:
    """The cluster as its nodes tell it.

    Attributes:
        lab: the lab.
        nodes: names of its nodes.
        vip: the address that the primary holds.
        password: that of the user ava.
    """

    lab: object
    nodes: list
    vip: str
    password: str

    def members(self, node=None):
        """Return each member's role and state, as Patroni of a node tells them."""
        ask = f"curl -sf --max-time 5 --cacert /etc/patroni/ca.crt https://localhost:{PATRONI}/cluster"
        report = json.loads(self.lab.sh(node or self.nodes[0], ask))["members"]
        return {m["name"]: (m["role"], m["state"]) for m in report}

    def roles(self):
        """Return primary and synchronous standby; fails while there are not both."""
        by_role = {role: name for name, (role, _) in self.members().items()}
        return by_role["leader"], by_role["sync_standby"]

    def own(self, node, sql, timeout=60):
        """Return what the server of a node answers its administrator."""
        return self._ask(node, f"runuser -u postgres -- {PSQL} --dbname=postgres", sql, timeout)

    def ask(self, node, sql, user="ava", password=None, tls="verify-full", base="ava"):
        """Return the CompletedProcess of a question over the network, by the address, from a node."""
        where = f"host={self.vip} user={user} dbname={base} sslmode={tls} sslrootcert=/etc/patroni/ca.crt"
        script = (
            f"read -r PGPASSWORD; export PGPASSWORD; exec {PSQL} --no-password '{where} connect_timeout=5'"
        )
        return self._run(node, script, f"{self.password if password is None else password}\n{sql}\n")

    def _ask(self, node, script, sql, timeout):
        done = self._run(node, script, sql + "\n", timeout)
        assert done.returncode == 0, f"{node}: {done.stderr}"
        return done.stdout.split()

    def _run(self, node, script, text, timeout=60):
        return subprocess.run(
            [*self.lab.argv(node), script], input=text, capture_output=True, text=True, timeout=timeout, check=False
        )  # fmt: skip

    def whole(self, seconds=180):
        """Wait until there are a primary and a synchronous standby again; return both."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self.roles()
                rows = self.own(
                    found[0], "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
                )
            except (AssertionError, KeyError, ValueError) as error:
                found, rows = None, [str(error)]
            # A third member may be asynchronous.
            if "sync" in rows:
                return found
            assert time.monotonic() < end, f"no primary with a synchronous standby after {seconds} s: {rows}"
            time.sleep(2)


@pytest.fixture
def database(lab):
    """The lab's PostgreSQL with a primary and a standby."""
    site = load(lab.site_path).site
    knobs = site.components.database
    if knobs is None:
        pytest.skip("this lab has no PostgreSQL: `avadm lab up --with database`")
    password = Vault.open(lab.site_path).ensure({})["vault_database_ava"]
    # Of the site file: the role may have moved since the lab was made.
    members = [node.name for node in site.with_role("database")]
    found = Database(lab, members, str(knobs.vip), password)
    found.whole()
    return found
