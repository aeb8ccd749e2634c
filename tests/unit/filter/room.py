"""A node in network namespaces of its own: who reaches which of its ports under the rules of a site.

Runs as root in its own network, mount and process namespaces: usage: unshare --net --mount --pid --fork --mount-proc
--kill-child python room.py FOLDER < JOB. The namespace itself is the node; `nodes` has the addresses of all other
nodes, `pod` and `outside` one each. Real are kernel, nft, the program of the role and every connection.
"""

import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = Path(__file__).parents[3] / "roles/packet_filter/files/avadm-packet-filter"
GATE = "169.254.7."
# The role's program, with files of its own folder.
OURS = """#!{python}
import importlib.machinery, sys
program = importlib.machinery.SourceFileLoader("program", "{program}").load_module()
program.KEPT, program.RUN = "{folder}/kept.nft", "{folder}/run"
sys.exit(program.main(sys.argv[1:]))
"""
# Stands in for systemd's timers.
LATER = """#!/bin/sh
while :; do case $1 in --on-active=*) seconds=${1#*=};; --*) ;; *) break;; esac; shift; done
(sleep "$seconds"; "$@") >/dev/null 2>&1 & echo $! > FOLDER/timer
"""
STOP = """#!/bin/sh
case "$1" in stop) kill "$(cat FOLDER/timer)" 2>/dev/null;; esac; exit 0
"""

# Serves TCP and UDP ports at all addresses, until it is killed.
SERVE = """
import select, socket, sys
poll, doors = select.epoll(), {}
for word in sys.argv[1:]:
    kind = socket.SOCK_STREAM if word[0] == "t" else socket.SOCK_DGRAM
    door = socket.socket(socket.AF_INET, kind); door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("", int(word[1:])))
    if kind == socket.SOCK_STREAM: door.listen(64)
    doors[door.fileno()] = (door, kind); poll.register(door, select.EPOLLIN)
print("ready", flush=True)
while True:
    for number, _ in poll.poll():
        door, kind = doors[number]
        if kind == socket.SOCK_STREAM: door.accept()[0].close()
        else: door.sendto(*door.recvfrom(64))
"""
# Which of the ports at an address answer, from each of some addresses: all are asked at the same time.
ASK = """
import errno, json, select, socket, sys, time
job = json.load(sys.stdin); poll, open_, made = select.poll(), {}, {}
for source in job["sources"]:
    for word in job["ports"]:
        kind = socket.SOCK_STREAM if word[0] == "t" else socket.SOCK_DGRAM
        link = socket.socket(socket.AF_INET, kind); link.setblocking(False); link.bind((source, 0))
        link.connect_ex((job["to"], int(word[1:])))
        if kind == socket.SOCK_DGRAM: link.send(b"x")
        made[link.fileno()] = (link, source, word)
        poll.register(link, select.POLLOUT if kind == socket.SOCK_STREAM else select.POLLIN)
until = time.time() + job["wait"]
while made and time.time() < until:
    for number, event in poll.poll(100):
        link, source, word = made.pop(number); poll.unregister(number)
        if not link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR): open_.setdefault(source, []).append(word)
        link.close()
print(json.dumps(open_))
"""


