"""What stolen tokens of operator and scheduler can do on a real API server, with the rights that the role ava gives them."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from ava.kube.client import Client
from ava.kube.errors import Denied
from ava.kube.resources import (
    CONFIG_MAPS,
    INGRESSES,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    SECRETS,
    SERVICES,
    Kind,
)
from ava.scheduler.config import Rights
from ava.scheduler.rbac import RoleBinder
from tests.platform.hollow import Hollow
from tests.platform.operator.test_platform_operator import SPACE, until
from tests.unit.ava.operator.fake_cluster import now, operating, start
from tests.unit.site.test_render_ava import objects

RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER = {
    "ClusterRole": Kind(RBAC, "ClusterRole", "clusterroles", False),
    "ClusterRoleBinding": Kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", False),
}
OTHERS = ("kube-system", "ava-system", "default")
POD = {"containers": [{"name": "c", "image": "i"}]}


@asynccontextmanager
async def platform(apiserver, db, tmp_path):
    """Give clients of the administrator, the operator and the scheduler, both of whom are at work with their own rights."""
    names = [f"system:serviceaccount:ava-system:{part}" for part in ("operator", "scheduler")]
    accounts = [apiserver.account(name) for name in names]
    async with (
        Client(apiserver.access) as admin,
        Client(apiserver.access) as kubelets,
        Client(accounts[0]) as operator,
        Client(accounts[1]) as scheduler,
    ):
        for name in OTHERS:
            await admin.ensure(NAMESPACES, {"metadata": {"name": name}})
            await admin.ensure(SECRETS, {"metadata": {"name": "theirs"}, "stringData": {"a": "b"}}, name)
        for made in objects(tmp_path, "base.yml.j2").values():
            if made["kind"] in CLUSTER:
                await admin.ensure(CLUSTER[made["kind"]], made)
        binder = asyncio.create_task(RoleBinder(scheduler, db, Rights()).run())
        try:
            async with Hollow(kubelets).running(), operating(operator, db):
                yield admin, operator, scheduler
        finally:
            binder.cancel()
            with suppress(asyncio.CancelledError):
                await binder


async def denied(request):
    with pytest.raises(Denied):
        await request


def test_a_stolen_token_of_the_operator_reads_no_secret_of_others_and_makes_nothing_there(
    apiserver, db, tmp_path
):
    async def test():
        async with (
            asyncio.timeout(100),
            platform(apiserver, db, tmp_path) as (admin, operator, _),
        ):
            # It can do its own work: this run needs a Secret of its own.
            roles = [{"name": "launcher"}, {"name": "worker", "replicas": 2}]
            run = start(db, command=["sleep"], roles=roles, distributed="mpi")

            async def running():
                return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"] * 3

            await until(running)
            assert (await operator.get(SECRETS, f"run-{run.id}-0-ssh", SPACE))["data"]
            await denied(operator.list(SECRETS))
            binding = {
                "metadata": {"name": "mine"},
                "roleRef": {"apiGroup": RBAC[:-3], "kind": "ClusterRole", "name": "ava:operator-group"},
                "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": "ava-system"}],
            }
            for space in (*OTHERS, SPACE):
                await denied(operator.create(ROLE_BINDINGS, binding, space))
            await denied(operator.create(CLUSTER["ClusterRoleBinding"], binding))
            for space in OTHERS:
                await denied(operator.list(SECRETS, space))
                await denied(operator.get(SECRETS, "theirs", space))
                for kind, body in ((PODS, POD), (SERVICES, {}), (CONFIG_MAPS, None), (INGRESSES, {})):
                    made = {"metadata": {"name": "x"}} | ({"spec": body} if body is not None else {})
                    await denied(operator.create(kind, made, space))
                # With the label and name of a group's it would be bound there.
                marks = {"metadata": {"labels": {"ava.io/managed": "true", "ava.io/group": "system"}}}
                await denied(operator.patch(NAMESPACES, space, marks))
            db.runs.stop(run.id, now(), by="ann")

            async def ended():
                return db.runs.get(run.id).finished is not None

            await until(ended)
            assert (await admin.list(SECRETS, SPACE))[0] == []

    asyncio.run(test())


def test_a_namespace_that_is_no_group_s_of_the_database_is_never_bound(apiserver, db, tmp_path):
    async def test():
        async with (
            asyncio.timeout(100),
            platform(apiserver, db, tmp_path) as (admin, operator, scheduler),
        ):
            for name, group in (("ava-evil", "evil"), ("evil", "vision"), ("ava-x", "vision")):
                marks = {"ava.io/managed": "true", "ava.io/group": group}
                await admin.ensure(NAMESPACES, {"metadata": {"name": name, "labels": marks}})
            run = start(db, command=["sleep"])

            async def running():
                return [p.phase for p in db.pods.list([run.id])[run.id]] == ["Running"]

            await until(running)
            for name in ("ava-evil", "evil", "ava-x"):
                assert (await admin.list(ROLE_BINDINGS, name))[0] == []
                await denied(operator.list(SECRETS, name))
            # The scheduler itself reads none, and can give away that one role alone.
            await denied(scheduler.list(SECRETS, SPACE))
            binding = {
                "metadata": {"name": "more"},
                "roleRef": {"apiGroup": RBAC[:-3], "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": "scheduler", "namespace": "ava-system"}],
            }
            await denied(scheduler.create(ROLE_BINDINGS, binding, SPACE))
            db.runs.stop(run.id, now(), by="ann")

            async def ended():
                return db.runs.get(run.id).finished is not None

            await until(ended)

    asyncio.run(test())


def test_a_run_that_is_stopped_before_its_namespace_was_ever_made_ends(apiserver, db, tmp_path):
    async def test():
        db.groups.create("audio", db.groups.get("vision").quota, now())
        db.groups.add_member("audio", "ann", now())
        db.users.set_default_group("ann", "audio")
        run = start(db, command=["sleep"])
        db.runs.stop(run.id, now(), by="ann")
        async with asyncio.timeout(60), platform(apiserver, db, tmp_path):

            async def ended():
                return db.runs.get(run.id).finished is not None

            await until(ended)

    asyncio.run(test())


def test_the_namespace_of_a_group_that_was_deleted_goes(apiserver, db, tmp_path):
    async def test():
        async with (
            asyncio.timeout(100),
            platform(apiserver, db, tmp_path) as (admin, _, _),
        ):
            db.groups.create("gone", db.groups.get("vision").quota, now())
            db.groups.add_member("gone", "ann", now())
            db.users.set_default_group("ann", "gone")
            run = start(db, command=["exit-0"], name="last")

            async def ended():
                return db.runs.get(run.id).finished is not None

            await until(ended)
            db.groups.remove_member("gone", "ann", now())
            assert not (await admin.get(NAMESPACES, "ava-gone"))["metadata"].get("deletionTimestamp")
            db.groups.delete("gone", now())

            async def going():
                # No controller ends it here; what is in it goes with it.
                return bool((await admin.get(NAMESPACES, "ava-gone"))["metadata"].get("deletionTimestamp"))

            await until(going)
            assert not (await admin.get(NAMESPACES, SPACE))["metadata"].get("deletionTimestamp")

    asyncio.run(test())
