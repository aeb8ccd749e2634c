"""What only a kernel of one's own can show, tried inside the machine after the roles have run. Prints one JSON object.

usage: inside.py before|after   (a reboot)
"""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, "/usr/local/lib/avadm-vm/volumes.pyz")
RESULTS = {}


def sh(command, check=True):
    done = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True
    )
    if check and done.returncode != 0:
        raise RuntimeError("%s: %s" % (command, done.stdout.strip()[-500:]))
    return done.stdout.strip()


def trial(job):
    start = time.time()
    try:
        found, good = job(), True
    except Exception as error:
        found, good = "%s: %s" % (type(error).__name__, error), False
    RESULTS[job.__name__] = {"good": good, "seen": found, "seconds": round(time.time() - start, 1)}


def need(good, message):
    if not good:
        raise RuntimeError(message)
    return message


def osds_on_lvm():
    listed = json.loads(sh("ceph-volume lvm list --format json"))
    paths = sorted(one["lv_path"] for volumes in listed.values() for one in volumes if one["type"] == "block")
    up = json.loads(sh("ceph osd stat --format json"))
    return need(
        len(paths) == 2 and up["num_up_osds"] == 2, "%s; %d up" % (", ".join(paths), up["num_up_osds"])
    )


def kernel_mount():
    kind = sh("findmnt -n -o FSTYPE,OPTIONS /mnt/cephfs")
    sh("cd /mnt/cephfs && echo text > a && cp a b && sync && cmp a b && rm a b")
    return need(kind.startswith("ceph "), kind)


def kernel_mount_keeps_quotas():
    # Set by who may (the volumes' identity has `p`); here the administrator's mount does.
    sh("mkdir -p /run/adm && mount -t ceph %s:/ /run/adm -o name=admin" % "10.79.250.2")
    try:
        sh("mkdir -p /run/adm/q && setfattr -n ceph.quota.max_bytes -v 4194304 /run/adm/q")
        time.sleep(5)
        report = sh("dd if=/dev/zero of=/mnt/cephfs/q/x bs=1M count=64 conv=fsync 2>&1 | head -1", False)
        return need("quota" in report.lower(), report)
    finally:
        sh("rm -rf /run/adm/q; umount /run/adm", False)


def krbd():
    from avadm_node.agents.volumes.common import VolumeError
    from avadm_node.agents.volumes.map import Images

    images = Images({"pool": "rbd", "entity": "client.rbd", "mapper": "krbd", "node": "vm1"})
    images.rbd("create", "--size", "64", "--image-feature", "layering,exclusive-lock", "rbd/vm")
    path = images.claim("vm")
    try:
        sh(
            "mkfs.ext4 -q %s && mkdir -p /run/img && mount %s /run/img && echo kept > /run/img/f && umount /run/img"
            % (path, path)
        )
        try:
            images.claim("vm")
            raise RuntimeError("a second writer was let in")
        except VolumeError as error:
            refused = str(error)
    finally:
        images.unmap("vm")
    read = images.map("vm", read_only=True)
    try:
        sh("mount -o ro,noload %s /run/img" % read)
        text = sh("cat /run/img/f; umount /run/img")
        rc = subprocess.call("dd if=/dev/zero of=%s bs=4k count=1 2>/dev/null" % read, shell=True)
    finally:
        images.unmap("vm")
    images.rbd("rm", "--no-progress", "rbd/vm")
    need(not images.devices("vm"), "still mapped")
    return need(text == "kept" and rc != 0, "mapped as %s and %s; second writer: %s" % (path, read, refused))


def ip_vs():
    server = subprocess.Popen(["python3", "-m", "http.server", "8080", "--directory", "/etc/ceph"])
    try:
        sh("modprobe ip_vs && modprobe ip_vs_rr && modprobe dummy")
        sh("ip link add kube-ipvs0 type dummy && ip addr add 10.96.0.77/32 dev kube-ipvs0", False)
        sh("ipvsadm -A -t 10.96.0.77:80 -s rr && ipvsadm -a -t 10.96.0.77:80 -r 10.79.250.2:8080 -m")
        time.sleep(5)
        report = sh("curl -s -o /dev/null -w '%{http_code}' --max-time 60 http://10.96.0.77/ceph.conf")
        return need(report == "200", "status %s; %s" % (report, sh("ipvsadm -Ln").splitlines()[-1]))
    finally:
        server.kill()
        sh("ipvsadm -C; ip link del kube-ipvs0", False)


def ipip():
    sh("modprobe ipip")
    return need("tunl0" in sh("ip -o link show type ipip"), sh("ip -o link show type ipip"))


def kernel_settings():
    wanted = {"vm.swappiness": "10", "net.bridge.bridge-nf-call-iptables": "1", "fs.aio-max-nr": "1048576"}
    seen = dict((name, open("/proc/sys/" + name.replace(".", "/")).read().strip()) for name in wanted)
    return need(seen == wanted, json.dumps(seen, sort_keys=True))


def no_swap():
    return need(len(open("/proc/swaps").read().splitlines()) == 1, open("/proc/swaps").read().strip())


def up_again():
    end = time.time() + 600
    while time.time() < end and "HEALTH_ERR" not in sh("ceph health", False):
        stat = json.loads(sh("ceph osd stat --format json"))
        if stat["num_up_osds"] == 2 and os.path.ismount("/mnt/cephfs"):
            return "%s; %d OSDs up; /mnt/cephfs is mounted" % (sh("ceph health"), stat["num_up_osds"])
        time.sleep(3)
    raise RuntimeError(sh("ceph -s; findmnt /mnt/cephfs", False))


BEFORE = (osds_on_lvm, kernel_mount, kernel_mount_keeps_quotas, krbd, ip_vs, ipip, kernel_settings, no_swap)
AFTER = (up_again, osds_on_lvm, kernel_mount, kernel_settings, no_swap)
for one in BEFORE if sys.argv[1] == "before" else AFTER:
    trial(one)
print(json.dumps(RESULTS))
