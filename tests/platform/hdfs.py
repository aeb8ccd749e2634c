"""A real HDFS: Hadoop's own NameNode and DataNode of the artifact `hdfs`, with small heaps, as an HDFS that others run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape

import httpx

from bench.control_plane import free_port
from tests.platform.jars import jars

OPEN = [
    f"--add-opens=java.base/{name}=ALL-UNNAMED"
    for name in ("java.lang", "java.nio", "sun.nio.ch", "java.util")
]
"""What Hadoop 2.8, of Java 8's time, looks into."""
JAVA = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *OPEN]
ADMIN = "hdfs"
"""Who started it, and so may do everything there."""
LOGS = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1} %m%n
"""


class Hdfs:
    """An HDFS of one namenode and one datanode.

    Args:
        folder: of its data, configuration and logs.
        address: where it listens.
    """

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self.folder, self.address, self.port = folder, address, free_port()
        self.web = free_port()
        self._jars = jars("hdfs")
        self._running: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        for name in ("hdfs", "datanode"):
            # Its pages are not in the jars.
            (folder / "conf/webapps" / name / "WEB-INF").mkdir(parents=True)
        (folder / "conf/log4j.properties").write_text(LOGS)
        self._configure(
            {
                "fs.defaultFS": f"hdfs://{address}:{self.port}",
                "hadoop.tmp.dir": f"{folder}/tmp",
                "dfs.namenode.name.dir": f"{folder}/name",
                "dfs.datanode.data.dir": f"{folder}/data",
                "dfs.namenode.http-address": f"{address}:{self.web}",
                **{
                    f"dfs.datanode.{name}": f"{address}:{free_port()}"
                    for name in ("address", "ipc.address", "http.address")
                },
                # The datanode is known by its address, whatever this machine is called.
                "dfs.datanode.hostname": address,
                "dfs.namenode.datanode.registration.ip-hostname-check": "false",
                "dfs.replication": "1",
                "dfs.namenode.safemode.extension": "0",
            }
        )

    def __enter__(self) -> Hdfs:
        try:
            self._run("namenode.NameNode", "-format", "-nonInteractive")
            self.start("namenode.NameNode")
            self.start("datanode.DataNode")
            self._until(lambda: '"NumLiveDataNodes" : 1' in self._said("NameNode", "FSNamesystemState"))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *told: object) -> None:
        self.close()

    def start(self, server: str) -> None:
        """Start a server (``namenode.NameNode``)."""
        log = (self.folder / f"{server}.log").open("ab")
        argv = self._command(f"org.apache.hadoop.hdfs.server.{server}")
        self._running[server] = subprocess.Popen(argv, env=self._env(ADMIN), stdout=log, stderr=log), log
        if server.startswith("namenode"):
            self._until(lambda: '"State" : "active"' in self._said("NameNode", "NameNodeStatus"))

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
        return self._run("", *words, main="org.apache.hadoop.fs.FsShell", user=user)

    def _run(self, server: str, *words: str, main: str = "", user: str = ADMIN) -> str:
        argv = [*self._command(main or f"org.apache.hadoop.hdfs.server.{server}"), *words]
        done = subprocess.run(
            argv, env=self._env(user), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout

    def _command(self, main: str) -> list[str]:
        return [
            "java",
            *JAVA,
            f"-Dhadoop.home.dir={self.folder}",
            "-cp",
            f"{self.folder}/conf:{self._jars}/*",
            main,
        ]

    @staticmethod
    def _env(user: str) -> dict[str, str]:
        return {**os.environ, "HADOOP_USER_NAME": user}

    def _configure(self, properties: Mapping[str, str]) -> None:
        rows = [
            f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items()
        ]
        text = "<configuration>\n" + "\n".join(rows) + "\n</configuration>\n"
        for name in ("core-site.xml", "hdfs-site.xml"):
            (self.folder / "conf" / name).write_text(text)

    def _said(self, service: str, name: str) -> str:
        url = f"http://{self.address}:{self.web}/jmx?qry=Hadoop:service={service},name={name}"
        return httpx.get(url, timeout=5, trust_env=False).text

    def _until(self, holds: object) -> None:
        end = time.monotonic() + 120
        while True:
            try:
                if holds():  # type: ignore[operator]
                    return
            except httpx.TransportError:
                pass
            logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
            assert time.monotonic() < end, logs
            assert all(process.poll() is None for process, _ in self._running.values()), logs
            time.sleep(0.3)