def sh(line, **more):
    """Run a line of shell; it must succeed."""
    done = subprocess.run(["sh", "-ec", line], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout


class Room:
    """The namespaces, and who is in them."""

    def __init__(self, folder, node, others, pod, outside):
        self.folder, self.node = folder, node
        ours = OURS.format(python=sys.executable, program=PROGRAM, folder=folder)
        stubs = {"systemd-run": LATER, "systemctl": STOP, "program": ours}
        for name, text in stubs.items():
            (folder / name).write_text(text.replace("FOLDER", str(folder)))
            (folder / name).chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        self.addresses = {"nodes": others, "pod": [pod], "outside": [outside]}
        sh(f"ip link set lo up; ip address add {node}/32 dev lo")
        for number, (name, held) in enumerate(self.addresses.items(), start=1):
            # The node's end has no address of the site's, so that nothing but routes leads to the others.
            lines = [f"ip netns add {name}", f"ip link add to-{name} type veth peer name wire netns {name}"]
            lines += [f"ip link set to-{name} up", f"ip address add {GATE}{number * 4 + 1}/30 dev to-{name}"]
            lines += [f"ip -n {name} link set lo up", f"ip -n {name} link set wire up"]
            lines += [f"ip -n {name} address add {GATE}{number * 4 + 2}/30 dev wire"]
            lines += [f"ip -n {name} address add {address}/32 dev lo" for address in held]
            lines += [
                f"ip route add {address}/32 via {GATE}{number * 4 + 2} dev to-{name} src {node}"
                for address in held
            ]
            lines += [f"ip -n {name} route add default via {GATE}{number * 4 + 1} dev wire src {held[0]}"]
            sh("\n".join(lines))
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def serve(self, ports, name=""):
        """Have all these ports answer on the node, or in another namespace."""
        argv = [*(["ip", "netns", "exec", name] if name else []), sys.executable, "-c", SERVE, *ports]
        served = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert served.stdout.readline() == "ready\n"

    def ask(self, name, ports, to="", sources=None, wait=1.0):
        """Return address to the ports that answer it; `wait` is how long an answer may take, seconds."""
        given = {
            "sources": sources or self.addresses[name],
            "ports": ports,
            "to": to or self.node,
            "wait": wait,
        }
        line = f'exec ip netns exec {name} {sys.executable} -c "$ASK"'
        return json.loads(sh(line, input=json.dumps(given), env=os.environ | {"ASK": ASK}))

    def program(self, *words, rules=""):
        """Run the node's program; return what it says."""
        (self.folder / "rules.nft").write_text(rules)
        argv = [self.folder / "program", *(self.folder / "rules.nft" if w == "FILE" else w for w in words)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"refused": done.stderr}

    def load(self, rules):
        """Load rules for good; return what was stated of both steps."""
        return self.program("try", "FILE", "600", rules=rules), self.program("keep")


def matrix(room, job):
    """Return who reaches which port of the node, and what its program says then."""
    room.serve(job["ports"])
    room.load(job["rules"])
    with ThreadPoolExecutor() as pool:
        answers = pool.map(lambda name: room.ask(name, job["ports"]), room.addresses)
        rows = {address: words for one in answers for address, words in one.items()}
    return {"open": rows, "status": room.program("status")}


def away(room, job):
    """Return which ports of another node a pod reaches by way of the node, and which the node itself."""
    room.serve(job["ports"], "nodes")
    room.load(job["rules"])
    to = room.addresses["nodes"][0]
    return {"pod": room.ask("pod", job["ports"], to), "outside": room.ask("outside", job["ports"], to)}


def reachable(room):
    """Whether who is outside reaches ssh."""
    return "t22" in room.ask("outside", ["t22"], wait=0.5).get(room.addresses["outside"][0], [])


def revert(room, job):
    """Try rules that cut off who is outside, with and without former ones, and rules that nft does not take."""
    room.serve(["t22"])
    sh("nft add table ip theirs; nft add chain ip theirs input; nft add table ip6 theirs")
    found = {}
    for former in ("", job["good"]):
        if former:
            found["good"] = room.load(former)
            found["again"] = (
                room.program("try", "FILE", "1", rules=former),
                room.program("compare", "FILE", rules=former),
            )
        before = room.program("status")
        tried = room.program("try", "FILE", "2", rules=job["bad"])
        cut = not reachable(room)
        for _ in range(50):
            if not room.program("status")["tried"]:
                break
            time.sleep(0.1)
        late = room.program("keep")
        found["after former" if former else "after none"] = [
            before,
            tried,
            cut,
            reachable(room),
            late,
            room.program("status"),
        ]
    found["broken"] = [
        room.program("try", "FILE", "1", rules="table ip avadm { nonsense }"),
        room.program("status"),
    ]
    sh("nft add rule ip avadm outside tcp dport 9 accept")
    found["by hand"] = [
        room.program("status")["same"],
        *room.load(job["good"]),
        room.program("status")["same"],
    ]
    tries = [room.program("try", "FILE", "600", rules=job["good"] + "# more\n") for _ in range(2)]
    sh("nft add rule ip avadm outside tcp dport 9 accept")
    tries += [room.program("try", "FILE", "600", rules=job["good"]) for _ in range(2)]
    found["twice"] = [*tries, room.program("keep"), room.program("status")["tried"]]
    found["off"] = [room.program("off"), room.program("off"), room.program("status")]
    found["theirs"] = sh("nft list ruleset")
    return found


def going_on(room, job):
    """Load the first rules while there is a connection to a port that they refuse: who is outside continues to speak first."""
    code = (
        "import socket, sys; l = socket.socket(); l.bind(('', 7000)); l.listen(); print('ready', flush=True); c, _ = l.accept(); "
        "c.sendall(b'1'); print(c.recv(1), flush=True)"
    )
    served = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert served.stdout.readline() == "ready\n"
    code = (
        f"import socket; c = socket.create_connection(('{room.node}', 7000)); print(c.recv(1), flush=True); input(); "
        "c.sendall(b'2'); c.recv(1)"
    )
    asks = ["ip", "netns", "exec", "outside", sys.executable, "-c", code]
    client = subprocess.Popen(asks, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdout.readline()
    room.load(job["rules"])
    client.stdin.write("\n")
    client.stdin.flush()
    heard = served.stdout.readline().strip()
    room.serve(["t7001"])
    return {"heard": heard, "new": room.ask("outside", ["t7001"])}


JOBS = {"matrix": matrix, "away": away, "revert": revert, "going on": going_on}


def main(folder):
    """Do a job and print what came of it as JSON."""
    job = json.load(sys.stdin)
    sh("mount -t tmpfs none /run; mkdir /run/netns")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    room = Room(Path(folder), *job["who"])
    print(json.dumps(JOBS[job["do"]](room, job)))


if __name__ == "__main__":
    main(sys.argv[1])
