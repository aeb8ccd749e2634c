"""What an owner has in the registry: bytes that count, bytes that wait for the collection, images. Python 3.5 or later."""

REPOSITORIES, MANIFESTS, TAGS, LAYERS = 1000, 5000, 10000, 50000
MANIFEST_BYTES = 64 * 2**20
"""What is counted of one owner at most, so that no user delays others by what they have pushed."""


class Countless(Exception):
    """An owner has more than is counted."""


class Account:
    """What is counted of an owner.

    A layer counts once, in however many images it is, even if other owners have it too: what somebody else pushes or removes
    changes no one's account. What no manifest names (layers of a push that was cut off) counts until it is collected.

    Attributes:
        used: bytes of images and of what is being sent or was.
        loose: bytes among these that no manifest names; the next collection gives them back.
        waiting: bytes that only deleted images had, the same.
        countless: whether there is more than is counted; the rest says what was counted.
        uploads: folder to bytes of what is being sent.
        images: one dictionary for each image.
    """

    def __init__(self, storage, owner):
        self._storage, self._sizes, self._read = storage, {}, 0
        self._seen, self._layers, self._tags = set(), 0, 0
        self.owner, self.countless, self.images, self.uploads = owner, False, [], {}
        self._kept, self._gone, self._loose = set(), set(), set()
        try:
            for number, (name, path) in enumerate(storage.repositories(owner)):
                if number >= REPOSITORIES:
                    raise Countless
                self.uploads.update(storage.uploads(path))
                self._repository(name, path)
        except Countless:
            self.countless = True
        self._gone -= self._kept
        self._loose -= self._kept | self._gone
        self.loose = self._sum(self._loose)
        self.used = self._sum(self._kept) + self.loose + sum(self.uploads.values())
        self.waiting = self._sum(self._gone)

    def _repository(self, name, path):
        layers = self._storage.layers(path)
        self._loose |= layers
        self._layers += len(layers)
        if self._layers > LAYERS:
            raise Countless
        live, deleted = self._storage.revisions(path)
        named, tags = {}, self._storage.tags(path)
        self._tags += len(tags)
        if self._tags > TAGS:
            raise Countless
        for tag, (digest, time) in sorted(tags.items()):
            if digest in live:
                named.setdefault(digest, []).append(tag)
                live[digest] = max(live[digest], time)
        for digest, time in sorted(live.items()):
            whole = self._whole(digest)
            self._kept |= whole
            found = self._storage.named(digest) or ((), ())
            self.images.append(
                {
                    "repository": name,
                    "digest": "sha256:" + digest,
                    "tags": named.get(digest, []),
                    "size": self._sum(whole),
                    "pushed": time,
                    "parts": sorted("sha256:" + child for child in found[1]),
                }
            )
        for digest in sorted(deleted):
            self._gone |= self._whole(digest)

    def _whole(self, digest):
        """Return a manifest and all that it names, manifests of a list with what they name; nothing of what is gone."""
        whole, left, read = set(), [digest], set()
        while left:
            one = left.pop()
            if one in read:
                continue
            read.add(one)
            if self._size(one):
                self._count(one)
                found = self._storage.named(one) or ((), ())
                whole |= {one}.union(found[0])
                left += found[1]
        return whole

    def _count(self, manifest):
        if manifest not in self._seen:
            self._seen.add(manifest)
            self._read += self._size(manifest)
            if len(self._seen) > MANIFESTS or self._read > MANIFEST_BYTES:
                raise Countless

    def _size(self, digest):
        if digest not in self._sizes:
            self._sizes[digest] = self._storage.size(digest)
        return self._sizes[digest]

    def _sum(self, digests):
        return sum(self._size(digest) for digest in digests)


def limit(owner, limits):
    """Return the bytes that an owner may have, None for any number: their own limit, else that of all users or groups."""
    return limits[owner] if owner in limits else limits.get(owner.partition("/")[0])
