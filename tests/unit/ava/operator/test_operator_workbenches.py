"""Workbenches: their keys, token and Service are made with the pod, the same at each run, and follow the user's keys."""

import base64
import json

import pytest
from cryptography.fernet import Fernet

from ava.domain.model import Kind, Outcome, Phase
from ava.operator.manifests.workbench_files import KEYS
from tests.unit.ava.operator.fake_cluster import in_room, now, settings, start

ONE, TWO = "ssh-ed25519 AAAAone", "ssh-ed25519 AAAAtwo"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(Fernet.generate_key())
    doors = [{"namespaceSelector": {"matchLabels": {"app": "ava"}}}]
    reply = settings()
    network = reply.network.model_copy(update={"doors": tuple(doors)})
    return reply.model_copy(update={"sealing_keys": path, "network": network})


def bench(db, **more):
    return start(db, kind=Kind.WORKBENCH, name="bench", **more)


def data(room, run):
    """Return the files of the run's Secret."""
    found = [s for s in room.api.all("secrets") if s["metadata"]["name"].endswith("-bench")]
    mine = [s for s in found if s["metadata"]["labels"]["ava.io/run"] == run.id]
    if not mine:
        return {}
    secret = mine[0]
    kept = {k: base64.b64decode(v).decode() for k, v in secret.get("data", {}).items()}
    return kept | secret.get("stringData", {})


def running(room, run):
    return room.phases(run) == ["Running"]


def test_a_workbench_gets_its_keys_token_and_service(db, config):
    async def test(room):
        db.keys.put("ann", "ssh", "laptop", ONE, now())
        run = bench(db)
        await room.until(lambda: running(room, run))
        files = data(room, run)
        assert files["authorized_keys"] == f"{ONE}\n"
        assert "PRIVATE KEY" in files["host_key"]
        token = json.loads(files["jupyter_server_config.json"])["IdentityProvider"]["token"]
        assert len(token) > 40
        kept = db.workbenches.get(run.definition)
        assert token not in str(kept)
        assert "PRIVATE" not in str(kept)
        assert kept.host_public.startswith("ssh-ed25519 ")
        service = next(s for s in room.api.all("services") if s["metadata"]["name"] == f"wb-{run.definition}")
        assert service["spec"]["selector"] == {"ava.io/run": run.id}
        container = room.pods(run)[0]["spec"]["containers"][0]
        assert container["command"][-2:] == ["/bin/sh", "/etc/ava/bench/start"]
        assert token not in json.dumps(room.pods(run))
        policy = next(p for p in room.api.all("networkpolicies") if p["metadata"]["name"] == f"run-{run.id}")
        doors = policy["spec"]["ingress"][-1]
        assert doors["from"] == list(config.network.doors)
        assert [p["port"] for p in doors["ports"]] == [8888, 2222]

    in_room(db, test, config=config)


def test_host_key_and_token_are_the_same_at_the_next_run_and_nothing_of_a_run_is_left(db, config):
    async def test(room):
        first = bench(db)
        await room.until(lambda: running(room, first))
        before = data(room, first)
        db.runs.stop(first.id, now(), by="ann")
        await room.until(lambda: room.finished(first))
        assert room.left() == []
        second = bench(db)
        await room.until(lambda: running(room, second))
        after = data(room, second)
        assert second.definition == first.definition
        for name in ("host_key", "jupyter_server_config.json"):
            assert after[name] == before[name]

    in_room(db, test, config=config)


def test_changed_keys_reach_the_pod(db, config):
    async def test(room):
        run = bench(db)
        await room.until(lambda: running(room, run))
        assert data(room, run)["authorized_keys"] == ""
        db.keys.put("ann", "ssh", "laptop", ONE, now())
        db.keys.put("ann", "ssh", "desk", TWO, now())
        await room.until(lambda: data(room, run)["authorized_keys"] == f"{ONE}\n{TWO}\n")
        db.keys.delete("ann", "ssh", "laptop")
        await room.until(lambda: data(room, run)["authorized_keys"] == f"{TWO}\n")
        secret = next(s for s in room.api.all("secrets") if s["metadata"]["name"].endswith("-bench"))
        reply = secret["metadata"]["annotations"][KEYS]
        await room.until(lambda: room.pods(run)[0]["metadata"]["annotations"].get(KEYS) == reply)
        assert "PRIVATE KEY" in data(room, run)["host_key"]

    in_room(db, test, config=config)


def test_without_sealing_keys_a_workbench_fails_and_says_why(db):
    async def test(room):
        run = bench(db)
        await room.until(lambda: room.run(run).phase is Phase.FINISHED)
        assert room.run(run).outcome is Outcome.FAILED
        assert "sealing_keys" in room.run(run).reason
        assert room.left() == []

    in_room(db, test)
