"""The image registry's two processes: one that writes nothing, one for the deployer alone."""

import json

import pytest
import yaml

from tests.unit.fakes.roles import ROLES, template, value, variables
from tests.unit.fakes.running import sh, stub


def written(name, server, **more):
    """Return the text of one of a server's files."""
    have = variables("registry") | {"registry_address": "10.0.0.5"} | more
    return template(f"registry/templates/{name}.j2", **have, server=f"{{{{ _registry_{server} }}}}")


@pytest.mark.parametrize(
    ("server", "address", "clients", "writes"),
    [
        ("reader", "10.0.0.5:5000", "readers.crt", False),
        ("writer", "127.0.0.1:5002", "writers.crt", True),
    ],
)
def test_who_reads_does_not_write(server, address, clients, writes):
    made = yaml.safe_load(written("config.yml", server))
    assert made["http"]["addr"] == address
    assert made["http"]["tls"]["clientcas"] == [f"/etc/docker-registry/{clients}"]
    readonly = made["storage"].get("maintenance", {}).get("readonly", {}).get("enabled", False)
    assert (readonly, made["storage"]["delete"]["enabled"]) == (not writes, writes)


PROGRAM = {
    "artifacts": {"avadm-node-registry": {"files": {"program": {"place": "/usr/lib/avadm/registry-1.pyz"}}}}
}
TOKENS = {"realm": "https://ava.x/t", "service": "registry.x:5004", "issuer": "ava"}


def test_users_show_tokens_for_which_one_authority_alone_is_trusted():
    made = yaml.safe_load(written("config.yml", "users", registry_tokens=TOKENS))
    assert made["http"]["addr"] == "10.0.0.5:5004"
    assert made["auth"]["token"] == TOKENS | {"rootcertbundle": "/etc/docker-registry/tokens.crt"}
    assert "clientcas" not in made["http"]["tls"]
    # Whose token has the right to: the API's own (tests/platform/api/test_pushed_images.py).
    assert made["storage"]["delete"]["enabled"]
    assert made["http"]["debug"]["addr"].startswith("127.0.0.1:")
    for server in ("reader", "writer"):
        assert "auth" not in yaml.safe_load(written("config.yml", server, registry_tokens=TOKENS))


@pytest.mark.parametrize(("tokens", "units"), [({}, 2), (TOKENS, 3)])
def test_users_are_served_where_someone_gives_out_tokens(tokens, units):
    have = variables("registry") | PROGRAM | {"registry_tokens": tokens, "registry_address": "10.0.0.5"}
    servers = value("{{ _registry_servers }}", **have)
    assert len(servers) == units
    lines = value("{{ _registry_gc_service }}", **have).splitlines()
    # All who write stand still while layers are removed, and continue afterwards.
    for key, verb in (("ExecStartPre", "stop"), ("ExecStopPost", "start")):
        [line] = [x for x in lines if x.startswith(f"{key}=")]
        assert line.split(f" {verb} ")[1].split() == [x["unit"] for x in servers if x["writes"]]


DUE = "start --no-block due.service"


@pytest.mark.parametrize(
    ("free", "active", "collecting", "lately", "does"),
    [
        (40, True, False, False, []),
        (40, False, False, False, ["start u"]),
        (14, True, False, False, [DUE]),
        (14, True, False, True, []),
        (14, False, False, True, ["start u"]),
        (6, True, False, False, ["stop u", DUE]),
        (6, True, False, True, ["stop u"]),
        (6, False, False, True, []),
        (40, False, True, False, []),
        (6, True, True, False, []),
    ],
)
def test_users_push_no_more_and_are_stopped_before_they_fill_the_disk(
    tmp_path, free, active, collecting, lately, does
):
    done, stamp = tmp_path / "done", tmp_path / "stamp"
    done.touch()
    if lately:
        stamp.touch()
    stub(
        tmp_path / "systemctl",
        f"""case "$*" in
*avadm-registry-gc*) echo {"activating" if collecting else "inactive"}; exit {0 if collecting else 3} ;;
*is-active*) exit {0 if active else 3} ;;
*) echo "$@" >> {done} ;;
esac""",
    )
    env = stub(tmp_path / "df", f"echo Use%; echo ' {100 - free}%'")
    room = ROLES / "registry/files/avadm-registry-room"
    env |= {"AVADM_REGISTRY_ROOM_STAMP": str(stamp)}
    ran = sh("bash", room, "u", "/images", "15", "due.service", env=env)
    assert ran.returncode == 0, ran.stderr
    assert done.read_text().splitlines() == does
    assert ("less than 7 %" in ran.stderr) == ("stop u" in does)
    assert ("less than 15 %" in ran.stderr) == (DUE in does)


