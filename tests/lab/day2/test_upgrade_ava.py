"""`avadm upgrade ava` on the lab: refused, killed under load, taken back. Afterwards the lab has its own AVA and database again.

A second version is this checkout's AVA in a copy, with a migration more, so that its image has another digest. It is built as
any image is; avadm works from the copy by AVADM_HOME.
"""

import json
import re
import shutil
import time

import pytest

from avadm import paths
from avadm.operations import ava_migrations
from avadm.site.load import load
from tests.controls.day_two import GOALS_S, KILLED_AT_RANDOM, KILLED_AT_STEPS, UNINTERRUPTED
from tests.lab.day2.interruptions import killed, moments
from tests.lab.faults.drive import avadm, unchanged

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.day2,
    pytest.mark.usefixtures("marks", "restored"),
]

VERB = "upgrade ava"
WORDS = ["upgrade", "ava", "--yes"]
TIMEOUT_S = 3000
HOME, RUNS = paths.home(), paths.runs()
NOT_COPIED = {"runs", "tests", "docs", "evidence", "bench", "molecule", "changelog.d"}
"""Of the checkout's top; what begins with a dot neither."""
MIGRATION = '''"""A table of a later version."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"
{flag}


def upgrade() -> None:
    """Add the table."""
    op.create_table("later_{revision}", sa.Column("n", sa.Integer, primary_key=True))
'''
FLAG = "BACKWARD_COMPATIBLE = True"
BROKEN = '\nraise SystemExit("this version does not start")\n'
CUT_ONCE = {"ssh"}
"""Clients of loads whose connection is cut once, as the plan says."""


def good(*argv):
    done = avadm(*argv, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def planned(*words):
    done = avadm("upgrade", "ava", "--dry-run", "--json", *words, timeout=300)
    return done.returncode, json.loads(done.stdout)


class Version:
    """A copy of this checkout with further migrations.

    Args:
        folder: where it is made.
        revisions: of its migrations, each with whether the former version can use the tables after it.
        broken: whether its operator ends at once.
    """

    def __init__(self, folder, revisions, *, broken=False):
        self.home = folder
        folder.mkdir()
        for path in HOME.iterdir():
            if path.name.startswith(".") or path.name in NOT_COPIED:
                continue
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "node_modules")
                shutil.copytree(path, folder / path.name, symlinks=True, ignore=ignored)
            else:
                shutil.copy2(path, folder)
        before = ava_migrations.read(HOME / ava_migrations.FOLDER)[-1].revision
        for revision, compatible in revisions:
            text = MIGRATION.format(revision=revision, before=before, flag=FLAG if compatible else "")
            (folder / ava_migrations.FOLDER / f"{revision}_later.py").write_text(text)
            before = revision
        if broken:
            with (folder / "ava/operator/config.py").open("a") as file:
                file.write(BROKEN)

    def use(self, lab, monkeypatch, *, build=True):
        """Have avadm work from the copy on the lab's site, with its image built."""
        monkeypatch.setenv("AVADM_SITE", str(lab.site_path))
        monkeypatch.setenv("AVADM_RUNS", str(RUNS))
        monkeypatch.setenv("AVADM_HOME", str(self.home))
        if build:
            good("artifacts", "build", "ava-image")


def sql(lab, text):
    """Return what the primary answers about AVA's database."""
    psql = "runuser -u postgres -- psql --no-psqlrc -qAt --set=ON_ERROR_STOP=1 --dbname=ava --command"
    for node in lab.names("database"):
        if lab.run(node, f'{psql} "SELECT pg_is_in_recovery()"').stdout.strip() == "f":
            return lab.sh(node, f'{psql} "{text}"').strip()
    raise AssertionError("no member is the primary")


def revision(lab):
    return sql(lab, "SELECT version_num FROM alembic_version")


