"""avadm_service: a login, files and units in one task; what is restarted is what the files ask for."""

import time
from types import SimpleNamespace

import pytest
from ansible.module_utils import avadm_artifact, avadm_service
from ansible.module_utils.avadm_service import effect

from tests.unit.fakes.running import module, stub

SYSTEMCTL = '[ $1 = show ] && cat $NODE/unit || echo "$@" >> $NODE/calls'


class Node:
    """Where a service runs since a while; its systemctl records its calls."""

    def __init__(self, folder):
        self.folder, self.conf = folder, folder / "etc/x.conf"
        self.env = {"NODE": str(folder)} | stub(folder / "bin/systemctl", SYSTEMCTL)
        self.env |= stub(folder / "bin/useradd", "echo useradd $* >> $NODE/calls") | {
            "PATH": self.env["PATH"]
        }
        self.runs(100)

    def runs(self, ago, active="active"):
        since = int((time.monotonic() - ago) * 1e6)
        text = f"LoadState=loaded\nActiveState={active}\nUnitFileState=enabled\nExecMainStartTimestampMonotonic={since}\n"
        (self.folder / "unit").write_text(text)

    def bring(self, *files, **given):
        """Bring the service about; return what came of it and the calls of systemctl."""
        (self.folder / "calls").write_text("")
        found, self.output = module("avadm_service", self.env, **{"name": "x", "files": list(files)} | given)
        return found, (self.folder / "calls").read_text().splitlines()

    def file(self, content="a", **more):
        return {"path": str(self.conf), "content": content} | more


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


@pytest.mark.parametrize(
    ("path", "unit", "wanted"),
    [
        ("/etc/x.conf", "x.service", "restart"),
        ("/etc/systemd/system/x.service", "x.service", "restart"),
        ("/etc/systemd/system/x.service.d/more.conf", "x.service", "restart"),
        ("/etc/systemd/system/other.service", "x.service", "none"),
        ("/etc/systemd/system/x.timer", "x.service", "none"),
        ("/etc/x.conf", "x.timer", "none"),
        ("/etc/systemd/system/x.timer", "x.timer", "restart"),
    ],
)
def test_a_file_that_says_nothing_else_asks_for_what_is_usual(path, unit, wanted):
    assert effect({"path": path, "on_change": None}, unit) == wanted
    assert effect({"path": path, "on_change": "reload"}, unit) == "reload"


@pytest.mark.parametrize(
    ("asks", "verb"), [({}, ["restart x.service"]), ({"on_change": "reload"}, ["reload x.service"])]
)
def test_a_changed_file_is_written_and_the_service_reported_once(node, asks, verb):
    found, reply = node.bring(node.file(**asks))
    assert (found["changed"], found["because"], reply) == (True, [str(node.conf)], verb)
    assert node.conf.read_text() == "a\n"
    node.runs(-1)
    assert node.bring(node.file(**asks))[0]["changed"] is False


def test_a_file_that_the_service_reads_by_itself_tells_it_nothing(node):
    found, reply = node.bring(node.file(on_change="none"))
    assert (found["paths"], found["because"], reply) == ([str(node.conf)], [], [])


def test_what_was_cut_off_between_the_file_and_the_restart_is_made_good(node):
    node.conf.parent.mkdir()
    node.conf.write_text("a\n")
    node.conf.chmod(0o644)
    found, reply = node.bring(node.file())
    assert (found["paths"], reply) == ([], ["restart x.service"])


def test_a_file_that_is_taken_away_is_a_change_too(node):
    node.conf.parent.mkdir()
    node.conf.write_text("a\n")
    found, reply = node.bring(node.file(state="absent"))
    assert reply == ["restart x.service"]
    assert (node.conf.exists(), found["keeps"]) == (False, [])


def test_of_places_that_a_program_may_have_only_that_of_the_node_is_kept(node):
    places = [node.folder / "usr/bin/d", node.folder / "usr/sbin/d"]
    places[1].parent.mkdir(parents=True)
    places[1].write_text("")
    found, reply = node.bring(restart_on=[str(place) for place in places])
    assert (reply, found["keeps"]) == (["restart x.service"], [["x", "restart", str(places[1])]])


