"""The client against what an API server of 1.9.11 answers, and against one that answers badly."""

import asyncio

import pytest

from ava.kube.access import Access, InvalidKubeconfig
from ava.kube.client import Client
from ava.kube.errors import AlreadyExists, Conflict, Fenced, Gone, Invalid, NotFound, Unavailable
from ava.kube.resources import NAMESPACES, NODES, PODS, Kind
from tests.unit.ava.kube.fake_api import FakeApi, Fault


def on_fake(test):
    """Run ``test(api, client)`` on a server of its own."""

    async def go():
        api = FakeApi()
        async with api.serve() as access, Client(access, timeout=2.0) as client:
            await client.create(NAMESPACES, {"metadata": {"name": "x"}})
            await test(api, client)

    asyncio.run(go())


def pod(name="p", **labels):
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "m", "image": "i"}]},
    }


def test_an_object_is_made_read_changed_and_removed():
    async def test(api, client):
        made = await client.create(PODS, pod(a="b"), "x")
        assert made["kind"] == "Pod"
        changed = await client.patch(PODS, "p", {"metadata": {"labels": {"a": None, "c": "d"}}}, "x")
        assert changed["metadata"]["labels"] == {"c": "d"}
        assert await client.delete(PODS, "p", "x") is True
        assert await client.delete(PODS, "p", "x") is False
        with pytest.raises(NotFound):
            await client.get(PODS, "p", "x")

    on_fake(test)


def test_what_is_there_already_and_what_has_changed_are_distinguished():
    async def test(api, client):
        made = await client.create(PODS, pod(), "x")
        with pytest.raises(AlreadyExists):
            await client.create(PODS, pod(), "x")
        await client.patch(PODS, "p", {"metadata": {"labels": {"n": "1"}}}, "x")
        with pytest.raises(Conflict) as caught:
            await client.replace(PODS, made, "x")
        assert not isinstance(caught.value, AlreadyExists)

    on_fake(test)


def test_a_list_comes_whole_although_it_is_asked_for_in_pages():
    async def test(api, client):
        for n in range(7):
            await client.create(PODS, pod(f"p{n}"), "x")
        found, version = await client.list(PODS, limit=3)
        assert [p["metadata"]["name"] for p in found] == [f"p{n}" for n in range(7)]
        assert version == str(api.version)
        assert sum(path.endswith("/pods") and verb == "GET" for verb, path in api.log) == 3

    on_fake(test)


def test_a_list_whose_first_page_is_too_old_comes_whole_and_once():
    async def test(api, client):
        for n in range(7):
            await client.create(PODS, pod(f"p{n}"), "x")
        api.after = lambda verb, path: api.forget() if verb == "GET" else None
        found, _ = await client.list(PODS, limit=3)
        assert [p["metadata"]["name"] for p in found] == [f"p{n}" for n in range(7)]

    on_fake(test)


def test_only_the_object_with_the_uid_is_removed():
    async def test(api, client):
        first = await client.create(PODS, pod(), "x")
        await client.delete(PODS, "p", "x")
        await client.create(PODS, pod(), "x")
        with pytest.raises(Conflict):
            await client.delete(PODS, "p", "x", uid=first["metadata"]["uid"])
        assert len(api.all("pods")) == 1

    on_fake(test)


def test_a_bind_whose_reply_is_a_status_is_done():
    async def test(api, client):
        made = await client.create(PODS, pod(), "x")
        assert await client.bind("x", "p", made["metadata"]["uid"], "n1", {"a": "b"}) is True
        assert api.all("pods")[0]["spec"]["nodeName"] == "n1"
        assert api.all("pods")[0]["metadata"]["annotations"] == {"a": "b"}

    on_fake(test)