def pods(lab, label):
    """Return uid and restarts of pods by name."""
    words = f"kubectl get pods --all-namespaces -l {label} -o json"
    items = json.loads(lab.sh(lab.names("master")[0], words))["items"]
    return {
        one["metadata"]["name"]: (
            one["metadata"]["uid"],
            sum(c["restartCount"] for c in one["status"].get("containerStatuses") or []),
        )
        for one in items
        if one["status"].get("phase") == "Running"
    }


def images(lab):
    """Return the images of AVA's deployments."""
    words = "kubectl get deployments --namespace ava-system -o json"
    items = json.loads(lab.sh(lab.names("master")[0], words))["items"]
    return {one["spec"]["template"]["spec"]["containers"][0]["image"] for one in items}


def reported(lab):
    """Return the versions that AVA's processes report."""
    found = set()
    for name in pods(lab, "app=ava"):
        if re.match(r"(api|operator|scheduler|gate|storage)-", name):
            way = f"/api/v1/namespaces/ava-system/pods/{name}:9090/proxy/metrics"
            text = lab.sh(lab.names("master")[0], f"kubectl get --raw={way}")
            found |= set(re.findall(r'^ava_build_info\{version="([^"]+)"\} 1', text, re.MULTILINE))
    return found


@pytest.fixture(scope="module")
def begun(lab):
    """What the lab has before: the image of its deployments, and the revision of the database."""
    if load(lab.site_path).site.components.ava is None:
        pytest.skip("this lab has no AVA")
    found = images(lab)
    assert len(found) == 1, "apply ava first"
    return found, revision(lab)


