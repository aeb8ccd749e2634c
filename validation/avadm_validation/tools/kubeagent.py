#!/usr/bin/env python
"""The program of the acceptance pods: serves its name, asks others, resolves names, shows GPUs, takes memory, keeps files.

Runs in pods, and (``ask``) on a node outside the cluster; Python 2.7 and 3. Each command prints lines of JSON.
"""

from __future__ import print_function

import errno
import hashlib
import json
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

try:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from queue import Empty, Queue
    from socketserver import ThreadingMixIn
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener
except ImportError:  # Python 2.7
    from BaseHTTPServer import BaseHTTPRequestHandler, HTTPServer
    from Queue import Empty, Queue
    from SocketServer import ThreadingMixIn
    from urllib2 import HTTPError, ProxyHandler, Request, build_opener

ME = {"node": os.environ.get("NODE", ""), "pod": os.environ.get("POD", "")}
MINORS = 16  # DGX-1 has 8 cards
NVIDIA = 195  # major number of NVIDIA's devices
MIB = 1 << 20


def say(**what):
    print(json.dumps(dict(ME, **what), sort_keys=True))
    sys.stdout.flush()


class Server(ThreadingMixIn, HTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(ME).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def one(request, timeout):
    """Send one request over a connection of its own; an answer of another server than ours has no pod."""
    answer = {"url": request["url"], "host": request.get("host", ""), "status": 0, "error": ""}
    begun = time.time()
    headers = {"Host": request["host"]} if request.get("host") else {}
    try:
        opened = build_opener(ProxyHandler({})).open(
            Request(request["url"], headers=headers), timeout=timeout
        )
        answer["status"] = opened.getcode()
        answer.update(json.loads(opened.read().decode()))
    except HTTPError as e:
        answer["status"] = e.code
    except (EnvironmentError, ValueError) as e:
        answer["error"] = str(e) or repr(e)
    answer["seconds"] = round(time.time() - begun, 4)
    return answer


def ask(job):
    """Send all requests (``times`` each) from some threads at once."""
    todo, answers = Queue(), []
    for request in job["requests"]:
        for _ in range(int(request.get("times", 1))):
            todo.put(request)

    def work():
        while True:
            try:
                request = todo.get_nowait()
            except Empty:
                return
            answers.append(one(request, float(job.get("timeout", 5))))

    threads = [threading.Thread(target=work) for _ in range(int(job.get("threads", 8)))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say(answers=answers)


def resolver():
    with open("/etc/resolv.conf") as f:
        return re.search(r"^nameserver\s+(\S+)", f.read(), re.M).group(1)


def skip_name(data, at):
    while data[at : at + 1] != b"\0":
        if ord(data[at : at + 1]) >= 0xC0:
            return at + 2
        at += 1 + ord(data[at : at + 1])
    return at + 1


def query(server, name, timeout):
    """Ask for a name's A records by UDP, twice where no answer comes; return (response code, addresses)."""
    head = os.urandom(2)
    question = b"".join(struct.pack("B", len(p)) + p.encode() for p in name.rstrip(".").split("."))
    packet = head + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + question + b"\0" + struct.pack(">HH", 1, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(timeout)
    data = b""
    for last in (False, True):
        s.sendto(packet, (server, 53))
        try:
            data = s.recv(65535)
            break
        except socket.timeout:
            if last:
                raise
    if data[:2] != head:
        raise ValueError("the answer is of another question")
    flags, questions, answers = struct.unpack(">HHH", data[2:8])
    at, found = 12, []
    for _ in range(questions):
        at = skip_name(data, at) + 4
    for _ in range(answers):
        at = skip_name(data, at)
        kind, _, _, size = struct.unpack(">HHIH", data[at : at + 10])
        if kind == 1:
            found.append(socket.inet_ntoa(data[at + 10 : at + 14]))
        at += 10 + size
    return flags & 15, sorted(found)


def resolve(job):
    """Ask the pod's DNS server for each name."""
    answers = {}
    for name in job["names"]:
        try:
            code, addresses = query(job.get("server") or resolver(), name, float(job.get("timeout", 3)))
            answers[name] = {"rcode": code, "addresses": addresses}
        except (EnvironmentError, ValueError, IndexError, struct.error) as e:
            answers[name] = {"rcode": -1, "addresses": [], "error": str(e) or repr(e)}
    say(names=answers)


def present():
    return sorted(n for n in os.listdir("/dev") if re.match(r"nvidia\d+$", n))


def may_open(minor):
    """Whether the kernel lets this container open a card, by a device file of its own making."""
    path = "/tmp/card-%d" % minor
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(NVIDIA, minor))
    except OSError:
        return False  # not even a device file of its own
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as e:
        return e.errno not in (errno.EPERM, errno.EACCES)
    finally:
        os.remove(path)
    return True


def listed():
    """Return how many cards nvidia-smi lists, None where it is not there."""
    try:
        text = subprocess.check_output(["nvidia-smi", "-L"]).decode()
    except (OSError, subprocess.CalledProcessError):
        return None
    return len(re.findall(r"^GPU \d+:", text, re.M))


def gpus():
    """Show which cards this container has: device files, those that it may open, what nvidia-smi lists."""
    opens = [m for m in range(MINORS) if may_open(m)]
    say(visible=os.environ.get("NVIDIA_VISIBLE_DEVICES"), devices=present(), opens=opens, listed=listed())


def hog(mib):
    """Take memory, 4 MiB at a time, and use it."""
    held = []
    for _ in range(int(mib) // 4):
        held.append(bytearray(os.urandom(4096) * 1024))
        time.sleep(0.01)
    say(held_mib=4 * len(held))


def beat():
    """Work without end; tell every half second the longest time in which nothing was done."""
    worst, last, report = 0.0, time.time(), 0.0
    while True:
        time.sleep(0.01)
        now = time.time()
        worst, last = max(worst, now - last), now
        if now - report > 0.5:
            report = now
            say(worst_gap_s=round(worst, 4))


def block(token, i):
    """Return MiB number i of the content that a token stands for; anyone who knows the token knows the digest."""
    return hashlib.sha256(("%s %d" % (token, i)).encode()).digest() * (MIB // 32)


def sync(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write(job):
    """Write the content of the token (and this pod's CLAIM); its digest is printed when the file is on the disk."""
    token, report = "%s %s" % (job["token"], os.environ.get("CLAIM", "")), hashlib.sha256()
    try:
        with open(job["path"], "wb") as f:
            for i in range(int(job["mib"])):
                report.update(block(token, i))
                f.write(block(token, i))
            f.flush()
            os.fsync(f.fileno())
        sync(os.path.dirname(job["path"]))
    except EnvironmentError as e:
        return say(sha256="", error=str(e))
    return say(sha256=report.hexdigest(), error="")


def read(job):
    """Tell the digest of a file as this pod reads it."""
    report = hashlib.sha256()
    try:
        with open(job["path"], "rb") as f:
            for data in iter(lambda: f.read(MIB), b""):
                report.update(data)
    except EnvironmentError as e:
        return say(sha256="", error=str(e))
    return say(sha256=report.hexdigest(), error="")


def main():
    command, rest = sys.argv[1], sys.argv[2:]
    if command == "serve":
        Server(("", int(rest[0])), Handler).serve_forever()
    elif command in ("ask", "resolve", "write", "read"):
        {"ask": ask, "resolve": resolve, "write": write, "read": read}[command](json.loads(rest[0]))
    else:
        {"gpus": gpus, "hog": hog, "beat": beat}[command](*rest)


if __name__ == "__main__":
    main()
