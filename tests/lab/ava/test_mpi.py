"""MPI over ssh between the pods of one run, in the image that the site offers; no one else gets into them."""

import time

import pytest

from tests.lab.ava.user_journey import ENDED, SMALL

pytestmark = pytest.mark.lab
EACH = {**SMALL, "memory": 192 * 2**20}
RANKS = (
    "import platform\n"
    "from mpi4py import MPI\n"
    "world = MPI.COMM_WORLD\n"
    "received = (world.allreduce(world.rank + 1), platform.node())\n"
    "all = world.gather(received)\n"
    "if world.rank == 0:\n"
    "    for sum, node in all: print('sum', sum, 'on', node, flush=True)\n"
)
KNOCK = "timeout 3 bash -c 'exec 3<>/dev/tcp/{}/2222' 2>/dev/null && echo {} open || echo {} closed"
STRANGER = "ssh -F none -i /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -p 2222 {} id"


def start(day, name, command):
    """Start a run of a launcher with this command and two workers."""
    roles = [
        {"name": "launcher", "each": EACH, "command": ["bash", "-c", command], "ends_run": True},
        {"name": "worker", "replicas": 2, "each": EACH},
    ]
    return day.user.start(name, {"image": "ava-base", "distributed": "mpi", "roles": roles}).id


def test_mpirun_starts_its_processes_in_the_other_pods_of_the_run(day):
    run = start(day, "mpi", f'mpirun python3 -c "{RANKS}"')
    day.succeeded(run)
    lines = day.log(run, 2, start="sum")
    hosts = {line.split()[3] for line in lines}
    assert [line.split()[1] for line in lines] == ["3", "3"]
    assert len(hosts) == 2
    assert all("-worker-" in host for host in hosts), "the launcher computes nothing"


def test_no_one_but_the_run_itself_gets_into_its_pods(day, platform):
    run = start(day, "mpi-closed", "until [ -e /tmp/over ]; do sleep 1; done")
    day.until(run, "running")
    space = f"ava-{day.group}"
    found = platform.ctl(f"get pods --namespace={space} --selector=ava.io/run={run}")["items"]
    until = time.monotonic() + 60
    while not all(p["status"].get("podIP") for p in found):
        assert time.monotonic() < until
        time.sleep(1)
        found = platform.ctl(f"get pods --namespace={space} --selector=ava.io/run={run}")["items"]
    workers = [p["status"]["podIP"] for p in found if "-worker-" in p["metadata"]["name"]]
    launcher = next(p["metadata"]["name"] for p in found if "-launcher-" in p["metadata"]["name"])
    knocks = "; ".join(KNOCK.format(a, a, a) for a in workers)
    other = day.user.start(
        "stranger",
        {"image": "ava-base", "command": ["bash", "-c", knocks], "roles": [{"each": EACH}]},
    ).id
    day.succeeded(other)
    assert day.log(other, 2) == [f"{a} closed" for a in workers]
    inside = f"kubectl exec --namespace={space} {launcher} --"
    line = f'{inside} bash -c "{knocks}"'
    assert platform.lab.sh(platform.master, line).split("\n")[:2] == [f"{a} open" for a in workers]
    # And without the run's own key sshd lets no one in, wherever they come from.
    done = platform.lab.run(platform.master, f"{inside} {STRANGER.format(workers[0])}")
    assert "Permission denied (publickey)" in done.stderr + done.stdout
    day.user.stop(run)
    assert day.until(run, *ENDED).outcome == "stopped"
