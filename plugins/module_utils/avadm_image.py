"""Archives of container images. Runs on nodes: python 2.7 and 3."""

from __future__ import absolute_import, division, print_function

import json
import tarfile


class ImageError(Exception):
    """The image is not available; the text is for people."""


def archived(path, name):
    """Return the id of the image of this name in an archive."""
    try:
        with tarfile.open(path) as tar:
            listed = json.loads(tar.extractfile("manifest.json").read().decode("utf-8"))
    except (IOError, OSError, KeyError, ValueError, tarfile.TarError) as error:
        raise ImageError("%s is no archive of images: %s. Remedy: build the artifact again." % (path, error))
    for image in listed:
        if name in (image.get("RepoTags") or []):
            # blobs/sha256/ID in archives of newer releases, ID.json in older ones.
            return "sha256:" + image["Config"].rpartition("/")[2].partition(".")[0]
    have = ", ".join(tag for image in listed for tag in image.get("RepoTags") or [])
    raise ImageError("%s has no image %s, but %s." % (path, name, have or "none with a name"))
