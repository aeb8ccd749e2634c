"""A store that is down, a disk that is full, a new error, a known trouble."""

import json
import time

import pytest

from tests.lab.logs.conftest import recent, wait

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LINES = 200
PROM = "/var/lib/prometheus/node-exporter/avadm-log-watch.prom"


def write(lab, node, marker):
    lab.sh(node, f"for i in $(seq {LINES}); do echo '{marker} '$i; done | logger -t probe")


def test_nothing_is_lost_with_one_store_down_or_killed(lab, ways, marker):
    down, *others = ways
    lab.sh(down, "systemctl kill -s KILL avadm-log-store; systemctl stop avadm-log-store")
    try:
        for node in lab.nodes:
            write(lab, node["name"], marker)
        for other in others:
            wait(ways[other], recent(grep=marker), LINES * len(lab.nodes))
    finally:
        lab.sh(down, "systemctl start avadm-log-store")
    lines = wait(ways[down], recent(grep=marker), LINES * len(lab.nodes), 180)
    assert len({(line.host, line.message) for line in lines}) == LINES * len(lab.nodes)


def test_a_shipper_that_was_down_sends_what_the_journal_kept(lab, ways, marker):
    node = lab.nodes[-1]["name"]
    lab.sh(node, "systemctl stop avadm-log-shipper")
    try:
        write(lab, node, marker)
    finally:
        lab.sh(node, "systemctl start avadm-log-shipper")
    for client in ways.values():
        wait(client, recent(grep=marker), LINES, 120)


def test_a_store_whose_disk_is_full_takes_nothing_and_loses_nothing(lab, ways, marker):
    store = next(iter(ways))
    node = lab.nodes[-1]["name"]
    drop = "/run/systemd/system/avadm-log-store.service.d"
    unit = "/etc/systemd/system/avadm-log-store.service"
    # More than the machine has must be free: read-only at once, without filling a disk that others share.
    start = f"sed -n '/^ExecStart=/,/loggerLevel/p' {unit} | sed 's/minFreeDiskSpaceBytes=[^ ]*/minFreeDiskSpaceBytes=900TiB/'"
    make = f"mkdir -p {drop}; (echo '[Service]'; echo ExecStart=; {start}) > {drop}/full.conf"
    lab.sh(store, f"{make}; systemctl daemon-reload; systemctl restart avadm-log-store")
    try:
        write(lab, node, marker)
        time.sleep(20)
        assert ways[store].search(recent(grep=marker)).lines == []
        lab.sh(store, "systemctl start avadm-log-watch")
        assert "avadm_log_store_read_only 1" in lab.sh(store, f"cat {PROM}")
    finally:
        lab.sh(store, f"rm -rf {drop}; systemctl daemon-reload; systemctl restart avadm-log-store")
    wait(ways[store], recent(grep=marker), LINES, 180)


def test_a_new_error_and_a_known_trouble_are_reported(lab, ways, marker):
    store, node = next(iter(ways)), lab.nodes[-1]["name"]
    watch = "$(ls -t /usr/lib/avadm/log-watch-*.pyz | head -n 1) --config=/etc/avadm/log-watch/config.json"
    state = json.loads(lab.sh(store, "cat /var/lib/avadm-log-watch/state.json"))
    lab.sh(store, f"systemctl start avadm-log-watch; python3 {watch} --learnt")
    word = "".join(chr(ord("g") + int(c, 16)) for c in marker.split("-")[1])
    try:
        lab.sh(node, f"logger -p daemon.err -t newpart -- 'the {word} has failed'")
        lab.sh(node, "logger -p kern.err -t probe -- 'blk_update_request: I/O error, dev sdz, sector 1'")
        wait(ways[store], recent(grep=word), 1)
        time.sleep(16)
        lab.sh(store, "systemctl start avadm-log-watch")
        report = lab.sh(store, f"cat {PROM}")
        assert f'pattern="the {word} has failed"' in report
        assert f'avadm_log_trouble_lines{{host="{node}",id="LogDiskError"}} 1' in report
    finally:
        # Learning continues as it would have.
        edit = (
            "import json; p='/var/lib/avadm-log-watch/state.json'; d=json.load(open(p)); "
            f"d['since']={state['since']!r}; json.dump(d, open(p, 'w'))"
        )
        lab.sh(store, f'python3 -c "{edit}"')
