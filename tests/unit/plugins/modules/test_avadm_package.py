"""avadm_package: what it asks of dpkg and apt, and what it says when they refuse."""

import os

import pytest
from ansible.module_utils import avadm_packages as module

INSTALLED = "ii \tcurl\tamd64\t7.88-1\t\nii \tmawk\tamd64\t1.3\tawk, compat (= 1)\nrc \tgone\tamd64\t1\t\n"


class Node:
    """dpkg and apt of one node; `apt` are the answers to apt-get install; one that succeeds installs."""

    def __init__(self, tmp_path, dpkg=INSTALLED, apt=(), update=(0, "", ""), lists=True):
        self.dpkg, self.apt, self.update = dpkg, list(apt), update
        self.calls, self.slept, self.now = [], [], 0.0
        (tmp_path / "var/lib/apt/lists").mkdir(parents=True)
        if lists:
            (tmp_path / "var/lib/apt/lists/x_InRelease").touch()
        self.root = tmp_path
        self.now = (tmp_path / "var/lib/apt/lists").stat().st_mtime + 10
        self.packages = module.Packages(self, 60, lambda: self.now, self.sleep, str(tmp_path))

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def __call__(self, argv):
        self.calls.append(argv)
        if argv[0] == "dpkg-query":
            return 0, self.dpkg, ""
        if argv[0] == "dpkg":
            self.dpkg = self.dpkg.replace("iF ", "ii ")
            return 0, "", ""
        if argv[1] == "update":
            return self.update
        answer = self.apt.pop(0) if self.apt else (0, "", "")
        if answer[0] == 0 and "--" in argv:
            for wanted in argv[argv.index("--") + 1 :]:
                name, version = module.split(wanted)
                self.dpkg += f"ii \t{name}\tamd64\t{(version or '1.0').replace('*', '1')}\t\n"
        return answer

    def ensure(self, *wanted, check=False, age=3600, upgrade=()):
        return module.ensure(self.packages, list(wanted), age, False, check, upgrade)

    def verbs(self):
        calls = [argv for argv in self.calls if argv[0] != "dpkg-query"]
        return [argv[1] if argv[0] == "apt-get" else argv[0] for argv in calls]


def test_nothing_missing_costs_one_query(tmp_path):
    node = Node(tmp_path)
    assert node.ensure("curl", "awk")["changed"] is False
    assert [argv[0] for argv in node.calls] == ["dpkg-query"]


def test_all_that_is_missing_comes_in_one_transaction(tmp_path):
    node = Node(tmp_path)
    done = node.ensure("fio", "curl", "tree=2.*", "gone")
    assert done["installed"] == {"fio": "1.0", "gone": "1.0", "tree": "2.1"}
    assert done["versions"]["curl"] == "7.88-1"
    assert node.verbs() == ["install"]
    (argv,) = [argv for argv in node.calls if argv[0] == "apt-get"]
    assert argv[argv.index("--") + 1 :] == ["fio", "gone", "tree=2.*"]
    assert "DPkg::Lock::Timeout=60" in argv


def test_another_version_than_the_wanted_one_is_missing(tmp_path):
    node = Node(tmp_path)
    node.ensure("curl=7.*")
    assert node.verbs() == []
    node.ensure("curl=8.0")
    assert node.verbs() == ["install"]


def test_a_newer_pin_brings_that_version_and_says_so_once(tmp_path):
    node = Node(tmp_path, dpkg="ii \trunc\tamd64\t1.1.5-1\t\n")
    assert node.ensure("runc")["changed"] is False
    done = node.ensure("runc=1.1.5-1+deb12u1")
    assert done["changed"] is True
    assert done["installed"] == {"runc": "1.1.5-1+deb12u1"}
    assert node.ensure("runc=1.1.5-1+deb12u1")["changed"] is False


def test_nothing_is_made_older_unasked(tmp_path):
    refusal = (100, "", "E: Packages were downgraded and -y was used without --allow-downgrades.")
    node = Node(tmp_path, apt=[refusal, refusal])
    with pytest.raises(module.PackageError, match="installed is newer than what is wanted"):
        node.ensure("curl=7.1")
    assert not any("--allow-downgrades" in argv for argv in node.calls)


ETCD = "ii \tetcd-server\tamd64\t3.4.23-4\t\nii \tetcd-client\tamd64\t3.4.23-4\t\n"
NEWER = {"etcd-server": "3.5.*", "etcd-client": "3.5.*"}


def test_an_upgrade_brings_what_it_names_and_nothing_else(tmp_path):
    node = Node(tmp_path, dpkg=ETCD + INSTALLED)
    done = node.ensure("etcd-server", "etcd-client", "curl", upgrade=NEWER)
    assert done["installed"] == {"etcd-server": "3.5.1", "etcd-client": "3.5.1"}
    (argv,) = [argv for argv in node.calls if argv[1] == "install"]
    assert argv[argv.index("--") + 1 :] == ["etcd-client=3.5.*", "etcd-server=3.5.*"]
    assert node.ensure("etcd-server", "etcd-client", upgrade=NEWER)["changed"] is False


