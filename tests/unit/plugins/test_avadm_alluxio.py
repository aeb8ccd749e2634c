"""Modules of the cache: a journal is formatted once, under stores are mounted and their keys seen by no one."""

import json
import stat
from pathlib import Path

import avadm_alluxio_journal as journal
import avadm_alluxio_mounts as mounts
import pytest
from ansible.module_utils import avadm_alluxio as alluxio
from ansible.module_utils import avadm_bootstrap_mark as marks

ROOT = "/r  on  /  (local, x)\n"
KEY = 'se"cret \\ key'


@pytest.fixture
def at(tmp_path):
    """Return the journal, its mark, the marker of earlier releases, and a function that calls the module."""
    path, marker = tmp_path / "journal", tmp_path / "formatted.json"

    given = {"path": str(path), "command": ["format"], "name": "m1", "marker": str(marker)}
    given |= {"marks": str(tmp_path / "founded"), "kind": "UFS", "bootstrapped": {}, "replace": False}

    def ensure(run=lambda argv: (0, "", ""), check=False, **more):
        return journal.ensure({**given, **more}, run, check)

    return path, tmp_path / "founded/alluxio-journal.json", marker, ensure


def unwanted(argv):
    raise AssertionError("formatted")


def test_a_new_master_is_formatted_once(at):
    path, mark, _, ensure = at
    asked = []

    def run(argv):
        asked.append(argv)
        (path / "v1").mkdir()
        return 0, "", ""

    assert (ensure(run), ensure(run)) == ("format", "keep")
    assert asked == [["format"]]
    assert json.loads(mark.read_text())["identity"] == "UFS"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("former", [None, '{"kind": "UFS"}'])
def test_a_journal_with_data_is_left_alone_and_marked(at, former):
    path, mark, marker, ensure = at
    path.mkdir()
    (path / "log").write_text("precious")
    if former:
        marker.write_text(former)
    assert (ensure(unwanted), ensure(unwanted)) == ("mark", "keep")
    assert (path / "log").read_text() == "precious"
    assert (mark.exists(), marker.exists()) == (True, False)


def test_a_journal_that_is_empty_after_its_formatting_is_not_taken_for_lost(at):
    ensure = at[-1]
    assert (ensure(kind="EMBEDDED"), ensure(kind="EMBEDDED")) == ("format", "keep")


@pytest.mark.parametrize("by", ["mark", "marker", "damaged marker", "ledger"])
def test_a_lost_journal_is_reported_with_the_mark_and_made_again_by_name_alone(at, by):
    path, mark, marker, ensure = at
    bootstrapped = {"m1": "UFS"} if by == "ledger" else {}
    if by == "mark":
        marks.keep("alluxio-journal", "UFS", str(mark.parent))
    elif by != "ledger":
        marker.write_text('{"kind": "UFS"}' if by == "marker" else "")
    with pytest.raises(alluxio.AlluxioError, match=str(mark) if "damaged" not in by else "kind unknown"):
        ensure(unwanted, bootstrapped=bootstrapped)
    assert not path.exists()
    assert ensure(kind="EMBEDDED", bootstrapped=bootstrapped, replace=True) == "format"
    assert json.loads(mark.read_text())["identity"] == "EMBEDDED"


def test_a_failed_formatting_leaves_no_mark_and_check_mode_nothing(at):
    _, mark, _, ensure = at
    with pytest.raises(alluxio.AlluxioError, match="no space"):
        ensure(lambda argv: (1, "", "no space"))
    assert not mark.exists()
    assert ensure(None, check=True) == "format"
    assert not mark.exists()


class Shell:
    """Plays Alluxio's command line with a table of mounts."""

    def __init__(self, **table):
        self.table = {f"/{name}": store for name, store in table.items()}
        self.asked, self.files, self.modes, self.fails, self.silent = [], [], [], "", 0

    def __call__(self, argv):
        self.asked.append(argv[1:])
        if argv[1:3] == ["fs", "mount"] and len(argv) > 3:
            self.table[argv[-2]] = argv[-1]
            return 0, "", ""
        if argv[1] == "fs":
            if self.silent:
                self.silent -= 1
                return 1, "", "Failed to determine primary master"
            return 0, ROOT + "".join(f"{s}  on  {p}  (s3, x)\n" for p, s in self.table.items()), ""
        self.files.append(Path(argv[2]).read_text())
        self.modes.append(stat.S_IMODE(Path(argv[2]).stat().st_mode))
        if self.fails:
            return 1, "", self.fails
        words = self.files[-1].split("\n")
        if words[1] == '"mount"':
            self.table[words[-3].strip('"')] = words[-2].strip('"')
        return 0, "", ""


def one(path="/s3", store="s3://data/", **more):
    options = {"s3a.secretKey": KEY}
    return {"path": path, "store": store, "folder": False, "read_only": False, "options": options, **more}


