"""Collects, on a node, the facts that preflight needs; Python 2.7 and 3, changes nothing.

It is sent through ssh's stdin behind a line ``PARAMS = "..."`` (JSON: packages, proxy, sources, devices,
ports, own, names, peers, ssh_port, time, only; a proxy may hold a password, hence not through argv), net_probe.py and
sources_probe.py, and prints one JSON object. A fact that cannot be had is null, with its reason under ``errors``.
"""

import glob
import json
import os
import re
import socket
import subprocess
import sys
import threading

# Few modules: on each of hundreds of nodes an import costs more than what is done with it.
ERRORS = {}
WAITS = ("resolution", "peers", "time_sources", "package_sources", "registries")


def read(path):
    with open(path) as source:
        return source.read()


def call(*argv):
    """Return (exit status, stdout, stderr) of a program."""
    environment = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, err = process.communicate()
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def release():
    """Distribution, its release and the kernel."""
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', read("/etc/os-release"), re.M))
    return {
        "id": values.get("ID", ""),
        "release": values.get("VERSION_ID", ""),
        "name": values.get("PRETTY_NAME", ""),
        "kernel": os.uname()[2],
        "machine": os.uname()[4],
    }


def addresses():
    """IPv4 addresses of this machine, from the kernel's own table (ip(8) may not be installed yet)."""
    found = re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL", read("/proc/net/fib_trie"))
    return sorted(set(found))


def drives():
    """Disks of this machine: name, GiB, whether they spin (null: not told)."""
    found = []
    for name in sorted(os.listdir("/sys/block")):
        base = "/sys/block/%s/" % name
        if re.match(r"(loop|ram|zram|dm-|md|sr|fd|nbd|rbd)", name) or slurp(base + "removable") == "1":
            continue
        turning = slurp(base + "queue/rotational")
        gib = int(slurp(base + "size") or 0) // 2**21
        found.append({"name": name, "gib": gib, "rotational": None if turning is None else turning == "1"})
    return found


