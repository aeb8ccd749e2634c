"""What a hostile user or a hostile proxy tries: cursors, headers, addresses, the audit log, secrets that leak."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from ava.api.app import frame
from ava.http.middleware import client_address
from ava.operator.ssh_keys import opened
from tests.unit.ava.api.site import SPEC, WORD, Site, codes, problems


def _private(key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey, word: bytes | None = None) -> str:
    sealed = serialization.BestAvailableEncryption(word) if word else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, sealed).decode()


def _public(private: str) -> bytes:
    key = serialization.load_ssh_private_key(private.encode(), None).public_key()
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def test_a_cursor_is_good_for_its_own_list_and_user_alone(site: Site) -> None:
    for i in range(5):
        site.run(name=f"r{i}")
        site.run("ben", name=f"b{i}")
    first = site.call("GET", "/runs?limit=2", "ann").json()
    after = first["next"]
    second = site.call("GET", f"/runs?limit=2&after={after}", "ann").json()
    # Not the last character, whose lowest bits mean nothing.
    changed = f"{after[:-5]}{'b' if after[-5] == 'a' else 'a'}{after[-4:]}"
    assert [r["name"] for r in first["items"] + second["items"]] == ["r4", "r3", "r2", "r1"]
    for path, who in (
        (f"/runs?after={after}", "ben"),
        (f"/runs?phase=queued&after={after}", "ann"),
        (f"/runs?all=true&after={after}", "root2"),
        (f"/definitions?after={after}", "ann"),
        (f"/runs?after={changed}", "ann"),
        (f"/runs?after={'.' + after.partition('.')[2]}", "ann"),
    ):
        answer = site.call("GET", path, who)
        assert (answer.status_code, codes(answer)) == (422, ["cursor-invalid"]), path


def test_every_page_is_bounded_and_all_of_them_are_the_list(site: Site) -> None:
    made = [site.run(name=f"r{i}")["id"] for i in range(7)]
    found: list[str] = []
    after = ""
    while True:
        page = site.call("GET", f"/runs?limit=3{after}", "ann").json()
        assert len(page["items"]) <= 3
        found += [r["id"] for r in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == made[::-1]


def test_headers_of_every_answer_forbid_frames_caches_and_guesses(site: Site) -> None:
    for answer in (
        site.call("GET", "/runs"),
        site.call("GET", "/users/me", "ann"),
        site.call("GET", "/nothing"),
    ):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers


def test_a_line_break_in_what_comes_back_in_a_header_does_not_make_a_header(site: Site) -> None:
    answer = site.call("GET", "/runs/a%0d%0aset-cookie:x=y", "ann")
    assert "set-cookie" not in answer.headers
    assert codes(answer) == ["name-invalid"]
    label = site.call("POST", "/tokens", "ann", json={"label": "a\r\nset-cookie: x=y"})
    assert "set-cookie" not in label.headers
    assert label.status_code == 422


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("198.51.100.1", "10.0.0.9", "198.51.100.1"),
        ("10.1.0.1", "203.0.113.5", "203.0.113.5"),
        ("10.1.0.1", "6.6.6.6, 203.0.113.5", "203.0.113.5"),
        ("10.1.0.1", "6.6.6.6, 203.0.113.5, 10.1.0.2", "203.0.113.5"),
        ("10.1.0.1", "6.6.6.6\n, evil", "10.1.0.1"),
        ("10.1.0.1", "", "10.1.0.1"),
    ],
)
def test_only_a_trusted_proxy_says_where_a_request_comes_from(peer: str, forwarded: str, found: str) -> None:
    scope = {"client": (peer, 1)}
    assert client_address(scope, forwarded, [ip_network("10.1.0.0/16")]) == found


def test_every_change_and_every_refused_login_is_in_the_audit_log(site: Site) -> None:
    site.call("POST", "/sessions", json={"name": "ann\x1b[31m", "password": "hunter2hunter2"})
    site.call("PUT", "/groups/vision/quota", "root2", json={"gpu": 4, "cpu": None, "memory": None})
    site.call("PUT", "/groups/vision/quota", "ann", json={"gpu": 400})
    run = site.run()["id"]
    site.call("POST", f"/runs/{run}/stop", "root2")
    lines = site.call("GET", "/audit", "root2").json()["items"]
    reports = [(line["who"], line["action"], line["object"], line["outcome"]) for line in lines]
    assert reports == [
        ("root2", "runs.stop", f"run {run}", "done"),
        ("ann", "runs.make", "training mnist", "done"),
        ("ann", "groups.quota", "group vision", "refused"),
        ("root2", "groups.quota", "group vision", "done"),
        ("nobody", "sessions.open", "user ann\N{REPLACEMENT CHARACTER}[31m", "refused"),
    ]
    assert all(line["address"] == "192.0.2.7" for line in lines)
    assert "hunter2" not in str(lines)


def test_nothing_of_the_interface_changes_the_audit_log() -> None:
    found = {path: set(methods) for path, methods in frame_paths().items() if "audit" in path}
    assert found == {"/api/v1/audit": {"get"}}


def frame_paths() -> dict[str, dict[str, object]]:
    return dict(frame(None).openapi()["paths"])  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_the_audit_log_answers_405_to_every_change(site: Site, method: str) -> None:
    assert site.call(method, "/audit", "root2", json={}).status_code == 405


def test_a_deploy_key_is_sealed_and_never_comes_back(site: Site) -> None:
    private = _private(ed25519.Ed25519PrivateKey.generate())
    put = site.call("PUT", "/keys/deploy/github", "ann", json={"private_key": private})
    listed = site.call("GET", "/keys/deploy", "ann")
    kept = site.db.keys.list("ann", "deploy")["github"]
    secret = private.splitlines()[2]
    assert put.status_code == 200
    assert listed.json()[0]["value"].startswith("ssh-ed25519 ")
    assert not any(secret in text for text in (put.text, listed.text, kept, str(site.db.audit.list().items)))
    (site.folder / "keys").write_bytes(site.sealing_key + b"\n")
    assert _public(opened(kept, site.folder / "keys")) == _public(private), "the operator clones with it"


def test_a_deploy_key_with_a_passphrase_or_too_short_is_refused(site: Site) -> None:
    locked = _private(ed25519.Ed25519PrivateKey.generate(), b"word")
    short = _private(rsa.generate_private_key(65537, 1024))  # noqa: S505  it is to be refused
    for key, what in ((locked, "passphrase"), (short, "too short")):
        answer = site.call("PUT", "/keys/deploy/git", "ann", json={"private_key": key})
        assert what in problems(answer)[0]["what"]
        assert key.splitlines()[2] not in answer.text
    assert site.db.keys.list("ann", "deploy") == {}


def test_an_ssh_key_is_kept_without_comment_and_shown_with_its_fingerprint(site: Site) -> None:
    key = ed25519.Ed25519PrivateKey.generate().public_key()
    line = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    made = site.call("PUT", "/keys/ssh/laptop", "ann", json={"value": f"{line} ann@laptop \n"}).json()
    assert made["value"] == line
    assert made["fingerprint"].startswith("SHA256:")
    assert [k["name"] for k in site.call("GET", "/keys/ssh", "ann").json()] == ["laptop"]
    assert site.call("GET", "/keys/ssh", "ben").json() == []
    assert site.call("DELETE", "/keys/ssh/laptop", "ann").status_code == 204
    assert site.call("GET", "/keys/ssh", "ann").json() == []


def test_an_error_of_ours_tells_an_id_and_nothing_of_its_cause(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"the secret {WORD}")

    site.db.queues.list = broken  # type: ignore[method-assign, assignment]
    answer = site.call("GET", "/queues", "ann")
    assert (answer.status_code, codes(answer)) == (500, ["internal"])
    assert WORD not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert answer.headers["x-request-id"] in caplog.text


def test_a_data_base_that_is_away_is_503_without_its_address(site: Site) -> None:
    from ava.db.errors import unavailable

    def away(*_: object, **__: object) -> None:
        raise unavailable("connection to server at 10.0.0.7 failed")

    site.db.queues.list = away  # type: ignore[method-assign, assignment]
    answer = site.call("GET", "/queues", "ann")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert "10.0.0.7" not in answer.text
    assert problems(answer)


def test_what_waits_in_a_queue_has_no_names_for_others(site: Site) -> None:
    site.run("ann", name="secret-project")
    seen = site.call("GET", "/queues/default/runs", "ben")
    assert "secret" not in seen.text
    assert "ann" not in seen.text
    assert seen.json()[0]["asks"]["cpu"] == 1000
    assert site.call("GET", "/queues/default/runs", "ann").json()[0]["name"] == "secret-project"


def test_two_people_may_have_definitions_of_one_name(site: Site) -> None:
    for who in ("ann", "ben"):
        assert site.call("POST", "/definitions", who, json={"name": "same", "spec": SPEC}).status_code == 201