@pytest.mark.parametrize("node, wanted", [("n1", True), ("n2", False)])
def test_a_bind_whose_reply_was_lost_is_looked_at_not_repeated(node, wanted):
    async def test(api, client):
        made = await client.create(PODS, pod(), "x")
        lost = []

        def lose(verb, path):
            if path.endswith("/binding") and not lost:
                lost.append(path)
                api.collections["pods"]["x", "p"]["spec"]["nodeName"] = node
                raise Fault(503, "ServiceUnavailable")

        api.after = lose
        assert await client.bind("x", "p", made["metadata"]["uid"], "n1") is wanted
        assert sum(path.endswith("/binding") for _, path in api.log) == 1

    on_fake(test)


def test_a_pod_that_is_gone_another_or_bound_elsewhere_is_not_bound():
    async def test(api, client):
        assert await client.bind("x", "p", "uid", "n1") is False
        made = await client.create(PODS, pod(), "x")
        await client.bind("x", "p", made["metadata"]["uid"], "n1")
        assert await client.bind("x", "p", made["metadata"]["uid"], "n2") is False
        assert await client.bind("x", "p", "another", "n1") is False

    on_fake(test)


def test_a_read_is_repeated_while_the_server_is_away_and_a_write_is_not():
    async def test(api, client):
        left = {"GET": 2, "POST": 2}

        def away(verb, path):
            if left.get(verb, 0) > 0:
                left[verb] -= 1
                raise Fault(503, "ServiceUnavailable", "etcd is away")

        api.before = away
        assert (await client.get(NAMESPACES, "x"))["metadata"]["name"] == "x"
        with pytest.raises(Unavailable, match="etcd is away"):
            await client.create(PODS, pod(), "x")
        assert left == {"GET": 0, "POST": 1}

    on_fake(test)


def test_a_server_that_does_not_answer_in_time_is_unavailable():
    async def test(api, client):
        client.timeout = 0.1
        api.before = lambda verb, path: asyncio.sleep(5)
        with pytest.raises(Unavailable, match="no reply in time"):
            await client.create(PODS, pod(), "x")
        api.before = None

    on_fake(test)


def test_no_one_at_the_other_end_is_unavailable_and_no_error_names_the_token():
    async def go():
        async with Client(Access(server="http://127.0.0.1:1", token="secret-token")) as client:
            with pytest.raises(Unavailable) as caught:
                await client.create(PODS, pod(), "x")
            assert "secret-token" not in str(caught.value)
            assert "secret-token" not in repr(client.access)

    asyncio.run(go())


def test_a_write_without_the_lead_is_not_sent():
    async def test(api, client):
        def guard():
            raise Fenced("not the leader")

        api.log.clear()
        with pytest.raises(Fenced):
            await client.guarded(guard).create(PODS, pod(), "x")
        assert api.log == []
        assert (await client.guarded(guard).get(NAMESPACES, "x"))["metadata"]["name"] == "x"

    on_fake(test)


def test_what_the_server_will_never_take_is_distinguished_from_what_passes():
    async def test(api, client):
        def refuse(verb, path):
            raise Fault(422, "Invalid", "metadata.name: wrong")

        api.before = refuse
        with pytest.raises(Invalid, match=r"metadata\.name: wrong"):
            await client.create(PODS, pod(), "x")

        def gone(verb, path):
            raise Fault(410, "Gone")

        api.before = gone
        with pytest.raises(Gone):
            await client.list(PODS)

    on_fake(test)


@pytest.mark.parametrize(
    "kind, space, name", [(PODS, "x", ""), (PODS, "", "p"), (PODS, None, "p"), (NODES, None, "")]
)
def test_an_empty_name_never_means_the_whole_collection(kind, space, name):
    with pytest.raises(ValueError):
        kind.path(space, name)


def test_a_name_cannot_leave_its_place_in_the_path():
    assert PODS.path("x", "../../nodes/n1") == "/api/v1/namespaces/x/pods/..%2F..%2Fnodes%2Fn1"
    assert Kind("a.io/v1", "T", "ts", False).path() == "/apis/a.io/v1/ts"


@pytest.mark.parametrize(
    "server", ["http://example.org:8080", "ftp://x", "", "http://127.0.0.1.example.org:1"]
)
def test_a_server_without_tls_is_refused(server):
    with pytest.raises(InvalidKubeconfig):
        Access(server=server)