@pytest.fixture(scope="module")
def restored(lab, begun):
    """Afterwards the database has the tables of this checkout, which adding alone has made more of, and its AVA runs."""
    yield
    own = begun[1]
    tables = sql(lab, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'later_%'").split()
    drop = "".join(f"DROP TABLE {table}; " for table in tables)
    sql(lab, f"{drop}UPDATE alembic_version SET version_num = '{own}'")  # noqa: S608 - names of this test
    # The cache keeps the last versions alone. A dump of a test that failed has a revision that is not known here.
    good("artifacts", "build", "ava-image")
    good(*WORDS, "--accept", "upgrade-migration")
    assert (images(lab), revision(lab)) == begun
    assert unchanged(lab)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("versions")


@pytest.fixture(scope="module")
def newer(home):
    return Version(home / "newer", [("9001", True)])


def test_what_cannot_be_is_refused_and_nothing_changes(lab, begun, home, monkeypatch):
    before = pods(lab, "app=ava")
    done = avadm("upgrade", "ava", "--to", "lab-bookworm-newer")
    assert done.returncode == 2 and "without --to" in " ".join((done.stdout + done.stderr).split())
    lossy = Version(home / "lossy", [("9001", False)])
    lossy.use(lab, monkeypatch, build=False)
    rc, plan = planned()
    assert rc == 2
    assert {f["check"] for f in plan["refused"]} == {"artifact-missing"}
    lossy.use(lab, monkeypatch)
    rc, plan = planned()
    assert rc == 2
    assert {f["check"] for f in plan["refused"]} == {"upgrade-migration"}
    rc, plan = planned("--accept", "upgrade-migration")
    assert rc == 0
    assert plan["steps"][-1]["name"].endswith("no rollback")
    assert (images(lab), revision(lab)) == begun
    assert pods(lab, "app=ava") == before


def test_it_runs_under_load_and_users_pods_stay(
    lab, begun, newer, monkeypatch, loads, recorder, bench, tried
):
    row = tried(
        "AVA upgraded", "nothing; a user's workbench runs", "no error, no committed row lost, the pod stays"
    )
    newer.use(lab, monkeypatch)
    rc, plan = planned()
    assert (rc, plan["refused"]) == (0, [])
    assert any("9001" in one for one in plan["packages"])
    mine = {n: p for n, p in pods(lab, "ava.io/managed=true").items() if bench.it.run in n}
    assert mine, "the workbench runs"
    since = time.monotonic()
    with recorder.under(VERB, UNINTERRUPTED, loads("AQ"), GOALS_S, CUT_ONCE):
        good(*WORDS)
    row.came = f"{time.monotonic() - since:.0f} s"
    assert revision(lab) == "9001"
    assert len(images(lab)) == 1 and images(lab) != begun[0]
    assert len(reported(lab)) == 1
    after = pods(lab, "ava.io/managed=true")
    assert {n: after.get(n) for n in mine} == mine
    assert re.search(r"-rw------- .* ava-\d+-.*\.dump", dumps(lab))


def dumps(lab):
    return "".join(
        lab.run(node, "ls -l /var/lib/avadm/ava-dumps 2>/dev/null").stdout for node in lab.names("database")
    )


def test_a_second_run_and_an_apply_change_nothing(lab, newer, monkeypatch):
    newer.use(lab, monkeypatch, build=False)
    before, held = pods(lab, "app=ava"), dumps(lab)
    rc, plan = planned()
    assert (rc, plan["steps"]) == (0, [])
    good(*WORDS)
    good("apply", "ava")
    assert pods(lab, "app=ava") == before and dumps(lab) == held


def test_an_older_ava_is_refused_by_the_database(lab):
    before = pods(lab, "app=ava")
    rc, plan = planned()
    assert rc == 2
    assert "upgrade-database-newer" in {f["check"] for f in plan["refused"]}
    assert pods(lab, "app=ava") == before


def test_a_version_that_does_not_start_is_taken_back_and_continued_with_a_better_one(
    lab, home, monkeypatch, platform, tried
):
    row = tried("AVA upgraded", "the new operator does not start", "exit 1, the former runs; continued")
    runs = images(lab)
    Version(home / "bad", [("9001", True), ("9002", True)], broken=True).use(lab, monkeypatch)
    done = avadm(*WORDS, timeout=TIMEOUT_S)
    assert done.returncode == 1, done.stdout + done.stderr
    assert (images(lab), revision(lab)) == (runs, "9002")
    assert platform.ask("/api/v1/openapi.json")[0].startswith("200")
    refused = avadm("apply", "ava", timeout=TIMEOUT_S)
    reply = " ".join((refused.stdout + refused.stderr).split())
    assert refused.returncode != 0 and "avadm upgrade ava" in reply, reply
    Version(home / "better", [("9001", True), ("9002", True)]).use(lab, monkeypatch)
    good(*WORDS)
    assert images(lab) != runs
    row.came = "exit 1, the former answered; continued"


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_it_is_killed_at_each_step_and_continued_under_load(
    lab, home, monkeypatch, loads, recorder, at, tried
):
    row = tried("AVA upgraded", f"avadm is killed at step {at}", "continued, no committed row lost")
    Version(home / f"step{at}", rising(at)).use(lab, monkeypatch)
    with recorder.under(VERB, KILLED_AT_STEPS, loads("AQ"), GOALS_S, CUT_ONCE):
        seen = killed(WORDS, at)
        assert seen.alive, seen.output
        good(*WORDS)
    assert revision(lab) == rising(at)[-1][0] and len(reported(lab)) == 1
    row.came = "continued"


def test_it_is_killed_at_random_and_continued_under_load(lab, home, monkeypatch, loads, recorder):
    for number, moment in enumerate(moments(120.0), start=5):
        Version(home / f"random{number}", rising(number)).use(lab, monkeypatch)
        with recorder.under(VERB, KILLED_AT_RANDOM, loads("AQ"), GOALS_S, CUT_ONCE):
            killed(WORDS, moment)
            good(*WORDS)
        assert revision(lab) == rising(number)[-1][0] and len(reported(lab)) == 1


def rising(number):
    """Return the migrations of one more version than the last one, whatever that was."""
    return [(f"90{n:02d}", True) for n in range(1, 3 + number)]