def test_without_an_upgrade_what_is_installed_stays_whatever_is_newer(tmp_path):
    node = Node(tmp_path, dpkg=ETCD)
    assert node.ensure("etcd-server", "etcd-client")["changed"] is False
    assert node.verbs() == []


def test_an_upgrade_can_be_taken_back(tmp_path):
    node = Node(tmp_path, dpkg="ii \tprometheus\tamd64\t2.53.3\t\n")
    done = node.ensure("prometheus", upgrade={"prometheus": "2.42.*"})
    assert done["installed"] == {"prometheus": "2.42.1"}
    assert "--allow-downgrades" in node.calls[1]


def test_an_upgrade_installs_nothing_that_does_not_belong_there(tmp_path):
    node = Node(tmp_path)
    with pytest.raises(module.PackageError, match="haproxy"):
        node.ensure("curl", upgrade={"haproxy": "3.*"})
    assert node.calls == []


def test_check_mode_says_what_it_would_install_and_does_nothing(tmp_path):
    node = Node(tmp_path)
    assert node.ensure("fio", check=True)["installed"] == {"fio": ""}
    assert node.verbs() == []


@pytest.mark.parametrize("lists,age", [(False, 3600), (True, 5)])
def test_old_or_missing_lists_are_refreshed_first(tmp_path, lists, age):
    node = Node(tmp_path, lists=lists)
    node.ensure("fio", age=age)
    assert node.verbs() == ["update", "install"]


def test_lists_older_than_a_source_are_refreshed(tmp_path):
    node = Node(tmp_path)
    (tmp_path / "etc/apt").mkdir(parents=True)
    source = tmp_path / "etc/apt/sources.list"
    source.touch()
    os.utime(source, (node.now + 100, node.now + 100))
    node.ensure("fio")
    assert node.verbs() == ["update", "install"]


def test_a_first_failure_is_tried_again_with_fresh_lists(tmp_path):
    node = Node(tmp_path, apt=[(100, "", "E: Failed to fetch http://x 404")])
    assert node.ensure("fio")["changed"]
    assert node.verbs() == ["install", "update", "install"]


def test_a_lock_is_waited_for_where_apt_cannot_wait(tmp_path):
    locked = (100, "", "E: Could not get lock /var/lib/dpkg/lock - open (11)")
    node = Node(tmp_path, apt=[locked, locked])
    assert node.ensure("fio")["changed"]
    assert node.slept == [3, 3]


def test_a_lock_that_is_never_released_is_reported(tmp_path):
    node = Node(tmp_path, apt=[(100, "", "E: Could not get lock /var/lib/dpkg/lock")] * 50)
    with pytest.raises(module.PackageError, match=r"has held the package lock for 60 s.*fuser"):
        node.ensure("fio")


def test_an_interrupted_dpkg_is_repaired_and_may_be_all_that_was_missing(tmp_path):
    node = Node(tmp_path, dpkg=INSTALLED + "iF \tfio\tamd64\t3.3\t\n")
    done = node.ensure("fio")
    assert (done["repaired"], done["installed"]) == (True, {"fio": "3.3"})
    assert node.verbs() == ["dpkg"]


def test_an_update_left_by_a_killed_dpkg_is_repaired_before_installing(tmp_path):
    node = Node(tmp_path)
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/updates/0001").touch()
    assert node.ensure("fio")["repaired"]
    assert node.verbs() == ["dpkg", "install"]


def test_a_dpkg_that_cannot_be_repaired_is_reported(tmp_path):
    node = Node(tmp_path, dpkg=INSTALLED + "iHR\tfio\tamd64\t3.3\t\n")
    with pytest.raises(module.PackageError, match=r"interrupted installation.*\(fio\).*dpkg --configure -a"):
        node.ensure("fio")


@pytest.mark.parametrize(
    "error,message",
    [
        ("E: Unable to locate package nosuch", "do not have what is wanted: Unable to locate package nosuch"),
        ("E: Version '9' for 'fio' was not found", "choose another profile"),
        ("E: Failed to fetch http://x/y.deb  Unable to connect", "source cannot be reached.*packages.proxy"),
        ("E: No space left on device", "full.*free space"),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "full.*free space"),
        ("E: Sub-process /usr/bin/dpkg returned an error code (1)", "Sub-process.*apt-get install nosuch"),
    ],
)
def test_a_failure_says_what_was_wanted_and_what_to_do(tmp_path, error, message):
    node = Node(tmp_path, apt=[(100, "noise\n", error)] * 2)
    with pytest.raises(module.PackageError, match=f"(?s){message}") as caught:
        node.ensure("nosuch")
    assert "Wanted: nosuch" in str(caught.value)
    assert "Remedy:" in str(caught.value)


def test_trouble_with_a_source_does_not_matter_when_the_packages_are_available(tmp_path):
    node = Node(tmp_path, lists=False, update=(0, "", "W: Failed to fetch http://x Temporary failure"))
    assert node.ensure("fio")["changed"]
    assert "Temporary failure" in node.packages.update_trouble
