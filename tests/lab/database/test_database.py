"""PostgreSQL as it was installed: one address, a standby that has what was acknowledged, no one without TLS and password."""

import pytest

pytestmark = pytest.mark.lab


@pytest.mark.core("database")
def test_the_primary_has_the_address_and_its_standby_is_synchronous(lab, database):
    primary, standby = database.whole()
    holders = [
        n for n in database.nodes if database.vip in lab.sh(n, "ip -4 -o addr show").replace("/", " ").split()
    ]
    assert holders == [primary]
    came = database.ask(
        standby, "SELECT pg_is_in_recovery(), current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    )
    assert (came.returncode, came.stdout.strip()) == (0, "f|ava|t"), came.stderr
    assert database.own(standby, "SELECT pg_is_in_recovery()") == ["t"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"password": "guessed"}, "password authentication failed"),
        ({"password": ""}, "no password supplied"),
        ({"tls": "disable"}, "no encryption"),
        ({"user": "postgres", "base": "postgres"}, "pg_hba.conf rejects connection"),
        ({"user": "replicator", "base": "ava"}, "pg_hba.conf rejects connection"),
        ({"base": "template1"}, "no pg_hba.conf entry"),
    ],
    ids=lambda value: "-".join(f"{k}" for k in value) if isinstance(value, dict) else "",
)
def test_others_are_refused(database, given, error):
    _, standby = database.roles()
    came = database.ask(standby, "SELECT 1", **given)
    assert came.returncode != 0
    assert error in came.stderr


def test_what_may_change_the_cluster_wants_a_password(lab, database):
    ask = "curl -s -o /dev/null -w '%{http_code}' --cacert /etc/patroni/ca.crt"
    for path in ("restart", "switchover", "reinitialize"):
        got = lab.sh(database.nodes[0], f"{ask} -X POST -d '{{}}' https://localhost:8008/{path}")
        assert got == "401", path
    assert lab.sh(database.nodes[0], f"{ask} -X PATCH -d '{{}}' https://localhost:8008/config") == "401"
