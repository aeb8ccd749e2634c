"""Two operator processes on a real API server; the one that leads is killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from ava.db.database import migrate, open_database
from ava.domain.model import Outcome
from ava.kube.client import Client
from ava.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.platform.apiserver import free_port
from tests.platform.hollow import Hollow
from tests.unit.ava.operator.fake_cluster import furnish, start


def write_settings(folder, apiserver, url, port):
    settings = {"database": {"url": url}, "kubeconfig": str(apiserver.kubeconfig), "port": port}
    path = folder / f"operator-{port}.yml"
    path.write_text(yaml.safe_dump(settings))
    return path


def spawn(path, log):
    with log.open("ab") as file:
        argv = [sys.executable, "-m", "ava.operator", "--config", str(path)]
        return subprocess.Popen(argv, stdout=file, stderr=file, env=os.environ | {"PYTHONPATH": "."})


@pytest.mark.slow
def test_the_second_goes_on_within_30_seconds_when_the_first_is_killed(apiserver, tmp_path):
    url = f"sqlite:///{tmp_path / 'database.db'}"
    migrate(url)
    db = open_database(url)
    furnish(db)

    async def holder(client):
        try:
            thing = await client.get(CONFIG_MAPS, "ava-operator", "ava-system")
        except Exception:
            return ""
        reply = yaml.safe_load((thing["metadata"].get("annotations") or {}).get("ava.io/leader", "{}"))
        return reply.get("holder", "")

    async def until(wanted, seconds=60):
        async with asyncio.timeout(seconds):
            while not await wanted():
                await asyncio.sleep(0.1)

    async def test():
        async with Client(apiserver.access) as client, Client(apiserver.access) as other:
            await client.ensure(NAMESPACES, {"metadata": {"name": "ava-system"}})
            ports = [free_port(), free_port()]
            log = tmp_path / "operator.log"
            processes = [spawn(write_settings(tmp_path, apiserver, url, port), log) for port in ports]
            try:
                async with Hollow(other).running():
                    run = start(db, command=["sleep"])

                    async def running():
                        return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"]

                    await until(running)
                    holds = await holder(client)
                    leader = next(p for p in processes if f"_{p.pid}_" in holds)
                    leader.send_signal(signal.SIGKILL)
                    began = time.monotonic()
                    db.runs.stop(run.id, run.admitted, by="ann")

                    async def ended():
                        return db.runs.get(run.id).finished is not None

                    await until(ended)
                    took = time.monotonic() - began
                    assert db.runs.get(run.id).outcome is Outcome.STOPPED
                    assert took < 30, took
                    print(f"finished {took:.1f} s after the leader was killed")
                    survivor = next(p for p in processes if p is not leader)
                    survivor.send_signal(signal.SIGTERM)
                    await asyncio.to_thread(survivor.wait, 10)
                    assert survivor.returncode == 0, log.read_text()[-2000:]
                    assert await holder(client) == ""
            finally:
                for process in processes:
                    process.kill()
                    process.wait()

    try:
        asyncio.run(test())
    finally:
        db.close()
