"""avadm_gpu_libraries: which files of the driver containers see, and what is left of an older one."""

import errno
import os

import pytest
from avadm_gpu_libraries import LibrariesError, cached, ensure, wanted

PREFIXES = ["libcuda.so", "libnvidia-"]
NEEDED = ["libcuda.so.1", "nvidia-smi"]


@pytest.fixture
def node(tmp_path):
    """A node with a driver; returns what its linker's cache says."""
    lib = tmp_path / "lib"
    for name in ("libcuda.so.396.44", "libnvidia-ml.so.396.44", "libz.so.1", "bin/nvidia-smi"):
        (lib / name).parent.mkdir(parents=True, exist_ok=True)
        (lib / name).write_text(name)
    (lib / "libcuda.so.1").symlink_to("libcuda.so.396.44")
    (lib / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.396.44")
    return (
        "4 libs found in cache `/etc/ld.so.cache'\n"
        f"\tlibcuda.so.1 (libc6,x86-64) => {lib}/libcuda.so.1\n"
        f"\tlibcuda.so.1 (libc6) => {lib}/32/libcuda.so.1\n"
        f"\tlibnvidia-ml.so.1 (libc6,x86-64) => {lib}/libnvidia-ml.so.1\n"
        f"\tlibz.so.1 (libc6,x86-64) => {lib}/libz.so.1\n"
    )


def laid_out(tmp_path, text, check_mode=False):
    files, links = wanted(text, PREFIXES, ["nvidia-smi", "absent"], NEEDED, [str(tmp_path / "lib/bin")])
    return ensure(str(tmp_path / "root"), files, links, check_mode)


def tree(root):
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())


def test_the_drivers_64_bit_libraries_are_found_wherever_they_are(node):
    assert sorted(cached(node, PREFIXES)) == ["libcuda.so.1", "libnvidia-ml.so.1"]
    assert "/32/" not in str(cached(node, PREFIXES))


@pytest.mark.parametrize("linked", [True, False], ids=["links", "copies"])
def test_the_folder_is_made_once_and_follows_the_driver(node, tmp_path, monkeypatch, linked):
    if not linked:

        def other_file_system(source, path):
            raise OSError(errno.EXDEV, "other file system")

        monkeypatch.setattr(os, "link", other_file_system)
    root = tmp_path / "root"
    assert laid_out(tmp_path, node, check_mode=True) and not root.exists()
    assert laid_out(tmp_path, node)
    libraries = [f"lib64/{name}.so.{end}" for name in ("libcuda", "libnvidia-ml") for end in ("1", "396.44")]
    assert tree(root) == ["bin/nvidia-smi", *libraries]
    assert (root / "lib64/libcuda.so.1").read_text() == "libcuda.so.396.44"
    assert not laid_out(tmp_path, node), "a second run changes nothing"
    # An upgrade: other files, another link.
    (tmp_path / "lib/libcuda.so.1").unlink()
    (tmp_path / "lib/libcuda.so.396.44").rename(tmp_path / "lib/libcuda.so.410.1")
    (tmp_path / "lib/libcuda.so.1").symlink_to("libcuda.so.410.1")
    assert laid_out(tmp_path, node)
    assert tree(root)[2] == "lib64/libcuda.so.410.1" and len(tree(root)) == 5
    assert str((root / "lib64/libcuda.so.1").readlink()) == "libcuda.so.410.1"


def test_a_driver_that_is_gone_leaves_the_folder_as_it_is(node, tmp_path):
    laid_out(tmp_path, node)
    before = tree(tmp_path / "root")
    with pytest.raises(LibrariesError, match=r"no libcuda\.so\.1 in the linker's cache"):
        laid_out(tmp_path, "\n".join(line for line in node.splitlines() if "libcuda" not in line))
    assert tree(tmp_path / "root") == before
