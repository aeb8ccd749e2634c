"""Load Q: committed rows through the address of the site's PostgreSQL; each acknowledged one is read back."""

import contextlib
import uuid
from functools import partial

from tests.lab.day2.loads.load import Load
from tests.lab.day2.loads.on_node import once, steady

EVERY_S = 0.1
WHERE = (
    "host={} user=ava dbname=ava sslmode=verify-full sslrootcert=/etc/patroni/ca.crt connect_timeout=2 "
    "tcp_user_timeout=3000 keepalives_idle=1 keepalives_interval=1 keepalives_count=3"
)


def sql(database, away=()):
    """Return the load of a lab with PostgreSQL.

    Args:
        database: the lab's (tests/lab/database/conftest.py).
        away: nodes that will lose power: the client does not run there.
    """
    node = next(name for name in database.nodes if name not in away)
    return Load("Q", {"rows": partial(rows, database, node)})


@contextlib.contextmanager
def rows(database, node, stream):
    """Commit rows into a table of this load's own; it is gone afterwards."""
    table = f"load_{uuid.uuid4().hex[:8]}"
    made = database.ask(node, f"CREATE TABLE {table} (n bigint PRIMARY KEY);")
    assert made.returncode == 0, made.stderr
    job = {"where": WHERE.format(database.vip), "password": database.password, "table": table}
    with contextlib.ExitStack() as stack:
        stack.callback(database.ask, node, f"DROP TABLE {table};")
        with steady(database.lab, node, stream, kind="rows", every=EVERY_S, **job):
            yield
        written = [int(key) for key in stream.kept]
        once(database.lab, node, stream, kind="rows-check", written=written, **job)
