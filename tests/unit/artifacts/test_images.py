import hashlib
import json
import os
import tarfile
from pathlib import Path

from avadm.artifacts import images, tarball


def folder(root: Path) -> Path:
    (root / "b").mkdir(parents=True)
    (root / "b/program").write_text("#!/bin/sh\n")
    (root / "b/program").chmod(0o755)
    (root / "a").symlink_to("b")
    return root


def test_an_archive_is_what_an_engine_loads(tmp_path: Path) -> None:
    layer, target = tmp_path / "layer.tar", tmp_path / "image.tar"
    tarball.pack(folder(tmp_path / "root"), layer)
    image = images.write(target, "avadm/x:1", [layer], entrypoint=["/b/program"], env={"B": "2", "A": "1"})
    with tarfile.open(target) as tar:
        index = json.loads(tar.extractfile("manifest.json").read())[0]  # type: ignore[union-attr]
        body = tar.extractfile(index["Config"]).read()  # type: ignore[union-attr]
        config = json.loads(body)
        [name] = index["Layers"]
        content = tar.extractfile(name).read()  # type: ignore[union-attr]
    assert index["RepoTags"] == ["avadm/x:1"]
    assert image.id == f"sha256:{hashlib.sha256(body).hexdigest()}"
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(content).hexdigest()}"]
    assert content == layer.read_bytes()
    assert config["config"] == {"Env": ["A=1", "B=2"], "Entrypoint": ["/b/program"], "Cmd": None}
    assert images.read(target) == image


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for number in (1, 2):
        root, target = folder(tmp_path / f"root{number}"), tmp_path / f"image{number}.tar"
        os.utime(root / "b/program", (number, number))
        tarball.pack(root, tmp_path / "layer.tar")
        images.write(target, "avadm/x:1", [tmp_path / "layer.tar"])
        made.append(target.read_bytes())
    assert made[0] == made[1]


def test_modes_and_links_are_kept_and_root_owns_all(tmp_path: Path) -> None:
    tarball.pack(folder(tmp_path / "root"), tmp_path / "layer.tar")
    with tarfile.open(tmp_path / "layer.tar") as tar:
        found = {m.name: (m.mode & 0o777, m.linkname, m.uid, m.gid) for m in tar.getmembers()}
    assert found["b/program"] == (0o755, "", 0, 0)
    assert found["a"][1:] == ("b", 0, 0)


def test_a_plain_archive_is_no_image(tmp_path: Path) -> None:
    tarball.pack(folder(tmp_path / "root"), tmp_path / "layer.tar")
    (tmp_path / "text.tar").write_text("no archive")
    assert images.read(tmp_path / "layer.tar") is None
    assert images.read(tmp_path / "text.tar") is None