def test_check_mode_says_it_all_and_does_nothing(node):
    folder = str(node.folder / "made")
    user = {"name": "nobody-yet", "home": "/"}
    found, reply = node.bring(
        node.file(owner="nobody-yet"),
        user=user,
        folders=[{"path": folder, "owner": "nobody-yet"}],
        _ansible_check_mode=True,
        _ansible_diff=True,
    )
    assert (found["actions"], found["paths"]) == (["login", "folder", "restart"], [str(node.conf)])
    assert [(one["before"], one["after"]) for one in found["diff"]] == [("", "a\n")]
    assert (reply, sorted(p.name for p in node.folder.iterdir())) == ([], ["bin", "calls", "unit"])


def test_login_and_folders_are_there_before_the_files(node):
    folder = node.folder / "made"
    user = {"name": "nobody-yet", "home": "/nowhere"}
    found, reply = node.bring(user=user, folders=[{"path": str(folder), "mode": "0700"}])
    assert found["actions"] == ["login", "folder"]
    assert reply[0].endswith("--user-group --home-dir /nowhere --shell /usr/sbin/nologin nobody-yet")
    assert (folder.stat().st_mode & 0o777) == 0o700
    assert node.bring(folders=[{"path": str(folder), "mode": "0700"}])[0]["changed"] is False


@pytest.mark.parametrize("start", [True, False])
def test_what_a_package_starts_at_once_finds_its_files_and_whom_it_makes_owns_the_others(node, start):
    """apt notes which files are there when it is called."""
    own, theirs = node.folder / "own", node.folder / "theirs"
    listed = "fio\\tfio\\tamd64\\t3\\t\\n"
    node.env |= stub(node.folder / "bin/dpkg-query", f"[ ! -f $NODE/apt ] || printf 'ii \\t{listed[5:]}'")
    node.env |= stub(node.folder / "bin/apt-get", "[ $1 = update ] || ls $NODE > $NODE/apt")
    node.env["PATH"] = f"{node.folder}/bin:{node.env['PATH']}"
    files = [{"path": str(own), "content": "a"}, {"path": str(theirs), "content": "b", "owner": "root"}]
    found, _ = node.bring(*files, packages=["fio"], packages_last=start)
    assert found["actions"][0] == "install fio"
    there = (node.folder / "apt").read_text().split()
    assert ("own" in there, "theirs" in there) == (start, False)
    assert (own.read_text(), theirs.read_text()) == ("a\n", "b\n")
    node.runs(-1)
    assert not node.bring(*files, packages=["fio"], packages_last=start)[0]["changed"]


def test_files_without_a_unit_run_nothing(node):
    given = {"name": None, "rolling": 1}
    found, reply = node.bring(
        node.file(), {"path": "/etc/systemd/system/x-y.timer", "state": "absent"}, **given
    )
    assert (found["changed"], found["keeps"], reply) == (True, [], [])
    assert node.conf.read_text() == "a\n"
    assert not node.bring(node.file(), **given)[0]["changed"]


def test_a_link_takes_the_place_of_what_points_elsewhere(node):
    link = node.folder / "etc/kubectl"
    wanted = {"path": str(link), "link": "hyperkube", "on_change": "none"}
    assert node.bring(wanted, _ansible_check_mode=True)[0]["changed"]
    assert not link.is_symlink()
    for before in (None, "elsewhere"):
        if before:
            link.unlink()
            link.symlink_to(before)
        assert node.bring(wanted)[0]["paths"] == [str(link)]
        assert str(link.readlink()) == "hyperkube"
    assert node.bring(wanted)[0]["paths"] == []
    link.unlink()
    link.mkdir()
    found, _ = node.bring(wanted)
    assert "could not be written" in found["msg"]
    assert [path.name for path in link.parent.iterdir()] == ["kubectl"]


def test_a_secret_is_reported_nowhere(node):
    node.conf.parent.mkdir()
    node.conf.write_text("former-secret")
    node.bring({"path": str(node.conf), "secret": "present-secret", "mode": "0600"}, _ansible_diff=True)
    assert (node.conf.read_text(), "-secret" in node.output) == ("present-secret\n", False)


