"""What every upgrade must leave as it is: a user, a data set with a file, and a namespace (K11)."""

import hashlib
import io
import json
import secrets
from dataclasses import dataclass

import pytest

from avadm.site.load import load

TEXT = b"not made again by any upgrade\n"


@dataclass
class Marks:
    """Objects that were made before an upgrade.

    Attributes:
        lab: the lab.
        space: name of the namespace.
        user: the user's client; None on a lab without the platform.
        data_set: id of the user's data set.
        before: what was seen of them when they were made.
    """

    lab: object
    space: str
    user: object
    data_set: str = ""
    before: object = None

    def seen(self):
        """Return what identifies the objects: one that was made again has another uid, id or time."""
        master = self.lab.names("master")[0]
        found = {}
        for kind in ("namespace", "configmap"):
            words = f"{kind} {self.space if kind == 'namespace' else f'mark --namespace={self.space}'}"
            meta = json.loads(self.lab.sh(master, f"kubectl get {words} -o json"))["metadata"]
            found[kind] = (meta["uid"], meta["creationTimestamp"])
        if self.user is not None:
            me, data = self.user.me(), self.user.data_set(self.data_set)
            to = io.BytesIO()
            self.user.download(self.data_set, "mark", to)
            found["user"] = (me.id, me.uid, me.created)
            found["data set"] = (data.id, data.created, hashlib.sha256(to.getvalue()).hexdigest())
        return found


@pytest.fixture(scope="session")
def planted(lab, request, tmp_path_factory):
    """Make the objects, as far as the lab has what they are of; they stay in the lab."""
    if not lab.names("master"):
        return None
    space = f"mark-{secrets.token_hex(4)}"
    master = lab.names("master")[0]
    lab.sh(master, f"kubectl create namespace {space}")
    lab.sh(master, f"kubectl create configmap mark --namespace={space} --from-literal=text=mark")
    marks = Marks(lab, space, None)
    if load(lab.site_path).site.components.ava is not None:
        marks.user = request.getfixturevalue("day").user
        marks.data_set = marks.user.make_data_set(space).id
        file = tmp_path_factory.mktemp("marks") / "mark"
        file.write_bytes(TEXT)
        marks.user.upload(marks.user.begin_upload(marks.data_set, "mark", len(TEXT)), file)
    marks.before = marks.seen()
    return marks


@pytest.fixture
def marks(planted):
    """After the test the objects are those that were made before it."""
    yield planted
    if planted is not None:
        assert planted.seen() == planted.before
