"""A real HDFS: Hadoop's own NameNode and DataNode of the artifact `hdfs`, with small heaps, as an HDFS that others run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape

import httpx

from avadm.components.alluxio.variables import FAILOVER
from bench.control_plane import free_port
from tests.platform.jars import jars

OPEN = [
    f"--add-opens=java.base/{name}=ALL-UNNAMED"
    for name in ("java.lang", "java.nio", "sun.nio.ch", "java.util")
]
"""What Hadoop 2.8, of Java 8's time, looks into."""
JAVA = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *OPEN]
SERVERS = "org.apache.hadoop.hdfs.server"
ADMIN = "hdfs"
"""Who started it, and so may do everything there."""
LOGS = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1} %m%n
"""


BY_NAME = "dfs.client.use.datanode.hostname"
"""Whether a client asks datanodes by their names in the place of the address that the namenode saw them at."""
SERVICE = "ha"
"""What two namenodes together are called among themselves."""
HADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"


class Hdfs:
    """An HDFS of one datanode, and of one namenode or two of which one is active.

    Args:
        folder: of its data, configuration and logs.
        address: where it listens.
        several: whether it has two namenodes, which share a folder of edits; no one but ``activate`` changes the active one.
    """

    def __init__(self, folder: Path, address: str = "127.0.0.1", *, several: bool = False) -> None:
        self.folder, self.address = folder, address
        self.names = ("n1", "n2") if several else ("n1",)
        self._ports = {name: (free_port(), free_port()) for name in self.names}
        self._jars = jars("hdfs") / "jars"
        self._running: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        common = self._common()
        for name in self.names:
            self._configure(name, common | self._own(name))

    @property
    def namenodes(self) -> list[str]:
        """Where its namenodes listen, HOST:PORT."""
        return [f"{self.address}:{rpc}" for rpc, _ in self._ports.values()]

    def __enter__(self) -> Hdfs:
        try:
            self._run(f"{SERVERS}.namenode.NameNode", "-format", "-nonInteractive")
            self.start("n1")
            if "n2" in self.names:
                self._run(f"{SERVERS}.namenode.NameNode", "-bootstrapStandby", "-nonInteractive", of="n2")
                self.start("n2")
                self.activate("n1")
            self.start("datanode")
            self._until(lambda: '"NumLiveDataNodes" : 1' in self._jmx("n1", "FSNamesystemState"))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self, server: str) -> None:
        """Start a server: ``datanode``, or a namenode by its name."""
        log = (self.folder / f"{server}.log").open("ab")
        name = "n1" if server == "datanode" else server
        main = "datanode.DataNode" if server == "datanode" else "namenode.NameNode"
        argv = self._command(f"{SERVERS}.{main}", name)
        self._running[server] = subprocess.Popen(argv, env=self._env(ADMIN), stdout=log, stderr=log), log
        if server != "datanode":
            states = ("active", "standby") if len(self.names) > 1 else ("active",)
            self._until(lambda: any(f'"State" : "{s}"' in self._jmx(name, "NameNodeStatus") for s in states))

    def activate(self, name: str) -> None:
        """Have a namenode be the active one; the former one has to be on standby."""
        self._run(HADMIN, "-transitionToActive", name)

    def rest(self, name: str) -> None:
        """Have the active namenode be on standby."""
        self._run(HADMIN, "-transitionToStandby", name)

    def stop(self, server: str) -> None:
        """Kill a server, as where its machine is lost."""
        process, log = self._running.pop(server)
        process.kill()
        process.wait(10)
        log.close()

    def close(self) -> None:
        """End all of it."""
        for server in list(self._running):
            self.stop(server)

    def shell(self, *words: str, user: str = ADMIN) -> str:
        """Return what `hdfs dfs` says."""
        return self._run("org.apache.hadoop.fs.FsShell", *words, user=user)

    def _run(self, main: str, *words: str, of: str = "n1", user: str = ADMIN) -> str:
        argv = [*self._command(main, of), *words]
        done = subprocess.run(
            argv, env=self._env(user), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout

    def _command(self, main: str, of: str) -> list[str]:
        path = f"{self.folder}/{of}:{self._jars}/*"
        return ["java", *JAVA, f"-Dhadoop.home.dir={self.folder}", "-cp", path, main]

    @staticmethod
    def _env(user: str) -> dict[str, str]:
        return {**os.environ, "HADOOP_USER_NAME": user}

    def _common(self) -> dict[str, str]:
        ports = {name: f"{self.address}:{free_port()}" for name in ("address", "ipc.address", "http.address")}
        found = {
            "dfs.datanode.data.dir": f"{self.folder}/data",
            **{f"dfs.datanode.{name}": where for name, where in ports.items()},
            # The datanode is known by its address, whatever this machine is called and another one of its addresses is.
            "dfs.datanode.hostname": self.address,
            BY_NAME: "true",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.replication": "1",
            "dfs.namenode.safemode.extension": "0",
        }
        if len(self.names) == 1:
            rpc, web = self._ports["n1"]
            one = {"fs.defaultFS": f"hdfs://{self.address}:{rpc}"}
            return found | one | {"dfs.namenode.http-address": f"{self.address}:{web}"}
        for name, (rpc, web) in self._ports.items():
            found[f"dfs.namenode.rpc-address.{SERVICE}.{name}"] = f"{self.address}:{rpc}"
            found[f"dfs.namenode.http-address.{SERVICE}.{name}"] = f"{self.address}:{web}"
        return found | {
            "fs.defaultFS": f"hdfs://{SERVICE}",
            "dfs.nameservices": SERVICE,
            f"dfs.ha.namenodes.{SERVICE}": ",".join(self.names),
            f"dfs.client.failover.proxy.provider.{SERVICE}": FAILOVER,
            "dfs.namenode.shared.edits.dir": f"file://{self.folder}/edits",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
        }

    def _own(self, name: str) -> dict[str, str]:
        """Return what differs between namenodes."""
        own = {
            "hadoop.tmp.dir": f"{self.folder}/tmp-{name}",
            "dfs.namenode.name.dir": f"{self.folder}/name-{name}",
        }
        return own | ({"dfs.ha.namenode.id": name} if len(self.names) > 1 else {})

    def _configure(self, name: str, properties: Mapping[str, str]) -> None:
        rows = [
            f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items()
        ]
        text = "<configuration>\n" + "\n".join(rows) + "\n</configuration>\n"
        folder = self.folder / name
        for page in ("hdfs", "datanode"):
            # Their pages are not in the jars.
            (folder / "webapps" / page / "WEB-INF").mkdir(parents=True)
        (folder / "log4j.properties").write_text(LOGS)
        (self.folder / "edits").mkdir(exist_ok=True)
        for file in ("core-site.xml", "hdfs-site.xml"):
            (folder / file).write_text(text)

    def _jmx(self, name: str, what: str) -> str:
        url = f"http://{self.address}:{self._ports[name][1]}/jmx?qry=Hadoop:service=NameNode,name={what}"
        return httpx.get(url, timeout=5, trust_env=False).text

    def _until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while True:
            try:
                if holds():
                    return
            except httpx.TransportError:
                pass
            logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
            assert time.monotonic() < end, logs
            assert all(process.poll() is None for process, _ in self._running.values()), logs
            time.sleep(0.3)
