"""Whether a site has the source that a data set is to come from."""

from __future__ import annotations

from ava.api.config import Config
from ava.api.schemas.data_sets import SourceIn
from ava.domain.names import shown
from ava.domain.problems import Problem, Refused


def allowed(source: SourceIn, config: Config) -> None:
    """Refuse (422) a source of a kind that the site does not have, and a server or an HDFS that it does not allow."""
    if source.kind == "rbd" and not config.snapshots:
        what = "Nodes of this site mount no block images, so that no data set is a snapshot of one."
        remedy = "The site file: rbd_pools of ceph."
        raise Refused(422, Problem("source-not-here", what, "source.kind", source.kind, remedy=remedy))
    if source.kind == "hdfs" and source.store not in config.hdfs_stores:
        what = "This site reads no data sets from this HDFS."
        found, wanted = shown(source.store or ""), ", ".join(config.hdfs_stores) or "it has none"
        remedy = "The site file: mounts of alluxio with hdfs."
        raise Refused(422, Problem("source-not-here", what, "source.store", found, wanted, remedy))
    if source.kind == "nfs" and source.server not in config.nfs_servers:
        what = "This site reads no data sets from this server."
        found, wanted = shown(source.server or ""), ", ".join(config.nfs_servers) or "it allows no server"
        remedy = "The site file: nfs_servers of ava."
        raise Refused(422, Problem("source-not-here", what, "source.server", found, wanted, remedy))
