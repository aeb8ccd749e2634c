"""Disks pulled out of a container and inserted: the number of the bay stays, no other disk is touched."""

from test_docker_machine import STOR, it, up  # noqa: F401  a fixture

from avadm_lab.docker import bays
from avadm_lab.layout import MIB, Disk
from tests.unit.fakes.errors import refused

NEW = Disk("LAB-stor1-b2", "b", 5 * MIB)


def test_a_disk_is_pulled_and_its_file_stays(it):  # noqa: F811
    up(it)
    [disk] = STOR.disks
    it.driver.pull(STOR, disk)
    assert it.kernel.at == {}
    assert (it.folder.disks / f"{disk.serial}.img").exists()
    [line] = it.proc.ran("docker exec avadm-lab-stor1 sh -c set -e\nrm")
    assert f"rm -f {disk.by_id} /dev/sdb\n" in line
    assert "kill -9" in line
    assert bays._line(disk) in line


def test_another_is_inserted_at_the_same_number(it):  # noqa: F811
    up(it)
    it.driver.pull(STOR, STOR.disks[0])
    it.driver.insert(STOR, NEW)
    assert it.kernel.at == {0: str(it.folder.disks / "LAB-stor1-b2.img")}
    assert (it.folder.disks / "LAB-stor1-b2.img").stat().st_size == 5 * MIB
    [line] = it.proc.ran("mknod -m 660 /dev/sdb")
    assert "mknod -m 660 /dev/sdb b 7 0\n" in line
    assert f"ln -sfn ../../sdb {NEW.by_id}" in line


def test_a_bay_whose_number_was_taken_is_refused(it):  # noqa: F811
    up(it)
    it.driver.pull(STOR, STOR.disks[0])
    it.kernel.at[0] = "/theirs"
    assert refused(it.driver.insert, STOR, NEW)[0].check == "lab-disk-bay"
    assert it.kernel.at == {0: "/theirs"}


def test_a_disk_that_something_holds_is_reported(it, monkeypatch):  # noqa: F811
    up(it)
    monkeypatch.setattr(bays, "_HELD_S", 0.0)
    it.proc.on("^losetup --detach")
    found = refused(
        lambda: bays.pull(it.driver.docker, it.driver.config, it.driver.loops, STOR, STOR.disks[0])
    )
    assert found[0].check == "lab-disk-held"
