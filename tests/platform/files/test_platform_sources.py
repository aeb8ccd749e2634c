"""Data sets from elsewhere on a real API server of 1.9.11: what is asked for and made is taken as meant, and no right is more."""

import asyncio

import pytest

from ava.db.database import open_database
from ava.domain.data_sets import ExternalSource, nfs_volume
from ava.domain.folders import Folder, FolderKind
from ava.files.snapshots import Snapshots
from ava.kube.client import Client
from ava.kube.errors import Denied
from ava.kube.resources import CLAIMS, EVENTS, NAMESPACES, PODS, SECRETS, Kind
from tests.platform.hollow import Hollow
from tests.platform.operator.test_platform_operator import SPACE, finished, until
from tests.unit.ava import migrated_database
from tests.unit.ava.operator.fake_cluster import furnish, now, operating, settings, start
from tests.unit.site.test_render_ava import objects

SYSTEM = "ava-system"
RBAC = "rbac.authorization.k8s.io/v1"
POLICIES = Kind("extensions/v1beta1", "PodSecurityPolicy", "podsecuritypolicies", False)
MORE = {"ava_mount": "/mnt/cephfs", "ava_snapshots": True, "ava_nfs_servers": ["nfs.test"]}
SOURCE = {"kind": "rbd", "image": "faces", "snapshot": "v1"}
BASE = settings()
SHARED = BASE.model_copy(update={"pods": BASE.pods.model_copy(update={"mount": "/mnt/cephfs"})})


@pytest.fixture
def db(tmp_path):
    made = open_database(migrated_database.copied(tmp_path))
    furnish(made)
    yield made
    made.close()


async def denied(request):
    with pytest.raises(Denied):
        await request


def test_the_storage_asks_for_volumes_in_its_own_namespace_and_may_nothing_else(apiserver, db, tmp_path):
    account = apiserver.account(f"system:serviceaccount:{SYSTEM}:storage")
    manifests = objects(tmp_path, "storage.yml.j2", **MORE)

    async def test():
        async with Client(apiserver.access) as admin, Client(account) as storage:
            for space in (SYSTEM, "default"):
                await admin.ensure(NAMESPACES, {"metadata": {"name": space}})
            for kind, plural in (("Role", "roles"), ("RoleBinding", "rolebindings")):
                await admin.ensure(Kind(RBAC, kind, plural), manifests[f"{kind} storage"], SYSTEM)
            one = db.data_sets.create("ann", "faces", SOURCE, now()).id
            it = Snapshots(db, storage, SYSTEM, now)
            await it.look()
            claim = await admin.get(CLAIMS, f"data-{one}", SYSTEM)
            assert claim["metadata"]["annotations"]["avadm.io/clone-of-snapshot"] == "faces@v1"
            assert claim["spec"]["accessModes"] == ["ReadOnlyMany"]
            # As the provisioner tells it.
            event = {
                "metadata": {"generateName": "avadm-volumes-", "namespace": SYSTEM},
                "involvedObject": {"kind": "PersistentVolumeClaim", "uid": claim["metadata"]["uid"]}
                | {"name": f"data-{one}", "namespace": SYSTEM, "apiVersion": "v1"},
                "type": "Warning",
                "reason": "ProvisioningFailed",
                "message": "there is no image rbd/faces",
                "source": {"component": "avadm.io/rbd"},
                "count": 1,
                "lastTimestamp": "2026-11-24T10:00:00Z",
            }
            await admin.create(EVENTS, event, SYSTEM)
            await it.look()
            assert db.external_sources.get(one).trouble == "there is no image rbd/faces"
            # As the volume controller binds it.
            volume = f"pvc-{claim['metadata']['uid']}"
            await admin.patch(CLAIMS, f"data-{one}", {"spec": {"volumeName": volume}}, SYSTEM)
            await admin.patch(CLAIMS, f"data-{one}", {"status": {"phase": "Bound"}}, SYSTEM, sub="status")
            await it.look()
            assert db.external_sources.get(one) == ExternalSource(one, volume)
            await denied(storage.list(CLAIMS, SYSTEM))
            await denied(storage.list(SECRETS, SYSTEM))
            await denied(storage.create(CLAIMS, {"metadata": {"name": "x"}}, "default"))
            await denied(storage.patch(CLAIMS, f"data-{one}", {"metadata": {"annotations": {}}}, SYSTEM))
            db.data_sets.delete(one, now())
            await it.look()
            await it.look()
            assert db.external_sources.list("rbd") == []
            assert (await admin.list(CLAIMS, SYSTEM))[0] == []

    asyncio.run(test())


def test_pods_have_the_volumes_of_the_nodes_driver_as_they_were_meant(apiserver, db, tmp_path):
    policy = objects(tmp_path, "base.yml.j2", **MORE)["PodSecurityPolicy ava-runs"]

    async def test():
        async with (
            asyncio.timeout(100),
            Client(apiserver.access) as client,
            Client(apiserver.access) as other,
            Hollow(other).running(),
            operating(client, db, SHARED),
        ):
            kept = (await client.ensure(POLICIES, policy))["spec"]
            assert kept["allowedFlexVolumes"] == [{"driver": "avadm/volume"}], "1.9 knows the field"
            assert "flexVolume" in kept["volumes"]
            big = db.data_sets.create("ann", "big", SOURCE, now()).id
            db.external_sources.record(ExternalSource(big, "pvc-0f8fad5b-d9cb-469f-a165-70867728950e"))
            export = {"kind": "nfs", "server": "nfs.test", "path": "/export"}
            db.data_sets.create("ann", "old", export, now())
            for kind, name in ((FolderKind.USER, "ann"), (FolderKind.GROUP, "vision")):
                db.folders.record(Folder(kind, name, now()))
            run = start(db, command=["sleep"], data_sets=[{"name": "big"}, {"name": "old"}])

            async def running():
                return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"]

            await until(running)
            ((pod,), _) = await client.list(PODS, SPACE, labels=f"ava.io/run={run.id}")
            driven = {v["name"]: v["flexVolume"] for v in pod["spec"]["volumes"] if "flexVolume" in v}
            assert {name: (v["driver"], v["readOnly"]) for name, v in driven.items()} == {
                "pvc-0f8fad5b-d9cb-469f-a165-70867728950e": ("avadm/volume", True),
                nfs_volume("nfs.test", "/export"): ("avadm/volume", True),
            }
            options = driven[nfs_volume("nfs.test", "/export")]["options"]
            assert options == {"kind": "nfs", "server": "nfs.test", "path": "/export", "access": "ro"}
            assert pod["spec"]["nodeSelector"]["avadm.io/nfs"] == "yes"
            db.runs.stop(run.id, now(), by="ann")
            await finished(client, db, run)

    asyncio.run(test())
