"""The operator on a real API server of 1.9.11: what it makes is taken, and all of it goes."""

import asyncio
import base64

import pytest

from ava.domain.model import Outcome
from ava.kube.client import Client
from ava.kube.resources import CONFIG_MAPS, NETWORK_POLICIES, PODS, SECRETS, SERVICES
from tests.platform.hollow import Hollow
from tests.unit.ava.operator.fake_cluster import operating, start

KINDS = (PODS, SERVICES, CONFIG_MAPS, SECRETS, NETWORK_POLICIES)
SPACE = "ava-vision"


def on_server(apiserver, db, test, seconds=120):
    async def go():
        async with (
            Client(apiserver.access) as client,
            Client(apiserver.access) as other,
            Hollow(other).running() as nodes,
            operating(client, db),
            asyncio.timeout(seconds),
        ):
            await test(client, nodes)

    asyncio.run(go())


async def of_run(client, kind, run):
    return (await client.list(kind, SPACE, labels=f"ava.io/run={run.id}"))[0]


async def until(wanted):
    while not await wanted():
        await asyncio.sleep(0.1)


async def finished(client, db, run):
    """Wait until a run is finished; nothing of it is left."""

    async def ended():
        return db.runs.get(run.id).finished is not None

    await until(ended)
    left = [thing["metadata"]["name"] for kind in KINDS for thing in await of_run(client, kind, run)]
    assert left == []


def test_a_job_of_50_pods_with_a_name_of_200_characters(apiserver, db):
    async def test(client, nodes):
        roles = [{"name": "ps", "replicas": 10}, {"name": "worker", "replicas": 40, "command": ["sleep"]}]
        run = start(db, name="n" * 200, roles=roles, distributed="tensorflow", tensorboard=True)

        async def running():
            return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"] * 50

        await until(running)
        pods = await of_run(client, PODS, run)
        assert {p["metadata"]["annotations"]["ava.io/name"] for p in pods} == {"n" * 200}
        assert len(await of_run(client, SERVICES, run)) == 2
        db.runs.stop(run.id, run.admitted, by="ann")
        await finished(client, db, run)
        assert db.runs.get(run.id).outcome is Outcome.STOPPED

    on_server(apiserver, db, test)


def test_what_confines_a_pod_is_kept_by_this_server(apiserver, db):
    """1.9 drops fields that it does not know without a word: what matters is looked for in what it gives back."""

    async def test(client, nodes):
        run = start(
            db,
            command=["sh", "-c", "echo $(HOME) $$"],
            env={"A": "$(HOME)", "NVIDIA_VISIBLE_DEVICES": "all"},
        )

        async def made():
            return bool(await of_run(client, PODS, run))

        await until(made)
        pod = (await of_run(client, PODS, run))[0]
        spec, main = pod["spec"], pod["spec"]["containers"][0]
        user = db.users.get("ann")
        assert spec["automountServiceAccountToken"] is False
        assert not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
        assert spec["securityContext"]["runAsUser"] == user.uid >= 1000
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["supplementalGroups"] == [db.groups.get("vision").gid]
        assert main["securityContext"]["allowPrivilegeEscalation"] is False
        assert main["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert [v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v] == ["/usr/lib/ava/init"]
        assert main["command"][0] == "/.ava-init"
        assert main["command"][-1] == "echo $$(HOME) $$$$"
        env = {e["name"]: e["value"] for e in main["env"]}
        assert ("A" in env, env["NVIDIA_VISIBLE_DEVICES"]) == (False, "void")
        (named,) = main["envFrom"]
        kept = await client.get(SECRETS, named["secretRef"]["name"], SPACE)
        assert base64.b64decode(kept["data"]["A"]) == b"$(HOME)"
        policies = {p["metadata"]["name"]: p["spec"] for p in (await client.list(NETWORK_POLICIES, SPACE))[0]}
        assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        own = [{"podSelector": {"matchLabels": {"ava.io/run": run.id}}}]
        assert policies[f"run-{run.id}"]["egress"] == [{"to": own}]
        db.runs.stop(run.id, run.admitted, by="ann")
        await finished(client, db, run)

    on_server(apiserver, db, test)


def test_an_mpi_run_has_keys_of_its_own_and_its_host_list(apiserver, db):
    async def test(client, nodes):
        roles = [
            {"name": "launcher", "command": ["mpirun", "x"]},
            {"name": "worker", "replicas": 3, "each": {"gpu": 2}},
        ]
        git = {"url": "https://git.example.org/x.git", "commit": "a" * 40}
        run = start(db, roles=roles, distributed="mpi", git=git)

        async def made():
            return len(await of_run(client, PODS, run)) == 4

        await until(made)
        secret = (await of_run(client, SECRETS, run))[0]["data"]
        assert base64.b64decode(secret["key"]).startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
        assert base64.b64decode(secret["known_hosts"]).startswith(b"ava-run ssh-ed25519 ")
        hostfile = (await of_run(client, CONFIG_MAPS, run))[0]["data"]["hostfile"].splitlines()
        assert [line.split(" ")[1] for line in hostfile] == ["slots=2"] * 3
        assert hostfile[0].startswith(f"{run.id}-0-worker-0.run-{run.id}-0.{SPACE}.svc.cluster.local ")
        pods = {p["metadata"]["name"]: p["spec"] for p in await of_run(client, PODS, run)}
        assert [c["name"] for c in pods[f"{run.id}-0-launcher-0"]["initContainers"]] == ["code", "peers"]
        db.runs.stop(run.id, run.admitted, by="ann")
        await finished(client, db, run)

    on_server(apiserver, db, test)


@pytest.mark.slow
def test_a_restart_of_the_server_in_the_middle_of_a_run_is_survived(apiserver, db):
    async def test(client, nodes):
        run = start(db, command=["sleep"], roles=[{"name": "worker", "replicas": 3}])

        async def running():
            return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"] * 3

        await until(running)
        await asyncio.to_thread(apiserver.restart)
        db.runs.stop(run.id, run.admitted, by="ann")
        await finished(client, db, run)

    on_server(apiserver, db, test)


def test_what_does_not_carry_its_label_is_never_touched(apiserver, db):
    async def test(client, nodes):
        run = start(db, command=["sleep"])

        async def running():
            return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"]

        await until(running)
        foreign = {"metadata": {"name": "foreign", "labels": {"ava.io/run": run.id}}}
        await client.create(CONFIG_MAPS, foreign, SPACE)
        db.runs.stop(run.id, run.admitted, by="ann")

        async def ended():
            return db.runs.get(run.id).finished is not None

        await until(ended)
        assert (await client.get(CONFIG_MAPS, "foreign", SPACE))["metadata"]["labels"] == {
            "ava.io/run": run.id
        }
        await client.delete(CONFIG_MAPS, "foreign", SPACE)

    on_server(apiserver, db, test)
