"""Whether a site has the source that a data set is to come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ava.domain.names import shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.config import Config


def allowed(source: Mapping[str, Any], config: Config) -> None:
    """Refuse (422) a source of a kind that the site does not have, and a server or an HDFS that it does not allow."""
    kind, store, server = source["kind"], source.get("store") or "", source.get("server") or ""
    if kind == "rbd" and not config.snapshots:
        what = Phrase("Nodes of this site mount no block images, so that no data set is a snapshot of one.")
        remedy = Phrase("The site file: rbd_pools of ceph.")
        raise ApiError(422, Problem("source-not-here", what, "source.kind", kind, remedy=remedy))
    if kind == "hdfs" and store not in config.hdfs_stores:
        what = Phrase("This site reads no data sets from this HDFS.")
        found, wanted = shown(store), ", ".join(config.hdfs_stores) or "it has none"
        remedy = Phrase("The site file: mounts of alluxio with hdfs.")
        raise ApiError(422, Problem("source-not-here", what, "source.store", found, wanted, remedy))
    if kind == "nfs" and server not in config.nfs_servers:
        what = Phrase("This site reads no data sets from this server.")
        found, wanted = shown(server), ", ".join(config.nfs_servers) or "it allows no server"
        remedy = Phrase("The site file: nfs_servers of ava.")
        raise ApiError(422, Problem("source-not-here", what, "source.server", found, wanted, remedy))
