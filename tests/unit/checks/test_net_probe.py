"""Pinger: echo requests against a network that answers, loses and dawdles as each test wants."""

import socket
import struct

import pytest

from avadm_node.probes.preflight import latency, packet_filter
from avadm_node.probes.preflight.latency import FULL, ROUNDS, Pinger

PEERS = [{"address": "10.0.0.2", "size": 9000}, {"address": "10.0.0.3", "size": 9000}]


class Wire:
    """A raw socket of which `answers(size, tries)` says whether a request comes back, by its size and count."""

    def __init__(self, answers):
        self.answers = answers
        self.near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.near.setblocking(False)
        self.senders, self.requests = [], []

    def setsockopt(self, *_):
        pass

    def setblocking(self, _):
        pass

    def fileno(self):
        return self.near.fileno()

    def sendto(self, packet, address):
        size = len(packet) + 20
        self.requests.append((address[0], size))
        if self.answers(size, self.requests.count((address[0], size))):
            self.far.send(b"\x45" + bytes(19) + struct.pack("!B", 0) + packet[1:])
            self.senders.append(address)

    def recvfrom(self, size):
        return self.near.recv(size), self.senders.pop(0)

    def close(self):
        self.near.close()
        self.far.close()


@pytest.fixture
def ping(monkeypatch):
    monkeypatch.setattr(latency, "PATIENCE", 0.01)
    monkeypatch.setattr(latency, "PAUSE", 0.0)

    def run(answers):
        wire = Wire(answers)
        monkeypatch.setattr("socket.socket", lambda *_: wire)
        pinger = Pinger(PEERS)
        pinger.run()
        return pinger, [size for _, size in wire.requests].count(9000)

    return run


def test_every_answer_is_timed_but_the_warm_ups(ping):
    pinger, full = ping(lambda size, tries: True)
    assert [len(times) for times in pinger.times] == [ROUNDS, ROUNDS]
    assert (pinger.full, full) == (["passed", "passed"], len(PEERS))


def test_one_lost_frame_of_full_size_proves_nothing(ping):
    pinger, full = ping(lambda size, tries: size == 64 or tries == FULL)
    assert (pinger.full, full) == (["passed", "passed"], FULL * len(PEERS))


def test_frames_of_full_size_that_never_pass_are_reported_and_given_up(ping):
    pinger, full = ping(lambda size, tries: size == 64)
    assert (pinger.full, full) == ([None, None], FULL * len(PEERS))


def test_who_answers_nothing_is_not_asked_for_more(ping):
    pinger, full = ping(lambda size, tries: False)
    assert (pinger.times, full) == ([[], []], 0)


def test_what_came_while_a_busy_machine_kept_us_away_is_counted(ping, monkeypatch):
    # Every look at the clock is a minute after the one before: each deadline is over when it is looked at.
    clock = iter(range(0, 10**6, 60))
    monkeypatch.setattr(latency, "now", lambda: next(clock))
    pinger, _ = ping(lambda size, tries: True)
    assert [len(times) for times in pinger.times] == [ROUNDS, ROUNDS]
    assert pinger.full == ["passed", "passed"]


def test_tables_of_our_name_are_reported_where_avadm_made_none(monkeypatch):
    there = {"/usr/sbin/nft"}
    monkeypatch.setattr(packet_filter.os.path, "exists", there.__contains__)
    monkeypatch.setattr(
        packet_filter.glob, "glob", lambda _: ["/etc/systemd/system/sysinit.target.wants/nftables.service"]
    )
    listed = "table ip avadm\ntable ip filter\ntable ip6 avadm\n"
    report = {"others": ["nftables"], "tables": ["ip avadm", "ip6 avadm"]}
    assert packet_filter.filters(lambda *argv: (0, listed, "")) == report
    there.add("/etc/avadm/packet-filter.nft")
    assert packet_filter.filters(lambda *argv: (0, listed, ""))["tables"] == []
