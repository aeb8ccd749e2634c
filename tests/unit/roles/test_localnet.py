"""Packets from elsewhere to 127.0.0.0/8 (CVE-2020-8558): one rule, once, however often the program runs."""

from tests.unit.fakes.roles import ROLES
from tests.unit.fakes.running import sh, stub

# Keeps the chain's and the hook's rules as lines.
IPTABLES = """#!/bin/sh
shift 4; verb=$1; chain=$2; shift 2; rule="$chain $*"
case $verb in
  -N) grep -qx "new $chain" {t} && exit 1; echo "new $chain" >> {t} ;;
  -C) grep -qxF -- "$rule" {t} ;;
  -A|-I) echo "$rule" >> {t} ;;
  -D) grep -qxF -- "$rule" {t} || exit 1; grep -vxF -- "$rule" {t} > {t}.n; mv {t}.n {t} ;;
  *) exit 9 ;;
esac
"""


def test_the_rule_is_there_once(tmp_path):
    table = tmp_path / "table"
    table.touch()
    stub(tmp_path / "iptables", IPTABLES.format(t=table))
    for _ in range(3):
        program = ROLES / "kube_node/files/avadm-localnet"
        sh("sh", program, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
        assert sorted(table.read_text().splitlines()) == [
            "AVADM-LOCALNET ! -i lo -d 127.0.0.0/8 -j DROP",
            "PREROUTING -j AVADM-LOCALNET",
            "new AVADM-LOCALNET",
        ]
