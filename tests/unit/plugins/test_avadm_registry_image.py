"""avadm_registry_image: an image is put where the registry has not exactly this one."""

import json

import pytest
from ansible.module_utils.avadm_image import ImageError
from avadm_registry_image import Registry, ensure

from tests.unit.fakes.builders import tar

NAME = "avadm/base:12"


@pytest.fixture
def archive(tmp_path):
    listed = [{"Config": "abc.json", "RepoTags": [NAME], "Layers": []}]
    return str(tar(tmp_path / "image.tar", {"manifest.json": json.dumps(listed)}))


class Skopeo:
    """skopeo in front of a registry that holds one image, or none."""

    def __init__(self, held=None, keeps="sha256:abc", trouble="manifest unknown"):
        self.held, self.keeps, self.trouble, self.put = held, keeps, trouble, []

    def __call__(self, argv):
        assert "/certs" in argv
        if "inspect" in argv:
            if self.held is None:
                return 1, "", f"Error reading manifest: {self.trouble}"
            return 0, json.dumps({"config": {"digest": self.held}}), ""
        self.put.append(argv[-2:])
        self.options = argv[:-2]
        self.held = self.keeps
        return 0, "", ""


def put(skopeo, archive, dry=False):
    return ensure(Registry(skopeo, "r:5000", "/certs"), NAME, archive, dry)


@pytest.mark.parametrize(("held", "count"), [(None, 1), ("sha256:old", 1), ("sha256:abc", 0)])
def test_only_another_image_is_put(archive, held, count):
    skopeo = Skopeo(held)
    assert put(skopeo, archive) == (bool(count), "sha256:abc")
    assert skopeo.put == [[f"docker-archive:{archive}:{NAME}", f"docker://r:5000/{NAME}"]] * count


def test_a_dry_run_puts_nothing(archive):
    skopeo = Skopeo()
    assert put(skopeo, archive, dry=True)[0]
    assert skopeo.put == []


def test_a_registry_that_refuses_is_not_one_without_the_image(archive):
    with pytest.raises(ImageError, match=r"cannot be asked: .*certificate required"):
        put(Skopeo(trouble="tls: certificate required"), archive)


def test_another_image_than_was_put_is_reported(archive):
    with pytest.raises(ImageError, match="keeps avadm/base:12 as sha256:x, wanted sha256:abc"):
        put(Skopeo(keeps="sha256:x"), archive)


@pytest.mark.parametrize(("level", "wanted"), [(None, []), (1, ["--dest-compress-level", "1"])])
def test_a_large_image_is_put_with_less_compression_where_that_is_asked(archive, level, wanted):
    skopeo = Skopeo()
    ensure(Registry(skopeo, "r:5000", "/certs", level), NAME, archive, False)
    assert [word for word in skopeo.options if word in ("--dest-compress-level", "1")] == wanted