def test_each_unit_serves_its_own_configuration():
    for server, config in (("reader", "config.yml"), ("writer", "writer.yml"), ("users", "users.yml")):
        text = written("avadm-registry.service", server)
        assert f"serve /etc/docker-registry/{config}\n" in text
        assert "User=docker-registry\n" in text


SEEN = "a\n3 blobs marked, 1 blobs and 0 manifests eligible for deletion\nblob eligible for deletion: x"


@pytest.mark.parametrize(
    ("output", "removes"),
    [
        (SEEN, True),
        ("3 blobs marked, 1 blobs eligible for deletion", True),  # 2.6
        # An empty folder over the repositories.
        ("0 blobs marked, 3 blobs and 0 manifests eligible for deletion", False),
        ("", False),
    ],
)
def test_layers_are_removed_only_where_images_can_be_seen(tmp_path, output, removes):
    program, ran = tmp_path / "docker-registry", tmp_path / "ran"
    stub(program, f'echo "$@" >> {ran}\ncat {tmp_path}/output')
    (tmp_path / "output").write_text(output)
    done = sh("bash", ROLES / "registry/files/avadm-registry-gc", program, "c.yml")
    called = ["garbage-collect --dry-run c.yml", *["garbage-collect c.yml"] * removes]
    assert ran.read_text().splitlines() == called
    assert (done.returncode == 0) == removes
    assert removes or "nothing is removed" in done.stderr


def test_links_are_tidied_up_after_the_collection_alone(tmp_path, monkeypatch):
    program, python = tmp_path / "docker-registry", tmp_path / "bin/python3"
    stub(
        program, f'echo collect "$@" >> {tmp_path}/ran\necho "3 blobs marked, 1 blobs eligible for deletion"'
    )
    text = (ROLES / "registry/files/avadm-registry-gc").read_text().replace("/usr/bin/python3", str(python))
    (tmp_path / "gc").write_text(text)
    python.parent.mkdir()
    stub(python, f'echo tidy "$@" >> {tmp_path}/ran')
    assert sh("bash", tmp_path / "gc", program, "c.yml", "a.pyz", "/images").returncode == 0
    assert (tmp_path / "ran").read_text().splitlines()[1:] == [
        "collect garbage-collect c.yml",
        "tidy a.pyz tidy /images",
    ]
    stub(program, '[ $# = 3 ] && echo "3 blobs marked, 1 blobs eligible for deletion" || exit 1')
    (tmp_path / "ran").unlink()
    assert sh("bash", tmp_path / "gc", program, "c.yml", "a.pyz", "/images").returncode != 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("status", "starts", "good"), [(0, True, True), (1, False, True), (2, False, False)])
def test_a_nights_collection_is_for_who_has_deleted_enough(tmp_path, status, starts, good):
    stub(tmp_path / "python3", f"exit {status}")
    env = stub(tmp_path / "systemctl", f'echo "$@" >> {tmp_path}/ran')
    text = (ROLES / "registry/files/avadm-registry-due").read_text()
    (tmp_path / "due").write_text(text.replace("/usr/bin/python3", str(tmp_path / "python3")))
    done = sh("bash", tmp_path / "due", "a.pyz", "1", "/images", env=env)
    assert (done.returncode == 0, (tmp_path / "ran").exists()) == (good, starts)


def test_nothing_is_collected_between_weeks_where_several_registries_write():
    for collects in (True, False):
        have = variables("registry") | PROGRAM | {"registry_gc": collects, "registry_tokens": TOKENS}
        line = value("{{ _registry_room_service }}", **have | {"registry_address": "10.0.0.5"})
        assert ("avadm-registry-due.service" in line) is collects


def test_what_counts_is_reported_limits_as_numbers_and_none():
    have = variables("registry") | {"registry_address": "10.0.0.5", "registry_space_client": "registry:ava"}
    limits = {"users": 50 * 2**30, "groups": None, "users/zoe": 0}
    have |= {"registry_space_limits": limits}
    report = value("{{ _registry_space_settings | to_nice_json }}", **have)
    report = report if isinstance(report, dict) else json.loads(report)
    assert report["limits"] == limits
    assert (report["listen"], report["client"], int(report["room_percent"])) == (
        "10.0.0.5:5006",
        "registry:ava",
        15,
    )


def test_no_one_writes_while_layers_are_removed_and_the_writer_comes_back():
    lines = variables("registry")["_registry_gc_service"].splitlines()
    before, act, after = (
        lines.index(next(x for x in lines if x.startswith(k)))
        for k in ("ExecStartPre", "ExecStart=", "ExecStopPost")
    )
    assert before < act < after
    assert lines[before].endswith("systemctl stop {{ _registry_writers }}")
    assert lines[after].endswith("systemctl start {{ _registry_writers }}")
    assert "User={{ registry_user }}" in lines