def test_a_file_that_its_program_refuses_takes_no_user_s_place(node):
    node.bring(node.file("good"))
    found, reply = node.bring(node.file("bad", validate="grep -q good %s"))
    assert found["failed"]
    assert "refuses it" in found["msg"]
    assert (node.conf.read_text(), reply) == ("good\n", [])
    assert node.bring(node.file("very good", validate="grep -q good %s"))[0]["changed"]


@pytest.mark.parametrize("active", ["active", "inactive"])
def test_only_what_runs_and_has_to_be_interrupted_waits_for_its_turn(node, active):
    node.runs(100, active)
    found, reply = node.bring(node.file(), rolling=1, health=["true"], own="me", peers=["you"])
    if active == "inactive":
        assert reply == ["start x.service"]
        return
    assert {"waits": True, "answering": ["you"], "serving": True, "changed": False}.items() <= found.items()
    assert (node.conf.exists(), reply) == (False, [])
    found, reply = node.bring(node.file(), rolling=1, turn=True)
    assert (found["changed"], reply) == (True, ["restart x.service"])


def test_a_peer_that_does_not_serve_keeps_what_runs_from_its_restart(node):
    given = {"rolling": 1, "turn": True, "health": ["false"], "gate": ["you"], "timeout": 0}
    found, reply = node.bring(node.file(), **given)
    assert "does not serve on another node" in found["msg"]
    assert reply == []


def test_what_the_node_lacks_is_asked_for_before_anything_is_done(monkeypatch):
    asked = []
    monkeypatch.setattr(
        avadm_artifact, "ensure", lambda *given: asked.append(given) or (False, {"/p": "/in"})
    )
    one = {"path": "/p", "artifact": {"sha256": "0"}, "state": "present", "on_change": None}
    given = {"name": "x", "files": [one], "pushed": [], "login": "root"}
    service = avadm_service.Service(SimpleNamespace(params=given), check=False)
    assert service.lacking() == {"/p": "/in"}
    service.put()
    assert service.files.paths == ["/p"]
    given["pushed"] = ["/p"]
    service = avadm_service.Service(SimpleNamespace(params=given), check=False)
    assert service.lacking() == {}
    service.put()
    assert (asked[-1][1], service.files.paths) == (["/p"], ["/p"])


def test_timers_run_beside_it_and_their_services_are_read_again(node, monkeypatch):
    units = str(node.folder / "units") + "/"
    monkeypatch.setattr(avadm_service, "UNITS", units)
    files = [
        {"path": units + name, "on_change": None, "state": "present"} for name in ("t.service", "t.timer")
    ]
    given = {
        "name": "x",
        "files": [one | {"artifact": None} for one in files],
        "pushed": [],
        "state": "running",
    }
    reports = []

    def run_command(argv, **_):
        reports.append(" ".join(argv[1:3]) if argv[1] != "show" else "show")
        return 0, "NeedDaemonReload=yes" if "t.service" in argv else "ActiveState=inactive", ""

    more = {"restart_on": [], "reload_on": [], "settings": None, "health": [], "gate": [], "user": None}
    more |= {"ready_url": None, "own": "", "peers": [], "folders": []}
    more |= {"packages": [], "packages_last": False}
    fake = SimpleNamespace(params=given | more, run_command=run_command)
    service = avadm_service.Service(fake, check=False)
    monkeypatch.setattr(service.files, "bring", lambda entries: None)
    found = service.bring()
    assert [t for t in reports if t != "show"] == [
        "daemon-reload", "enable x.service", "start x.service", "enable t.timer", "start t.timer",
    ]  # fmt: skip
    assert found["keeps"] == [("t.timer", "restart", units + "t.timer")]


def test_what_is_to_stand_still_is_stopped_before_its_files_go(node):
    node.conf.parent.mkdir()
    node.conf.write_text("a\n")
    found, reply = node.bring(node.file(state="absent"), state="stopped")
    assert (reply, node.conf.exists()) == (["stop x.service", "disable x.service"], False)
    assert found["keeps"] == []
