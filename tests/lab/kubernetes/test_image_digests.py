"""Pods that name an image of the cluster's registry by digest get that image, or none."""

import re
import uuid

import pytest

from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
NAME = "avadm/base"


@pytest.fixture(scope="module")
def space(kube):
    """A namespace; it is gone afterwards."""
    name = f"digest-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {name}")
    yield name
    kube.ctl(f"delete namespace {name} || true")


def pod(kube, space, name, image):
    container = {
        "name": "c",
        "image": image,
        "imagePullPolicy": "Always",
        "command": ["sleep", "300"],
    }
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": space},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
        }
    )


def state(kube, space, name):
    """Return the status of a pod's only container, {} while it has none."""
    return (kube.get(f"pod {name} -n {space}")["status"].get("containerStatuses") or [{}])[0]


def test_a_pod_pulls_the_image_of_its_digest(kube, lab, registry, space):
    node = lab.names("registry")[0]
    # The digest is that of the manifest's bytes.
    raw = f"skopeo inspect --raw --cert-dir /etc/docker/certs.d/{registry} docker://{registry}/{NAME}:12"
    digest = "sha256:" + lab.sh(node, f"{raw} | sha256sum").split()[0]
    image = f"{registry}/{NAME}@{digest}"
    pod(kube, space, "known", image)
    up = wait(lambda: state(kube, space, "known").get("ready"), 90)
    report = kube.ctl(f"describe pod known -n {space}")
    assert up, report
    assert f'Successfully pulled image "{image}"' in report
    assert state(kube, space, "known")["imageID"].endswith(f"/{NAME}@{digest}")


def test_a_digest_that_the_registry_has_not_is_no_other_image(kube, registry, space):
    image = f"{registry}/{NAME}@sha256:{'0' * 64}"
    pod(kube, space, "unknown", image)

    def refused():
        report = kube.ctl(f"describe pod unknown -n {space}")
        return report if "Error: ErrImagePull" in report else ""

    report = wait(refused, 60)
    assert re.search(
        rf'Failed to pull image "{re.escape(image)}": .*manifest.*(unknown|not found)', report
    ), report or kube.ctl(f"describe pod unknown -n {space}")
    found = state(kube, space, "unknown")
    assert found["state"]["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff")
    assert (found["imageID"], found.get("containerID", "")) == ("", "")