def memory():
    """MiB of memory in all, and of it available."""
    found = dict(re.findall(r"^(MemTotal|MemAvailable):\s+(\d+)", read("/proc/meminfo"), re.M))
    return {"total_mib": int(found["MemTotal"]) // 1024, "available_mib": int(found["MemAvailable"]) // 1024}


def swap():
    """Swap space in use: what it is, its size and what of it is used, MiB."""
    lines = [line.split() for line in read("/proc/swaps").splitlines()[1:]]
    return [{"name": w[0], "mib": int(w[2]) // 1024, "used_mib": int(w[3]) // 1024} for w in lines if w]


def space():
    """MiB free for root on the file systems that we write to."""
    free = {}
    for path in ("/", "/var/lib", "/tmp"):
        if os.path.isdir(path):
            state = os.statvfs(path)
            free[path] = state.f_bavail * state.f_frsize // 2**20
    return free


def hosts():
    """Name to addresses, as /etc/hosts has it."""
    names = {}
    for line in read("/etc/hosts").splitlines():
        words = line.split("#")[0].split()
        for name in words[1:]:
            names.setdefault(name, []).append(words[0])
    return names


def listening(ports):
    """Port to the names of the programs that listen on it, for these TCP ports."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            for line in read(table).splitlines()[1:]:
                words = line.split()
                address, _, port = words[1].rpartition(":")
                port = int(port, 16)
                # A node's own name service on loopback (127.0.0.53) is in nobody's way.
                if words[3] == "0A" and port in ports and not (port == 53 and address.endswith("7F")):
                    sockets["socket:[%s]" % words[9]] = port
    found = dict((str(port), []) for port in sockets.values())
    for link in glob.glob("/proc/[0-9]*/fd/*") if sockets else []:
        try:
            port = sockets.get(os.readlink(link))
            if port is not None:
                found[str(port)].append(read("/proc/%s/comm" % link.split("/")[2]).strip())
        except (OSError, IOError):
            pass  # the process ended meanwhile
    return dict((port, sorted(set(names))) for port, names in found.items())


def block_devices():
    """Kernel name to serial and WWN of each whole block device."""
    code, out, err = call("lsblk", "-d", "-n", "-P", "-o", "NAME,SERIAL,WWN")
    if code != 0:
        raise RuntimeError("lsblk: " + err.strip())
    return dict(
        (m[0], (m[1], m[2])) for m in re.findall(r'NAME="([^"]*)" SERIAL="([^"]*)" WWN="([^"]*)"', out)
    )


def devices(wanted):
    """What is behind each approved device: why it may be unfit; that one is blank is proven by `proof`."""
    table = block_devices() if any(not w.get("by_id") for w in wanted) else {}
    return [device(w, table) for w in wanted]


def device(wanted, table):
    """One approved device."""
    if wanted.get("by_id"):
        paths = [wanted["by_id"]] if os.path.exists(wanted["by_id"]) else []
    else:
        column = 0 if wanted.get("serial") else 1
        value = wanted.get("serial") or wanted.get("wwn")
        paths = ["/dev/" + name for name, ids in table.items() if value and ids[column] == value]
    if len(paths) != 1:
        return {"matches": len(paths)}
    path = os.path.realpath(paths[0])
    number = os.stat(path).st_rdev
    base = "/sys/dev/block/%d:%d" % (os.major(number), os.minor(number))
    name = os.path.basename(os.path.realpath(base))
    used = [
        w[1]
        for w in (line.split() for line in read("/proc/self/mounts").splitlines())
        if w[0].startswith("/dev/") and os.path.realpath(w[0]) == path
    ]
    used += [
        "swap" for line in read("/proc/swaps").splitlines()[1:] if os.path.realpath(line.split()[0]) == path
    ]
    code, out, _ = call("blkid", "-p", "-o", "export", path)
    signature = re.findall(r"^(?:PTTYPE|TYPE)=(.*)$", out, re.M) if code == 0 else []
    fact = {
        "matches": 1,
        "path": path,
        "used": used,
        "holders": holders(base),
        "partitions": sorted(os.path.basename(p) for p in glob.glob("%s/%s*" % (base, name))),
        "signature": signature,
        "rotational": None,
        "whole": os.path.exists(base + "/queue"),
        "gib": int(slurp(base + "/size") or 0) // 2**21,
    }
    if os.path.exists(base + "/queue/rotational") and not name.startswith("loop"):
        fact["rotational"] = read(base + "/queue/rotational").strip() == "1"
    return fact


def proof(given):
    """What the role that makes OSDs will say of each approved device: its own code is asked, not ours."""
    if not given:
        return []
    scope = {}
    exec(given["loader"], scope)
    scope["load"](given["sources"])
    from ansible.module_utils import avadm_disk_report

    return avadm_disk_report.approved(given)


def holders(base):
    """What is stacked on a device: a device mapper's own name (ceph--UUID-osd--block--UUID) before dm-N."""
    found = []
    for path in glob.glob(base + "/holders/*"):
        name = path + "/dm/name"
        found.append(read(name).strip() if os.path.exists(name) else os.path.basename(path))
    return sorted(found)


def trusted(keys, folder):
    """A folder with the keys that this node trusts, and the site's: the base phase writes these, not preflight."""
    import base64
    import shutil

    os.mkdir(folder)
    for path in glob.glob("/etc/apt/trusted.gpg.d/*"):
        shutil.copy(path, folder)
    for name, key in keys.items():
        with open("%s/avadm-%s.gpg" % (folder, name), "wb") as out:
            out.write(base64.b64decode(key))
    # apt reads it as its own user.
    os.chmod(os.path.dirname(folder), 0o755)
    return ["-o", "Dir::Etc::TrustedParts=" + folder]


def apt_options(proxy, sources, folder, keys=None):
    """Options for apt: the site's proxy and sources in place of the node's, in a folder of our own."""
    options = ["-o", "Acquire::http::Proxy=" + proxy] if proxy else []
    options += ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15", "-o", "DPkg::Lock::Timeout=60"]
    if keys:
        options += trusted(keys, folder + "/trusted")
    if sources:
        # The node's own lists stay untouched: the base phase writes the sources, not preflight.
        os.mkdir(folder + "/lists")
        with open(folder + "/sources.list", "w") as out:
            out.write("\n".join(sources) + "\n")
        for key, value in (
            ("Etc::SourceList", folder + "/sources.list"),
            ("Etc::SourceParts", "-"),
            ("State::Lists", folder + "/lists"),
        ):
            options += ["-o", "Dir::%s=%s" % (key, value)]
    return options


def packages(names, options):
    """Package name to the version that could be installed, or null; with the trouble of the update."""
    found = candidates(names, options)
    trouble = None
    if not all(found.values()):
        code, _, err = call("apt-get", "-q", "update", *options)
        # A cache that several nodes ask at once for what it has to fetch anew may turn one of them away.
        if re.search(r" 50[234] ", err):
            code, _, err = call("apt-get", "-q", "update", *options)
        trouble = err.strip()[-400:] if code != 0 or "Failed to fetch" in err else None
        found = candidates(names, options)
    return {"candidates": found, "trouble": trouble}


def candidates(names, options):
    """Package name to candidate version or null, by apt-cache."""
    found = dict((name, None) for name in names)
    _, out, _ = call("apt-cache", "policy", *(options + names))
    for name, version in re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (.*)$", out, re.M):
        if version != "(none)":
            found[name] = version
    return found


def main(params):
    """Collect everything; one missing fact hides no other."""
    folder = call("mktemp", "-d")[1].strip() if params["sources"] or params["keys"] else None
    try:
        collect(params, apt_options(params["proxy"], params["sources"], folder, params["keys"]))
    finally:
        if folder:
            call("rm", "-rf", folder)


def collect(params, options):
    """Collect the facts that are wanted and print them."""
    jobs = {
        "os": release,
        "hostname": socket.gethostname,
        "addresses": addresses,
        "memory": memory,
        "swap": swap,
        "space": space,
        "hosts": hosts,
        "listening": lambda: listening(set(params["ports"])),
        "devices": lambda: devices(params["devices"]),
        "proof": lambda: proof(params["proof"]),
        "packages": lambda: packages(params["packages"], options),
        "python": lambda: sys.version.split()[0],
        "cpus": lambda: os.sysconf("SC_NPROCESSORS_ONLN"),
        "drives": drives,
        "machine_id": lambda: slurp("/etc/machine-id") or "",
        "nics": lambda: nics(params["own"]),
        "links": interfaces,
        "resolution": lambda: resolution(params["names"], params["own"][0]),
        "peers": lambda: peers(params["peers"], params["ssh_port"]),
        "filters": lambda: filters(call),
        "time_sources": lambda: time_sources(params["time"]),
        "package_sources": lambda: package_sources(call, params["proxy"], options),
        "registries": lambda: registries(params["registries"]),
    }
    facts = {}

    def take(name, job):
        try:
            facts[name] = job()
        except Exception as error:
            facts[name] = None
            ERRORS[name] = "%s: %s" % (type(error).__name__, error)

    wanted = [n for n in jobs if params["only"] is None or n in params["only"]]
    # What waits for others waits at the same time; the rest goes one by one, or threads would fight for the CPU.
    waiting = [threading.Thread(target=take, args=(n, jobs[n])) for n in wanted if n in WAITS]
    for thread in waiting:
        thread.start()
    for name in wanted:
        if name not in WAITS:
            take(name, jobs[name])
    for thread in waiting:
        thread.join()
    facts["errors"] = ERRORS
    sys.stdout.write(json.dumps(facts) + "\n")


if "PARAMS" in globals():  # the line in front of this file sets it; a unit test imports the file without
    main(json.loads(PARAMS))