def ensure(shell, wanted, tmp_path, below="", check=False):
    table = mounts.Mounts(["alluxio"], shell, sleep=lambda s: None)
    return mounts.ensure(wanted, below, table, str(tmp_path / "mounts.json"), 10, check)


def test_a_missing_under_store_is_mounted_once_and_no_argument_holds_its_key(tmp_path):
    shell = Shell()
    assert ensure(shell, [one()], tmp_path) == (["/s3"], [], [])
    assert ensure(shell, [one()], tmp_path) == ([], [], [])
    assert KEY not in repr(shell.asked)
    assert shell.modes == [0o600]
    assert shell.files[0].startswith('"alluxio.cli.fs.FileSystemShell"\n"mount"\n"--option"\n')
    assert 's3a.secretKey=se\\"cret \\\\ key' in shell.files[0]
    assert stat.S_IMODE((tmp_path / "mounts.json").stat().st_mode) == 0o600
    assert KEY not in (tmp_path / "mounts.json").read_text()


def test_a_folder_is_mounted_without_a_file_of_arguments_which_java_8_cannot_read(tmp_path):
    shell = Shell()
    wanted = [one(path="/cephfs", store=str(tmp_path), folder=True, options={})]
    assert ensure(shell, wanted, tmp_path)[0] == ["/cephfs"]
    assert shell.asked[1:-1] == [["fs", "mount", "/cephfs", str(tmp_path)]]
    assert shell.files == []


def test_the_file_of_arguments_is_gone_also_when_the_mount_fails_and_the_error_has_no_key(tmp_path):
    shell = Shell()
    shell.fails = "403 for " + KEY
    with pytest.raises(alluxio.AlluxioError) as caught:
        ensure(shell, [one()], tmp_path)
    assert KEY not in str(caught.value)
    assert "403 for ***" in str(caught.value)
    assert not Path(shell.asked[-1][1]).exists()


def test_a_changed_key_is_handed_on(tmp_path):
    shell = Shell()
    ensure(shell, [one()], tmp_path)
    assert ensure(shell, [one(options={"s3a.secretKey": "new"})], tmp_path) == ([], ["/s3"], [])
    assert shell.files[-1].split("\n")[1] == '"updateMount"'
    assert '"s3://data/"' not in shell.files[-1]


def test_another_under_store_at_the_folder_is_refused_and_nothing_is_unmounted(tmp_path):
    shell = Shell(s3="s3://other/", old="s3://old/")
    with pytest.raises(alluxio.AlluxioError, match="s3://other/"):
        ensure(shell, [one()], tmp_path)
    assert shell.asked == [["fs", "mount"]]
    assert ensure(Shell(old="s3://old/"), [one()], tmp_path)[2] == ["/old"]


def test_a_leading_master_is_waited_for(tmp_path):
    shell = Shell()
    shell.silent = 2
    assert ensure(shell, [one()], tmp_path)[0] == ["/s3"]
    shell.silent = 10**6
    ticks = iter(range(10**6))
    table = mounts.Mounts(["alluxio"], shell, sleep=lambda s: None, clock=lambda: next(ticks))
    with pytest.raises(alluxio.AlluxioError, match="primary master"):
        table.table(5)


def test_check_mode_asks_and_changes_nothing(tmp_path):
    shell = Shell()
    assert ensure(shell, [one()], tmp_path, check=True)[0] == ["/s3"]
    assert shell.files == []
    assert not (tmp_path / "mounts.json").exists()


def test_an_under_store_none_of_whose_servers_answers_is_reported_and_not_mounted(tmp_path):
    asked, listens = [], set()

    class Open:
        def close(self):
            pass

    def connect(address, timeout):
        asked.append(address)
        if address not in listens:
            raise ConnectionRefusedError("Connection refused")
        return Open()

    def try_it(shell):
        table = mounts.Mounts(["alluxio"], shell, sleep=lambda s: None)
        return mounts.ensure(wanted, "", table, str(tmp_path / "mounts.json"), 10, False, connect)

    wanted = [one("/hdfs", "hdfs://hdfs/", reach=["nn1.test:8020", "nn2.test:8020"])]
    shell = Shell()
    with pytest.raises(alluxio.AlluxioError, match=r"no namenode .*nn1\.test:8020: Connection refused; nn2"):
        try_it(shell)
    assert shell.files == []
    listens.add(("nn2.test", 8020))
    assert try_it(shell)[0] == ["/hdfs"]
    listens.clear()
    assert try_it(shell) == ([], [], [])
    assert len(asked) == 4


def test_no_folder_is_made_where_the_file_system_is_not_mounted(tmp_path):
    wanted = [one(path="/cephfs", store=str(tmp_path / "ceph/data"), folder=True, options={})]
    with pytest.raises(alluxio.AlluxioError, match="is not mounted here"):
        ensure(Shell(), wanted, tmp_path, below=str(tmp_path / "ceph"))
    assert not (tmp_path / "ceph").exists()
    ensure(Shell(), wanted, tmp_path)
    assert (tmp_path / "ceph/data").is_dir()
