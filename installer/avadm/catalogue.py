"""The catalogue of the installer's findings: what each code says, how much it matters, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from avadm.findings import Finding, Severity


@dataclass(frozen=True, slots=True)
class FindingType:
    """What findings of one code share; texts are templates, filled with the fields that a finding is given.

    Attributes:
        what: one sentence saying what is wrong.
        remedy: what to do.
        severity: how much it matters.
        check: the check or rule that users name; the code itself where empty.
    """

    what: str
    remedy: str = ""
    severity: Severity = Severity.ERROR
    check: str = ""


def finding(
    code: str,
    where: str = "",
    found: str = "",
    wanted: str = "",
    *,
    host: str | None = None,
    severity: Severity | None = None,
    **fields: Any,
) -> Finding:
    """Return a finding of a code.

    Args:
        code: key of CATALOGUE.
        where: as Finding has it.
        found: as Finding has it.
        wanted: as Finding has it.
        host: as Finding has it.
        severity: where it is another one than the code's.
        fields: what the templates name.
    """
    kind = CATALOGUE[code]
    return Finding(
        check=kind.check or code,
        what=kind.what.format(**fields),
        where=where,
        found=found,
        wanted=wanted,
        remedy=kind.remedy.format(**fields),
        severity=severity or kind.severity,
        host=host,
    )


_WARNING, _INFO = Severity.WARNING, Severity.INFO

CATALOGUE: dict[str, FindingType] = {
    "abandon-cache": FindingType(
        "The masters of the cache stand still; given up now, it would not answer.",
        "`{command}` continues the change; docs/how-to/object-store-and-cache.md says how to go back.",
    ),
    "abandon-half-way": FindingType(
        "Steps of this {verb} were done, or at work; given up, the site stays between two states.",
        "Continue it if that is possible at all. Otherwise compare the steps with the page of the verb first.",
    ),
    "abandon-mixed-ceph": FindingType(
        "Daemons of ceph run several versions, or do not report theirs: a site must not stay so.",
        "`{command}` continues the upgrade.",
    ),
    "abandon-other-way": FindingType("This operation has a way back of its own.", "`{way}` goes back."),
    "abandon-several": FindingType(
        "Several half-done operations begin so.",
        "Give the whole command, in quotes.",
        check="abandon-unknown",
    ),
    "abandon-unknown": FindingType(
        "No half-done operation is of this command.", "`avadm status` lists those that are half done."
    ),
    "accept-unknown": FindingType(
        "No refusal of this verb has that id.",
        "Name one of those listed, or leave the option out.",
    ),
    "acceptance-not-possible": FindingType(
        "The suite could not start.", "See `avadm status` and `avadm preflight`; apply what is missing."
    ),
    "account-namespace": FindingType("This namespace is the cluster's own.", "Choose another namespace."),
    "account-namespace-twice": FindingType(
        "The namespace {value} is there twice.", "Correct or remove one of the two."
    ),
    "account-namespaces": FindingType("The tenant {name} may work nowhere.", "Add namespaces."),
    "account-namespaces-role": FindingType(
        "The role {role} holds in all namespaces.",
        "Remove namespaces, or choose the role tenant.",
        check="account-namespaces",
    ),
    "account-reserved": FindingType("A part of the cluster has this name.", "Choose another name."),
    "account-twice": FindingType("The account {value} is there twice.", "Correct or remove one of the two."),
    "accounts-unused": FindingType(
        "There is no Kubernetes: no node has the role master.",
        "Give nodes the roles of Kubernetes, or remove accounts.",
        severity=_WARNING,
    ),
    "address-away": FindingType(
        "keepalived could not be stopped or started, by which a virtual address leaves a node or may come again.",
        "See `systemctl status keepalived` there.",
    ),
    "address-not-a-host": FindingType("{node} has the {kind} address of {net}.", "Give it another address."),
    "address-outside": FindingType(
        "The address of {node} is not in its network.", "Correct the address or the network."
    ),
    "alertmanager-command": FindingType(
        "Alertmanager did not {words} a silence.",
        "See whether `amtool silence query` works there as root; `avadm apply monitoring` fixes Alertmanager.",
    ),
    "api-server-away": FindingType(
        "haproxy did not take an API server out of service, or into it again.",
        "See `systemctl status haproxy` there.",
    ),
    "artifact-build": FindingType(
        "Building {name} failed: {title}.",
        "Read the log; where a download failed, check the way to the Go module proxy (GOPROXY) or to Maven's "
        "repository and packages.internet_proxy in the site file, and run it again.",
    ),
    "artifact-cache": FindingType(
        "{name} cannot be kept in the cache.", "Free space there, or name another folder with AVADM_CACHE."
    ),
    "artifact-fetch": FindingType("{name}: {what}", "{remedy}"),
    "artifact-glibc": FindingType(
        "{name}: {program} needs a newer C library than nodes have.",
        "Build it with `glibc` in its recipe, or static; of upstream's programs take one made for an older system.",
    ),
    "artifact-integrity": FindingType("{name} {what}.", "avadm artifacts build {name}"),
    "artifact-missing": FindingType(
        "{title}, which {names} installs, is {state}.", "Run `avadm artifacts build`."
    ),
    "artifact-tool": FindingType("There is no {name} here to build with.", "{remedy}"),
    "artifact-unpatched": FindingType(
        "What is fetched has none of the security patches of docs/reference/generated/risks.md; `avadm "
        "doctor` reports it as open.",
        "Run `avadm artifacts build` to replace it.",
        severity=_WARNING,
    ),
    "artifact-unpatched-upstream": FindingType(
        "Upstream's programs have none of the security patches that `avadm artifacts build` applies.",
        "Run `avadm artifacts build`. To take the unpatched programs nevertheless, add --unpatched.",
        check="artifact-unpatched",
    ),
    "artifact-version": FindingType("{name}: {name2} {what}."),
    "ava-authority": FindingType(
        "The authority of the platform's certificate is not known.", "Run `avadm apply`."
    ),
    "ava-cache-away": FindingType(
        "AVA's runs do without the cache: not each worker mounts it.",
        "Give these workers the role alluxio_client, or take it from all.",
        severity=_WARNING,
    ),
    "ava-certificate": FindingType(
        "The first certificate is not for {node}.",
        "Put the server's certificate first, or have one made for this name.",
    ),
    "ava-certificate-ended": FindingType(
        "The certificate of {node} has ended.",
        "Renew it at its authority, put chain and key in place, and run `avadm apply addons`.",
        check="ava-certificate-ends",
    ),
    "ava-certificate-ends": FindingType(
        "The certificate of {node} ends soon.",
        "Renew it at its authority, put chain and key in place, and run `avadm apply addons`.",
        Severity.WARNING,
    ),
    "ava-certificate-invalid": FindingType(
        "Invalid certificate.", "Copy it again, with all its BEGIN and END lines.", check="ava-certificate"
    ),
    "ava-certificate-key": FindingType(
        "The private key in the vault is not that of the certificate.",
        "Correct it: ansible-vault edit --vault-password-file SITE.vault-pass SITE.vault.yml",
    ),
    "ava-command": FindingType(
        "AVA's upgrade could not do `{words}`.",
        "See `avadm doctor --only ava,database,kubernetes,registry`; then run the same command again.",
    ),
    "ava-database": FindingType(
        "The platform keeps users, quotas and runs in PostgreSQL, and there is none.",
        "Add `database: {{vip: ADDRESS}}` below components and give two nodes the role database, or remove "
        "components.ava.",
    ),
    "ava-database-name": FindingType(
        "The platform keeps users, quotas and runs in the database {DATABASE}, which is not among the names.",
        "Add {DATABASE}, or leave names out.",
        check="ava-database",
    ),
    "ava-git-host-keys": FindingType(
        "No run can clone by ssh from this server: its host key is not known.",
        "Write what `ssh-keyscan NAME` prints, compared with what the server's owner says, or leave port 22 out.",
        severity=_WARNING,
    ),
    "ava-git-image": FindingType(
        "Code from git is cloned by a container of ava-base, which is not among the images.",
        "Add {CLONES}, or remove components.ava.git.",
    ),
    "ava-homeless": FindingType(
        "With the platform GPU nodes take only pods that ask for GPUs, so that its own processes would run "
        "nowhere.",
        "Add a worker without GPUs, or remove components.ava.",
    ),
    "ava-host": FindingType("Something else has this name.", "Choose another name; ava is the usual one."),
    "ava-idle": FindingType(
        "Users would be notified before their workbenches are idle.",
        "Write a smaller warn_hours, or a larger idle_hours.",
    ),
    "ava-idle-prometheus": FindingType(
        "No workbench is stopped for being idle: what they use is asked of the site's own Prometheus, which "
        "it has not.",
        "Give a node the role prometheus, or remove idle_hours.",
        severity=_WARNING,
        check="ava-idle",
    ),
    "ava-ldap-way": FindingType(
        "It is not clear how a user's entry in the directory is found.",
        "Write user_dn where the DN follows from the login name, or search (Active Directory).",
    ),
    "ava-logs": FindingType(
        "Users cannot read what their runs write: the platform reads it from the log stores.",
        "Add `logs: {{stores: [NODE, NODE]}}` below components.",
        severity=_WARNING,
    ),
    "ava-mail-tls": FindingType(
        "The platform would send its password to the mail server in plain words.",
        "Use `tls: starttls`, or leave user out where the server takes mails of the platform without.",
    ),
    "ava-not-entered": FindingType(
        "The platform refuses all requests.",
        "Name an administrator with --as NAME; `avadm ava create-admin NAME` makes one.",
    ),
    "ava-not-entered-version": FindingType(
        "The platform is of a version of before.",
        "`avadm artifacts build ava-image`, then `avadm apply ava`.",
        check="ava-not-entered",
    ),
    "ava-one-home": FindingType(
        "While this node is down, the platform is too; what runs continues.",
        "Add a worker without GPUs.",
        severity=_WARNING,
    ),
    "ava-runs": FindingType(
        "AVA has runs on this node and cannot be asked about them.",
        "Put that right (`avadm doctor --only ava,database`); where AVA has several administrators, name one with --as. "
        "Accepted, the runs are ended unasked: work that was not saved is lost.",
    ),
    "ava-secret-missing": FindingType(
        "The vault does not hold the secret with which the platform uses a service of the site.",
        "Add it: ansible-vault edit --vault-password-file SITE.vault-pass SITE.vault.yml",
    ),
    "backfill-config": FindingType(
        "A limit of backfill is in components.ceph.config as well, whose value would take precedence at all hours.",
        "Remove it there, or remove components.ceph.backfill.",
    ),
    "backfill-empty": FindingType(
        "Limits of backfill without any limit.",
        "Set one, or remove components.ceph.backfill.",
        check="backfill-hours",
    ),
    "backfill-hours": FindingType("The hours of the backfill limits are incomplete.", "Correct the hours."),
    "backfill-sleep": FindingType(
        "This ceph ignores the pause between recovery operations: its scheduler is mClock (17 and newer).",
        "Set max_backfills and recovery_max_active, or osd_op_queue: wpq in components.ceph.config.osd.",
        severity=_WARNING,
    ),
    "backups-list": FindingType(
        "Gateways of this profile's ceph do not list objects as pgbackrest asks (ceph 14.2.5 and newer do): "
        "it would see 1,000 of them and no more.",
        "Name a folder that all nodes of the database share, or `backup: null`.",
    ),
    "bgp-nobody": FindingType(
        "These nodes do not get the routes of pods.",
        "Name peers of these nodes or racks, or network.route_reflectors, or remove mesh.",
    ),
    "bgp-peer": FindingType("A peer is a switch or router of the site, named once.", "Correct the address."),
    "bgp-peer-node": FindingType(
        "This is no node that has routes of pods.",
        "Name another node, or none for all nodes.",
        check="bgp-peer",
    ),
    "bgp-peer-rack": FindingType(
        "This rack has no master and no worker that could speak to the peer.",
        "Name another rack, or none for all nodes.",
        check="bgp-peer",
    ),
    "boot": FindingType("The node was booted without cgroup v1, which kubelet 1.9 needs.", "{remedy}"),
    "boot-nouveau": FindingType(
        "The kernel module nouveau has the node's graphics cards, so NVIDIA's driver cannot be loaded.",
        "{remedy}",
        check="boot",
    ),
    "bootstrap-boot": FindingType(
        "{node} must be rebooted with {lacks}.",
        "Set `boot.allow_reboot: true` in the site file and run bootstrap again. Or: {by_hand}",
        severity=_WARNING,
    ),
    "bucket-owner": FindingType(
        "Buckets of an external store belong to the key that `external` names.", "Remove owner."
    ),
    "bucket-owner-none": FindingType(
        "The bucket {name} has no owner.",
        "Name a user of components.object_store.users as its owner.",
        check="bucket-owner",
    ),
    "bucket-twice": FindingType("The bucket {value} is there twice.", "Correct or remove one of the two."),
    "bundle": FindingType("This is no bundle of `avadm support collect`.", "Name the file that it wrote."),
    "bundle-unwritable": FindingType(
        "The bundle cannot be written.",
        "Name a file in a folder that can be written to with -o.",
        check="bundle",
    ),
    "cache-absent": FindingType("The site has no cache.", "Describe it in components.alluxio."),
    "cache-backup": FindingType(
        "The backup of the cache's journal is not usable.",
        "See the space on the masters (/var/lib/alluxio) and `journalctl -u avadm-alluxio-master -e`, then run the same "
        "command again. The former masters run with their journals.",
    ),
    "cache-ca": FindingType(
        "The certificate of an object store's authority cannot be read.",
        "Put the authority's certificate there, PEM, or remove ca_file.",
    ),
    "cache-command": FindingType(
        "`avadm-alluxio {words}` could not be done.",
        "See `avadm doctor --only cache` and `journalctl -u avadm-alluxio-master -e`; then run the same command again.",
    ),
    "cache-lacks": FindingType("{what}", "{remedy}"),
    "cache-master-silent": FindingType(
        "A master of the cache, former or coming, does not answer: were it to start later with its former journal, two quorums "
        "would exist.",
        "Switch it on, and run the command again.",
    ),
    "cache-masters-known": FindingType(
        "These nodes are no change of the cache's masters.",
        "Name all nodes that are to be masters, each once: one or three.",
    ),
    "cache-mount-in-use": FindingType(
        "The cache's mount {mount} is in use on this node: it would ask the former masters until it is mounted again.",
        "Drain the node (`avadm node drain`), or have the programs end.",
    ),
    "cache-without-mount": FindingType(
        "{name} serves the cache of a folder on cephfs, which it does not mount.", "Add the role client."
    ),
    "calico-command": FindingType(
        "`calicoctl {words}` could not be done.",
        "See `avadm-calicoctl get node` on a master, and whether etcd serves; then run the same command again.",
    ),
    "ceph-command": FindingType(
        "`ceph {words}` could not be done.",
        "See `ceph -s` on a monitor's node, and `avadm doctor`; then run the same command again.",
    ),
    "ceph-config": FindingType("ceph has no such section.", "Correct the section."),
    "ceph-config-option": FindingType(
        "This is no option of ceph.", "Write it as in `ceph config show`.", check="ceph-config"
    ),
    "ceph-key-clash": FindingType(
        "Two clients of ceph would share one key.", "Rename the file system or the pool."
    ),
    "ceph-key-clash-names": FindingType(
        "{name} and {name2} would share one key.",
        "Rename the file system or one of the pools.",
        check="ceph-key-clash",
    ),
    "cidr-overlap": FindingType("{name} overlaps with {value}{value2}.", "Give {dotted} another range."),
    "clocks": FindingType("Two nodes' clocks differ by too much.", "{remedy}"),
    "clocks-node": FindingType(
        "The node's clock differs from the others' by too much.", "{remedy}", check="clocks"
    ),
    "clocks-unsure": FindingType(
        "The node's clock cannot be checked: the answer took too long.",
        "Run preflight again while the node and this machine are idle.",
        severity=_WARNING,
        check="clocks",
    ),
    "cluster-locked": FindingType(
        "Another run is at work on this site.",
        "Wait for it, or stop it where it runs. If it is surely dead (its machine is gone): the same command "
        "with --break-lock.",
    ),
    "component-not-supported": FindingType(
        "`avadm upgrade` does not know {name}.",
        "Leave it out; docs/how-to/upgrade.md says how the others get newer versions.",
    ),
    "controller-key": FindingType(
        "The controller's key cannot be written: {strerror}.",
        "Free space or permission there, or name another file with ssh.key in the site file.",
    ),
    "controller-key-open": FindingType(
        "The controller's private key can be read by others, so that ssh refuses it.",
        "chmod 600 {file}; if others could have read it, remove it and run bootstrap again.",
    ),
    "controller-key-unusable": FindingType(
        "The controller's key cannot be used.", "{remedy}", check="controller-key"
    ),
    "copies-few": FindingType(
        "Fewer failure domains would be left than there are copies of each object.",
        "Add storage to another host or rack first, or lower components.ceph.replicas.",
    ),
    "create-admin": FindingType("{name} was not made an administrator.", "{remedy}"),
    "database-backup": FindingType("This was not done.", "{remedy}"),
    "database-backups-key": FindingType(
        "Backups of PostgreSQL would be made with the key that opens all buckets: it would lie on the "
        "database's nodes.",
        "Have a key made for that bucket, and put it into the vault.",
    ),
    "database-command": FindingType(
        "Patroni could not do `{words}`.",
        "See `patronictl -c /etc/patroni/config.yml list` there, and `avadm doctor --only database`.",
    ),
    "database-lives": FindingType(
        "The database lives: what was written since that time would be gone from it. Nothing was changed.",
        "If that is wanted, add `--over-living {name}`; the present data are kept aside on each node.",
    ),
    "database-name": FindingType("This name is taken.", "Choose another name."),
    "database-not-in-sync": FindingType(
        "No other member of PostgreSQL has all that was acknowledged.",
        "See `patronictl -c /etc/patroni/config.yml list`; wait until a standby is in sync.",
    ),
    "default-class-empty": FindingType(
        "Claims would get volumes of the class {storage_class}, which the site has not.",
        "Choose another class, or add that.",
    ),
    "default-site": FindingType(
        "The file that names the default site holds no path.",
        "Choose the site again with `avadm site use FILE`.",
    ),
    "device-classes-mixed": FindingType(
        "OSDs of several device classes would share every pool: the slowest sets the pace, and fast ones are "
        "wasted.",
        "Approve only the {value} devices, or, if all are to be used alike, write one device_class for all.",
    ),
    "device-identifier": FindingType(
        "A device of {node} is named by {value}.", "Take the serial from `lsblk -o NAME,SERIAL,WWN,SIZE`."
    ),
    "device-identifier-unknown": FindingType(
        "A device of {node} is named by what no disk is called.",
        "Take the serial from `lsblk -o NAME,SERIAL,WWN,SIZE`.",
        check="device-identifier",
    ),
    "device-identifier-unstable": FindingType(
        "A device of {node} is named by what may change or is empty.",
        "Take the serial from `lsblk -o NAME,SERIAL,WWN,SIZE`.",
        check="device-identifier",
    ),
    "device-partition": FindingType(
        "A device of {node} is a partition.", "Write {value}, if all of it may be used."
    ),
    "devices-without-osd": FindingType(
        "{name} has devices but not the role osd.", "Add the role, or remove the devices."
    ),
    "disk-class": FindingType(
        "Whether this disk rotates is not known: it is virtual.",
        "Add --device-class ssd, hdd or nvme; all OSDs of a site have the same.",
    ),
    "disk-confirm": FindingType(
        "This is not the disk's serial number; nothing was touched.",
        "Look again with `avadm disk list` whether it is the disk that you mean.",
    ),
    "disk-confirm-terminal": FindingType(
        "There is no terminal to ask on.", "Use --yes-i-lose {confirmation}", check="disk-confirm"
    ),
    "disk-in-use": FindingType(
        "This disk is not erased: it is untouched.", "Is it the right disk? Else end what uses it first."
    ),
    "disk-name": FindingType("No disk of the node has this name.", "See `avadm disk list`."),
    "disk-name-several": FindingType(
        "Several disks of the node have this name.", "See `avadm disk list`.", check="disk-name"
    ),
    "disk-node": FindingType(
        "The node could not be asked about its disks.", "See `avadm preflight --only reachability`."
    ),
    "disk-not-blank": FindingType(
        "The disk was erased, but is not proven blank now.",
        "Run the same command again; if it stays, erase it whole: `blkdiscard -z` on the node.",
    ),
    "disk-refused": FindingType(
        "This disk cannot be approved.", "Is it the right disk? If what is on it may go: `avadm disk zap`."
    ),
    "disk-twice": FindingType(
        "A disk is named twice.",
        "Name each disk once.",
    ),
    "disks": FindingType(
        "No device of this node is approved yet: `avadm apply` will refuse the site file.",
        "Run `avadm disk list`, then `avadm disk approve NODE DISK`.",
        severity=_WARNING,
    ),
    "disks-kind": FindingType(
        "The device is of another kind than the site file says.",
        "Correct device_class (behind a RAID controller the kernel may be wrong).",
        severity=_WARNING,
        check="disks",
    ),
    "disks-missing": FindingType(
        "The device is not there.",
        "Compare with `lsblk -o NAME,SERIAL,WWN,SIZE` and `ls -l /dev/disk/by-id` on the node.",
        check="disks",
    ),
    "disks-partition": FindingType(
        "This is a partition.", "Correct the devices of that node in the site file.", check="disks"
    ),
    "disks-several": FindingType(
        "The name fits several devices.",
        "Name it by a by-id path (multipath shows one disk as several).",
        check="disks",
    ),
    "disks-twice": FindingType(
        "Two entries mean the same device.",
        "Correct the devices of that node in the site file.",
        check="disks",
    ),
    "disks-unproven": FindingType(
        "It is not proven that the device is blank.",
        "See docs/how-to/disks.md; `avadm disk list` shows all disks of the node.",
        check="disks",
    ),
    "disks-used": FindingType(
        "The device is in use by something else.",
        "Check that it is the right device. If nothing on it is needed: `{zap}`.",
        check="disks",
    ),
    "disks-without-osd": FindingType(
        "Disks are approved for OSDs only.",
        "Add --role osd, or leave --serial out.",
    ),
    "docker-kubelet": FindingType(
        "Kubelet asks docker without a version of its interface, and docker 25 or newer answers that without sizes of images:"
        " no container would start.",
        "Run `avadm apply nodes` first, which restarts kubelet with one.",
    ),
    "doctor-snapshot": FindingType(
        "This is no snapshot that this avadm reads.",
        "Name a bundle of `avadm support collect`, or use the avadm that made it.",
    ),
    "domain-syntax": FindingType("This is no DNS name of a service.", "Correct the name."),
    "domain-syntax-site": FindingType("This is no DNS domain.", "Correct the domain.", check="domain-syntax"),
    "drain-late": FindingType("The node is not drained after {timeout:g} s: {count} left.", "{remedy}"),
    "drain-refused": FindingType("Pods of this node would be lost: it is not drained.", "{remedy}"),
    "duplicate-address": FindingType(
        "The address {value} is there twice.", "Correct or remove one of the two."
    ),
    "duplicate-device": FindingType("{by_id} is there twice.", "Correct or remove one of the two."),
    "duplicate-device-nodes": FindingType(
        "{by_id} is there twice.",
        "Correct or remove one of the two.",
        severity=_WARNING,
        check="duplicate-device",
    ),
    "duplicate-device-serial": FindingType(
        "The serial {value} is there twice.", "Correct or remove one of the two.", check="duplicate-device"
    ),
    "duplicate-device-wwn": FindingType(
        "The wwn {value} is there twice.", "Correct or remove one of the two.", check="duplicate-device"
    ),
    "duplicate-name": FindingType(
        "The node name {value} is there twice.", "Correct or remove one of the two."
    ),
    "duplicate-pool": FindingType(
        "The pool name {value} is there twice.", "Correct or remove one of the two."
    ),
    "duplicate-pool-filesystem": FindingType(
        "The file system has a pool of this name.", "Rename the pool.", check="duplicate-pool"
    ),
    "duplicate-pool-objects": FindingType(
        "The object store has a pool of this name.", "Rename the pool.", check="duplicate-pool"
    ),
    "duplicate-role": FindingType("{name} lists the role {role} twice.", "Remove one."),
    "etcd-command": FindingType(
        "etcd could not do `{words}`.", "See `journalctl -u etcd -e` there, and `avadm doctor --only etcd`."
    ),
    "etcd-copies": FindingType(
        "Snapshots of etcd lie on the node of its one member alone: with that disk Kubernetes is lost.",
        "Give the role etcd to two more nodes, add an object store, or copy them to another machine yourself.",
        severity=_WARNING,
    ),
    "etcd-copies-key": FindingType(
        "Copies of etcd's snapshots would be made with the key that opens all buckets: it would lie on "
        "etcd's nodes.",
        "Have a key made for that bucket, and put it into the vault.",
    ),
    "etcd-quorum": FindingType(
        "etcd would lose its quorum, and Kubernetes would stop.",
        "Take fewer members at a time, or bring those back that do not answer.",
    ),
    "etcd-quorum-lost": FindingType(
        "The members of etcd that are left could not continue without this one.",
        "Have them all answer first: see `journalctl -u etcd` there and `avadm doctor --only etcd`.",
    ),
    "existing-key": FindingType("{file} is {fault}"),
    "file-exists": FindingType(
        "The file exists already.", "Name another file, or write over it with --force."
    ),
    "file-irregular": FindingType("This is not a regular file.", "Name another.", check="file-unreadable"),
    "file-missing": FindingType("There is no such file.", "{remedy}"),
    "file-not-utf8": FindingType("The file is not UTF-8 text.", "Save the file as UTF-8."),
    "file-too-large": FindingType(
        "The file is too large.", "Name another, or leave out what does not belong in it."
    ),
    "file-unreadable": FindingType("This is a directory.", "Name the file in it."),
    "file-unreadable-error": FindingType(
        "The file cannot be read.", "Fix its owner, mode or link, or name another.", check="file-unreadable"
    ),
    "file-unwritable": FindingType(
        "The file cannot be written.", "Correct the folder's owner or mode, or name another file."
    ),
    "filesystem-stops": FindingType(
        "The file systems would have too few metadata servers, and stop.",
        "Take fewer of their nodes at a time.",
    ),
    "filter-nodes": FindingType("A node is named that there is not.", "Correct it."),
    "filter-prometheus": FindingType(
        "The packet filter of the nodes cannot let in a Prometheus of which it knows the name alone.",
        "Add them.",
    ),
    "filter-range": FindingType(
        "The last port is not behind the first.", "Correct it, or leave it out for a single port."
    ),
    "filter-source": FindingType(
        "Pods cannot be distinguished by their addresses: on other nodes they come from their node's address.",
        "Write `pods`.",
    ),
    "filter-source-syntax": FindingType("This is no network.", "Correct it.", check="filter-source"),
    "follow-failed": FindingType(
        "What the site file now says of the other nodes is not applied everywhere.",
        "See the log; the same command continues.",
    ),
    "gate-closed": FindingType(
        "For {patience} s nothing has come nearer to what the next step needs.",
        "See what it names, and `avadm doctor`; the site keeps serving. The same command continues.{remedy}",
    ),
    "gpu-taint-everywhere": FindingType(
        "Pods that ask for no GPU would run nowhere.", "Add a worker without GPUs, or remove gpu_taint."
    ),
    "gpus-missing": FindingType("{name} has the role gpu, but does not say which GPUs.", "Add gpus."),
    "gpus-unused": FindingType(
        "{name} has GPUs, but not the role gpu that makes them usable.", "Add the role gpu, or remove gpus."
    ),
    "groups-unclean": FindingType(
        "Not all placement groups are active and clean: copies are missing while the site is down.",
        "Wait until they are, or see `avadm doctor --only ceph`.",
    ),
    "hardware": FindingType(
        "The node has less than its roles want: {what}.",
        "Use another machine, move roles, lower `hardware` in the site file, or waive it.",
    ),
    "hardware-counts": FindingType(
        "The specification has another number of nodes with the role {role}.",
        "Give the role {role} to more nodes or to fewer, or waive it.",
        severity=_WARNING,
        check="hardware",
    ),
    "hdfs-kerberos": FindingType(
        "An HDFS with Kerberos is not supported: the cache's servers have no ticket, and nothing here renews one.",
        "Copy what is wanted into cephfs or a bucket (hadoop distcp), and mount that.",
    ),
    "hdfs-property": FindingType(
        "This property of Hadoop's client is written by avadm, or wants what the cache has not.",
        "Write namenodes and authentication in its place.",
    ),
    "hdfs-read-only": FindingType(
        "An HDFS is only read through the cache.", "Remove read_only, or write to the HDFS by its own tools."
    ),
    "host-key": FindingType("The site file's host_key of {name} is no public key: {e}."),
    "host-key-jump": FindingType("The jump host's host key is no public key: {e}.", check="host-key"),
    "host-key-shared": FindingType(
        "{name} and {other} have the same host key.",
        "Make new host keys on cloned machines (ssh-keygen -A).",
        severity=_WARNING,
    ),
    "host-key-syntax": FindingType(
        "This is no public host key: {problem}.",
        "Copy the line of the jump host's /etc/ssh/ssh_host_*_key.pub.",
    ),
    "host-key-syntax-nodes": FindingType(
        "This is no public host key: {problem}.",
        "Copy the line of the node's /etc/ssh/ssh_host_*_key.pub.",
        check="host-key-syntax",
    ),
    "hosts": FindingType(
        "The name {name} resolves to another address than the site file's.",
        "Remove that line; the base phase writes the right ones.",
        severity=_WARNING,
    ),
    "identity-mac": FindingType(
        "Two nodes have the same MAC address.",
        "Look which machine has it by right; set the other's back.",
        check="identity",
    ),
    "identity-machine-id": FindingType(
        "Two nodes have the same machine-id.",
        "Remove /etc/machine-id and run `systemd-machine-id-setup`; prepare the image without it.",
        check="identity",
    ),
    "identity-none": FindingType(
        "The node has no machine-id.", "Run `systemd-machine-id-setup` on it.", check="identity"
    ),
    "init-incomplete": FindingType(
        "Values that a site file needs are missing.", "Give these flags, or answer the questions."
    ),
    "inventory-foreign": FindingType(
        "There is an inventory that avadm did not write.", "Name another folder with --out."
    ),
    "inventory-unwritable": FindingType("The inventory cannot be written.", "Name another folder."),
    "ipip-one-subnet": FindingType(
        "All nodes are in one subnet, so nothing would ever be wrapped.",
        "Say how long the prefix of one rack's subnet is, or remove ipip.",
    ),
    "junit": FindingType(
        "The JUnit file cannot be written.", "Name a file in a folder that can be written to."
    ),
    "kernel": FindingType(
        "The node runs another kernel than it should.", "Install that kernel, boot it, and hold its package."
    ),
    "known-hosts": FindingType("The pinned host keys cannot be {done}.", "{remedy}"),
    "kubernetes-command": FindingType(
        "`kubectl {words}` could not be done.",
        "See whether `kubectl get nodes` works there as root; `avadm apply masters` fixes a master.",
    ),
    "kubernetes-master": FindingType(
        "Kubernetes did not {do} {names}.",
        "See whether `kubectl get nodes` works there as root; `avadm apply masters` fixes a master.",
    ),
    "lab-apt-cache": FindingType(
        "The apt cache does not start.", "Read the log; is the port taken (ss -ltnp sport = :{PORT})?"
    ),
    "lab-apt-cache-slots": FindingType("{SLOTS} labs run at once.", "Take one down.", check="lab-apt-cache"),
    "lab-cgroup": FindingType(
        "kubelet 1.9 cannot run here: it knows cgroup v1 alone, and this machine has booted with v2 alone.",
        "Add systemd.unified_cgroup_hierarchy=0 to the kernel's arguments (on Debian: GRUB_CMDLINE_LINUX in "
        "/etc/default/grub, then update-grub) and boot again. Or leave Kubernetes out: `avadm lab up "
        "--masters 0`, `make demo-storage`, `make test-storage`.",
    ),
    "lab-changed": FindingType(
        "The lab exists with another value of {key!r}.",
        "Leave the option out, or run `avadm lab down` first.",
    ),
    "lab-command": FindingType("{doing} failed.", "{remedy}"),
    "lab-disk": FindingType(
        "The lab has no such disk, or has it already.", "See `devices` of the node in the lab's site file."
    ),
    "lab-disk-bay": FindingType(
        "The disk cannot be inserted.", "Pull one first: `avadm lab disk pull NODE SERIAL`."
    ),
    "lab-disk-held": FindingType(
        "Something holds the disk on this machine.", "See `losetup --list` and `fuser` on this machine."
    ),
    "lab-engine": FindingType(
        "The container engine does not start.", "Read the log, or start docker yourself and run this again."
    ),
    "lab-folder": FindingType(
        "The lab's folder holds something that is not a lab.",
        "Give another folder by AVADM_LAB_DIR, or empty this one.",
    ),
    "lab-name-taken": FindingType(
        "A lab named {name!r} belongs to another folder.",
        "Take it down first (AVADM_LAB_DIR={other} avadm lab down), or use another --name.",
    ),
    "lab-network": FindingType(
        "A docker network of the lab's name is not the lab's.", "Choose another name by --name."
    ),
    "lab-node": FindingType("The lab has no such node."),
    "lab-node-ready": FindingType(
        "{name} is not as it should be.", "Run `avadm lab down` and `avadm lab up`."
    ),
    "lab-node-start": FindingType(
        "{name} does not start.",
        "See `docker logs {container}`; `avadm lab down` and `avadm lab up` make it again.",
    ),
    "lab-none": FindingType("There is no lab.", "Run `avadm lab up`."),
    "lab-option": FindingType("{value}."),
    "lab-packages": FindingType(
        "Packages are needed that this machine does not have.", "On Debian: {command}"
    ),
    "lab-root": FindingType(
        "Labs and simulated hosts need root: they are made of devices, networks and containers.",
        "Run the same command with sudo.",
    ),
    "lab-size": FindingType("This is not a size.", "Write 10G."),
    "lab-spare": FindingType("The lab can have no such machine beside its own.", "Choose another name."),
    "lab-state": FindingType(
        "The lab's state cannot be read.",
        "Run `avadm lab down --name NAME` (NAME is `lab` if you gave none), then `avadm lab up`.",
    ),
    "lab-subnet": FindingType("This is not a network."),
    "lab-subnet-size": FindingType(
        "The lab's network has the wrong size.", "Give one like 10.77.0.0/24.", check="lab-subnet"
    ),
    "lab-subnet-taken": FindingType(
        "The lab's network overlaps one of this machine's.",
        "Choose another, e.g. `avadm lab up --subnet 10.78.0.0/24`.",
    ),
    "lab-systemd": FindingType(
        "systemd does not start in a container on this machine.",
        "Use a machine where docker may add capabilities.",
    ),
    "last-of-role": FindingType(
        "No other node could take over from this {role}.",
        "Give another node the role {role}, apply, and remove this one then.",
    ),
    "latency": FindingType(
        "Round trips between nodes are too long.",
        "Are they in one room, on one subnet? Look at the switches between them and at what loads the link.",
    ),
    "latency-loss": FindingType(
        "Requests between nodes are lost.",
        "Look at cable, switch port, duplex and address (is it used twice?); a firewall must let nodes talk.",
        check="latency",
    ),
    "latency-loss-few": FindingType(
        "Requests between nodes are lost.",
        "Look at cable, switch port, duplex and address (is it used twice?); a firewall must let nodes talk.",
        severity=_WARNING,
        check="latency",
    ),
    "latency-unusual": FindingType(
        "Round trips between nodes are longer than is usual here.",
        "Look at cable, switch port and path of the node, and at what loads it.",
        severity=_WARNING,
        check="latency",
    ),
    "ledger-unreadable": FindingType(
        "The state of the site cannot be read.",
        "Remove the file: the copy on the site's nodes is taken, or every phase is run again, which changes "
        "nothing that is right.",
    ),
    "ledger-unwritable": FindingType(
        "The state of the site cannot be written.",
        "Free space or permission there and run the same command again.",
    ),
    "limit": FindingType("--limit matches no node."),
    "load-balancer-nobody": FindingType(
        "These addresses are not announced: no node has the role ingress.", "Give workers the role ingress."
    ),
    "load-balancer-range": FindingType("This is no range of addresses.", "Correct first or last."),
    "load-balancer-range-large": FindingType(
        "This range is too large.", "Correct first or last.", check="load-balancer-range"
    ),
    "load-balancer-taken": FindingType(
        "An address of this range is somebody else's.", "Choose another range."
    ),
    "local-images": FindingType(
        "Images that users pushed are on this node's disk alone.",
        "Copy them to another registry first, or accept that they are lost.",
    ),
    "local-logs": FindingType(
        "The lines of logs are on this node's disk alone.",
        "Name a second node in components.logs.stores, apply, and remove this one when its days have passed.",
    ),
    "local-volumes": FindingType(
        "These volumes have their data on this node alone; they would be lost.",
        "Copy what is needed elsewhere and delete their claims.",
    ),
    "local-volumes-alone": FindingType(
        "{name} would keep volumes for pods, but is not {names}.",
        "Add the role, or remove local_volumes_gib.",
    ),
    "lock-unusable": FindingType("The site's lock cannot be taken."),
    "log-file": FindingType("The log file {value} is there twice.", "Correct or remove one of the two."),
    "log-store": FindingType("The store {value} is there twice.", "Correct or remove one of the two."),
    "log-store-alone": FindingType(
        "With one store, its loss is the loss of all logs.", "Name a second node.", severity=_WARNING
    ),
    "log-store-node": FindingType(
        "Logs would be kept on a node that the site has not.", "Name a node of the site.", check="log-store"
    ),
    "log-stores": FindingType(
        "No log store answers.",
        "On those nodes see `systemctl status avadm-log-store`; `avadm apply logs` installs it.",
    ),
    "log-stores-many": FindingType(
        "Each store keeps all logs, and every node sends to each.", "Name two nodes.", severity=_WARNING
    ),
    "maintenance-metric": FindingType(
        "The end time of a maintenance could not be written or removed as a metric.",
        "See whether the folder is there: `avadm apply monitoring` makes it.",
    ),
    "maintenance-name": FindingType(
        "There is a maintenance of that name.",
        "End it first (`avadm maintenance list`), or name the nodes instead of the rack.",
    ),
    "maintenance-part": FindingType(
        "A maintenance ends for all of its nodes at once.",
        "`avadm maintenance end {name}` ends it.",
    ),
    "maintenance-reason": FindingType(
        "The reason is shown to people: it cannot be this.",
        'Say in one line what is done, e.g. --reason "new memory".',
    ),
    "maintenance-time": FindingType(
        "A maintenance cannot last that long or short.",
        "Name a time such as 2h.",
    ),
    "maintenance-twice": FindingType(
        "The node is in a maintenance already.",
        "`avadm maintenance end {name}` ends it.",
    ),
    "maintenance-unknown": FindingType(
        "No maintenance has that name or node.",
        "`avadm maintenance list` shows those that are on.",
    ),
    "mds-too-few": FindingType(
        "There are fewer metadata servers than ranks.",
        "Give the role mds to more nodes, or set `components: {{ceph: {{filesystem: null}}}}`.",
    ),
    "memory": FindingType(
        "The node has less memory than its roles want.",
        "Add memory, move roles, or lower osd_memory_mib and mds_cache_mib.",
        severity=_WARNING,
    ),
    "memory-cache": FindingType(
        "The cache does not fit in this node's memory. {reason}",
        "{remedy}",
    ),
    "min-replicas": FindingType(
        "More copies are needed to serve than are ever made.", "Set min_replicas to {value}."
    ),
    "min-replicas-all": FindingType(
        "Every lost OSD stops I/O, since all copies are needed to serve.",
        "Set min_replicas to {value} where service goes first.",
        severity=_WARNING,
        check="min-replicas",
    ),
    "min-replicas-one": FindingType(
        "With one copy left, writes continue: if that disk fails too, they are lost.",
        "Use 3 replicas and min_replicas 2 where data goes before space.",
        severity=_WARNING,
        check="min-replicas",
    ),
    "missing-key": FindingType("The key {key!r} is missing.", "Add '{name}: …'."),
    "mon-quorum": FindingType(
        "The monitors would lose their quorum, and ceph would stop.",
        "Take fewer monitors at a time, or bring those back that are not in quorum.",
    ),
    "mount-kind": FindingType(
        "An under store is a folder of cephfs, a bucket or a folder of an HDFS, one of these.",
        "Write one of `cephfs: /FOLDER`, `s3: {{bucket, endpoint, secret}}` and `hdfs: {{namenodes, folder}}`.",
    ),
    "mount-of-platform": FindingType(
        "The cache's folder of cephfs is, or lies in, one of the platform's own.",
        "Name another folder, such as /cache: the platform alone makes, shares and removes what is in its own.",
    ),
    "mount-point": FindingType("The file system cannot be mounted there.", "Choose another mount point."),
    "mount-point-shared": FindingType(
        "The cache and cephfs would be mounted inside of one another.", "Choose another mount_point."
    ),
    "mount-store": FindingType(
        "A bucket is of the site's own object store, or of another one, whose endpoint and secret are named.",
        "Write both, or neither.",
    ),
    "mount-twice": FindingType(
        "The folder of the cache {value} is there twice.", "Correct or remove one of the two."
    ),
    "mount-without-bucket": FindingType(
        "An under store is a bucket that the site's own object store has not.",
        "Add the bucket to components.object_store.buckets, or name endpoint and secret of another store.",
    ),
    "mount-without-cephfs": FindingType(
        "An under store lies on cephfs, which the site has not.",
        "Remove the under store, or add the file system.",
    ),
    "name-reserved": FindingType("A node cannot be called {name}.", "Call it {name}1, for example."),
    "name-too-long": FindingType(
        "Name too long: {kind} made from it would have {count} characters, and may have {bound}.",
        "Choose a shorter name.",
    ),
    "namenode-twice": FindingType(
        "The namenode {value} is there twice.", "Correct or remove one of the two."
    ),
    "names": FindingType(
        "The node's host name is not the site file's.",
        "Run `hostnamectl set-hostname {name}` on it, or correct the site file: is it the machine that you mean?",
    ),
    "names-address": FindingType(
        "An address of the site file is on none of the node's interfaces.",
        "Configure that address, or correct the site file.",
        check="names",
    ),
    "network-too-small": FindingType("{name} has too few addresses.", "Choose a shorter prefix."),
    "network-unusable": FindingType("{name} cannot be a network of machines.", "Choose another range."),
    "nics-duplex": FindingType(
        "The interface runs in half duplex.",
        "Let both ends negotiate, or set both; then look at cable and switch port.",
        check="nics",
    ),
    "nics-mtu": FindingType(
        "The interface has another MTU than its network.",
        "Set the MTU of the interface: mixed ones make large packets vanish.",
        check="nics",
    ),
    "nics-netmask": FindingType(
        "The interface has another netmask than the site file's network.",
        "Correct the netmask, or the network in the site file: all nodes are in one subnet unless "
        "network.rack_prefix says how long that of a rack is.",
        check="nics",
    ),
    "nics-speed": FindingType(
        "The link is slower than the node's roles want.",
        "Look at cable, transceiver and switch port; or waive it.",
        check="nics",
    ),
    "nics-speed-unequal": FindingType(
        "The link is slower than that of nodes with the same roles.",
        "Look at cable, transceiver and switch port.",
        severity=_WARNING,
        check="nics",
    ),
    "no-alertmanager": FindingType(
        "Alerts would have no receiver.",
        "Give the role alertmanager to the prometheus nodes.",
        severity=_WARNING,
    ),
    "no-ansible": FindingType(
        "ansible-playbook is missing from avadm's own Python environment.",
        "Install avadm again in that environment: `make setup` in a checkout, else `pip install` of its wheel.",
    ),
    "no-answer": FindingType(
        "It asks before it begins, which it cannot do without a terminal or with --json.",
        "Look at the plan with --dry-run, then add --yes.",
    ),
    "no-ava": FindingType(
        "This site has no platform.", "Add `ava: {{}}` below components, then `avadm apply`."
    ),
    "no-backups": FindingType(
        "There is no place for backups of the database: what is lost or deleted by mistake cannot be restored.",
        "Add one of them; `backup: null` says that none are wanted.",
        severity=_WARNING,
    ),
    "no-backups-restore": FindingType(
        "This site has no backups of PostgreSQL.",
        "docs/how-to/back-up-and-restore.md says where backups can be; then `avadm apply backups`.",
        check="no-backups",
    ),
    "no-client": FindingType(
        "No node is a storage client, so that nothing mounts or measures the storage.",
        "Give the role client to compute nodes.",
        severity=_WARNING,
    ),
    "no-kubectl": FindingType(
        "kubectl cannot be run from here: a file does not exist.",
        "{remedy} On a master, root has kubectl: `avadm ssh {name}`.",
    ),
    "no-kubernetes": FindingType(
        "The site has no Kubernetes.", "Give a node the role master, then run `avadm apply`."
    ),
    "no-lock-majority": FindingType("Too few of the nodes that keep the site's lock answer.", "{remedy}"),
    "no-logs": FindingType(
        "The site has no central log store.", "Name two nodes in components.logs.stores, then `avadm apply`."
    ),
    "no-member": FindingType("No node of PostgreSQL is the {role}.", "See `avadm doctor --only database`."),
    "no-monitoring": FindingType(
        "Nothing watches this site.",
        "Give nodes the roles prometheus and alertmanager, or name the site's own servers in "
        "components.monitoring.existing.",
        severity=_WARNING,
    ),
    "no-pod": FindingType(
        "No pod with {labels} in {namespace} is ready.",
        "See `kubectl get pods --namespace {namespace}` on a master, and `avadm doctor --only ava`.",
    ),
    "no-proxy-entry": FindingType(
        "These exceptions have no effect: there is no proxy.",
        "Set packages.internet_proxy, or remove no_proxy.",
        severity=_WARNING,
    ),
    "no-proxy-entry-syntax": FindingType(
        "Invalid exception of the proxy.", "{remedy}", check="no-proxy-entry"
    ),
    "no-report": FindingType("This is not a report."),
    "no-site": FindingType("No site file was named and there is no default one.", "{remedy}"),
    "no-standby": FindingType(
        "The one master of the cache has no standby: while it is down nothing is read through the cache.",
        "Give the role alluxio_master to two more nodes; on a site that runs: `avadm cache masters NODE NODE NODE`.",
        severity=_WARNING,
    ),
    "no-standby-alertmanager": FindingType(
        "The one Alertmanager has no peer.",
        "Give the role alertmanager to one more node.",
        severity=_WARNING,
        check="no-standby",
    ),
    "no-standby-ava": FindingType(
        "The loss of the one node stops the platform, and loses what was written since the last backup.",
        "Give the role database to one more node.",
        severity=_WARNING,
        check="no-standby",
    ),
    "no-standby-mds": FindingType(
        "No metadata server stands by: the loss of one stops a part of the file system.",
        "Give the role mds to one more node.",
        severity=_WARNING,
        check="no-standby",
    ),
    "no-standby-mgr": FindingType(
        "The one manager has no standby.",
        "Give the role mgr to the mon nodes.",
        severity=_WARNING,
        check="no-standby",
    ),
    "no-standby-objects": FindingType(
        "The loss of the one gateway stops the object store.",
        "Give the role rgw to one more node.",
        severity=_WARNING,
        check="no-standby",
    ),
    "node-in-maintenance": FindingType(
        "The node is in a maintenance.",
        "`avadm maintenance end {name}` first.",
    ),
    "node-known": FindingType(
        "The site has this node already.",
        "Correct the name or address. To put another machine in that node's place: `avadm node replace`.",
    ),
    "node-not-reinstalled": FindingType(
        "The node was not reinstalled: what it had bootstrapped is still there.",
        "Reinstall {name} first, or replace it by another machine with --name and --address.",
    ),
    "node-rack": FindingType(
        "The site has several racks, and the new node's was not named.",
        "Name it with --rack: copies of data are kept in different racks.",
    ),
    "node-script": FindingType(
        "A command on the node failed.",
        "See `journalctl -e` there; then run the same command again. If the node is lost for good: --dead.",
    ),
    "node-silent": FindingType(
        "The node does not answer.",
        "Switch it on. If it is lost for good: --dead.",
    ),
    "node-unknown": FindingType("Kubernetes does not know this node.", "{remedy}"),
    "node-without-roles": FindingType(
        "Nodes without roles get only the base and node_exporter.",
        "Give them roles, or leave it so.",
        severity=_WARNING,
    ),
    "not-back": FindingType(
        "The node does not answer: its maintenance cannot end well.",
        "Bring it back. If it is lost, its data are copied to other nodes once the maintenance is ended.",
    ),
    "not-dead": FindingType(
        "The node lives; --dead is for one that never comes back.",
        "Leave --dead out, or switch the node off for good.",
    ),
    "nothing-to-do": FindingType(
        "No node takes part in what was asked for.",
        "Name other phases or other nodes, or give nodes these roles in the site file.",
    ),
    "object-name-reserved": FindingType(
        "Users and buckets of avadm's own have names with this beginning.", "Choose another name."
    ),
    "object-user-twice": FindingType("The user {value} is there twice.", "Correct or remove one of the two."),
    "objects-key-missing": FindingType(
        "The vault does not hold the {what} {whose}.",
        "Add it: ansible-vault edit --vault-password-file SITE.vault-pass SITE.vault.yml",
    ),
    "objects-provider": FindingType(
        "The external store is not described.", "Add components.object_store.external."
    ),
    "objects-provider-external": FindingType(
        "An external store is described, but the site's own gateways are to serve.",
        "Set the provider, or remove external.",
        check="objects-provider",
    ),
    "objects-provider-own": FindingType(
        "This belongs to the site's own gateways; others run this store.",
        "Remove {key}.",
        check="objects-provider",
    ),
    "only-copy": FindingType(
        "Ceph cannot serve without this node: it may hold the only copy of some data.",
        "Have all placement groups active first: see `ceph health detail`. Data that are lost are given up in ceph.",
    ),
    "operation-half-done": FindingType(
        "An operation on these components was begun and has not ended.",
        "`{command}` continues it. Where that is impossible for good: `avadm operation abandon`.",
    ),
    "os": FindingType(
        "The node runs another operating system than the profile's.",
        "Install the node again, or choose the profile that fits in the site file.",
    ),
    "osd-stop": FindingType(
        "The daemon of {words} could not be stopped.",
        "See `systemctl status` and `journalctl` of its unit on the node; then run the same command again.",
    ),
    "osd-without-devices": FindingType(
        "{name} has the role osd but no approved device.",
        "Run `avadm bootstrap`, then `avadm disk list --limit {name}` and `avadm disk approve {name} DISK`.",
    ),
    "osd-without-disks": FindingType(
        "A node with the role osd stores data; its disks must be named.",
        "Name them with --serial; `avadm ssh` and lsblk, or the vendor's list, show their serial numbers.",
    ),
    "package-key": FindingType("This is no public key of a package source.", "{remedy}"),
    "package-sources": FindingType(
        "An empty list would leave the nodes without packages.",
        "Remove the key to leave the nodes' own sources alone.",
    ),
    "package-sources-line": FindingType(
        "This is no line of a sources.list.", "Write it as in /etc/apt/sources.list.", check="package-sources"
    ),
    "package-sources-silent": FindingType(
        "A package source does not answer.",
        "Check packages.sources and packages.proxy in the site file, and the way there.",
        check="package-sources",
    ),
    "packages": FindingType(
        "Packages that the node needs are not available.",
        "Check packages.sources, packages.keys and packages.proxy in the site file, and the way there.",
    ),
    "packages-version": FindingType(
        "{name} would be installed in another version than the profile's.",
        "Name sources that hold that version, or choose another profile.",
        check="packages",
    ),
    "packet-filter": FindingType(
        "There are tables of nftables that are called as avadm's, which would replace them.",
        "See whose they are, and give them another name; or network.filter.enabled: false in the site file.",
    ),
    "packet-filter-others": FindingType(
        "Another program filters packets too; what passes has to pass both.",
        "Disable it, or see that it lets that through. A restart of nftables.service removes avadm's rules.",
        severity=_WARNING,
        check="packet-filter",
    ),
    "password-file": FindingType("The password file can be read by others.", "chmod 600 {file}"),
    "password-file-empty": FindingType("The password file's first line is empty.", check="password-file"),
    "password-file-unreadable": FindingType(
        "The password file cannot be read: {reason}.", check="password-file"
    ),
    "password-missing": FindingType(
        "Standard input has no password.",
        "Run it in a terminal, which asks for it, or hand it a file: avadm ava create-admin NAME < FILE",
    ),
    "path-mtu": FindingType(
        "The interface's MTU is too small.", "Set its MTU to what the site file asks for."
    ),
    "path-mtu-lost": FindingType(
        "Packets of full size do not pass between nodes.",
        "Set the MTU of every switch port and interface on that network, or ask for a smaller one in the "
        "site file.",
        check="path-mtu",
    ),
    "path-mtu-unknown": FindingType(
        "Full-size packets cannot be checked: echo requests are not answered, TCP is.",
        "Let ICMP through between nodes: without it the kernel too cannot find out what size passes.",
        severity=_WARNING,
        check="path-mtu",
    ),
    "patroni-command": FindingType(
        "`patronictl {words}` failed.",
        "See `journalctl -u patroni -e` there and `avadm doctor --only database,etcd`.",
    ),
    "people-default-group": FindingType(
        "{name} is not in the group that runs are to be charged to.",
        "Add {name} to its members, or name another group.",
    ),
    "people-twice": FindingType(
        "The {what} {name} stands there twice.", "Remove one of the two, or correct its name."
    ),
    "people-unknown": FindingType(
        "The platform has no {kind} {name}.",
        "Correct the name, add the {kind} to the file, or apply all of the file: `avadm ava apply FILE`.",
    ),
    "phase-failed": FindingType(
        "The phase {phase} failed on the node.",
        "Its log names the task. When that is fixed, the same command continues.",
    ),
    "pki-unreadable": FindingType(
        "The site's certificates cannot be read.",
        "Restore the file, or move it away: all certificates are then recreated from the vault's keys.",
    ),
    "pki-unwritable": FindingType(
        "The site's certificates cannot be written.", "Give the site file's folder to whom runs avadm."
    ),
    "plan-blind": FindingType(
        "No lock node is reachable.",
        "Fix what follows, or plan by this controller's state alone with --offline.",
    ),
    "plan-of-another": FindingType("The plan is of another {what}.", "{remedy}"),
    "plan-outdated-inputs": FindingType(
        "The phase's inputs have changed since.", "{remedy}", check="plan-outdated"
    ),
    "plan-outdated-part": FindingType(
        "The phase's part in the plan is another by now.", "{remedy}", check="plan-outdated"
    ),
    "plan-outdated-state": FindingType(
        "The node is in another state than the plan saw.", "{remedy}", check="plan-outdated"
    ),
    "plan-unreadable": FindingType("The plan cannot be read.", "{remedy}"),
    "plan-unreadable-format": FindingType("This is not a plan.", "{remedy}", check="plan-unreadable"),
    "plan-unstable": FindingType(
        "The saved plan will not hold: building the missing artifacts changes the inputs that it was made from.",
        "Run `avadm artifacts build`, then make the plan again.",
        severity=_WARNING,
    ),
    "plan-unwritable": FindingType("The plan cannot be written."),
    "pod-range": FindingType(
        "kube-proxy knows pods by one network, in which something else has addresses, too.",
        "Choose a network beside network.pods, so that the smallest one that holds both is free, e.g. 10.245.0.0/16 "
        "beside 10.244.0.0/16.",
    ),
    "pods-local-data": FindingType(
        "These pods have data in an emptyDir, which go with them.",
        "Delete or move them. Volumes that may go are named in the pod's annotation "
        "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes.",
    ),
    "pods-nowhere": FindingType(
        "No other node takes these pods, and while none does their budgets keep them.",
        "Add a node like this one (`avadm node add`). Accepted, what they serve is away until this node takes pods again.",
    ),
    "pods-without-controller": FindingType(
        "Nothing makes these pods again elsewhere; they would be gone for good.",
        "Delete or move them.",
    ),
    "pointer-unwritable": FindingType("The default site cannot be saved."),
    "pools-stop": FindingType(
        "Pools would stop if these OSDs were down.",
        "See `ceph health detail`; take fewer hosts at a time, or wait until all placement groups are clean.",
    ),
    "port-clash": FindingType("Two programs would listen on one port of {node}.", "{remedy}"),
    "ports": FindingType(
        "Port {port} is taken by another program.",
        "Stop it, or move it to another port; `ss -ltnp 'sport = :{port}'` shows it.",
    ),
    "power-already": FindingType(
        "The site is powered down already.",
        "`avadm power up` starts it; `avadm power down --poweroff` switches its nodes off.",
    ),
    "power-maintenance": FindingType(
        "A maintenance is on: which of its nodes run is not known.",
        "`avadm maintenance end {name}` ends it.",
    ),
    "power-node": FindingType(
        "The node could not do its part.",
        "See to it (`avadm ssh`); the same command continues.",
    ),
    "power-runs": FindingType(
        "AVA has runs that would be stopped.",
        "Wait until they have ended, or add --stop-runs: they are stopped when the notice is over.",
    ),
    "power-silent": FindingType(
        "The node does not answer.",
        "Switch it on, or see why. If it is accepted, the site is stopped or started without it.",
    ),
    "power-starting": FindingType(
        "The site is being started.",
        "`avadm power up` continues.",
    ),
    "powered-down": FindingType(
        "The site was powered down on purpose.",
        "`avadm power up` starts it.",
    ),
    "profile-file": FindingType("Invalid profile.", "{remedy}"),
    "prometheus-replicas": FindingType(
        "Prometheus runs as two or three equal replicas.", "Give the role prometheus to two or three nodes."
    ),
    "prune-name": FindingType("This names nothing.", "Correct the name."),
    "prune-nothing": FindingType(
        "Nothing of this name is there without being in the file.",
        "Take it out of the file first, or leave the option out: it may be gone already.",
    ),
    "quorum-even": FindingType(
        "This many masters of the cache survive no more losses than 1 or 3.", "Add or remove some."
    ),
    "quorum-even-etcd": FindingType(
        "An even number of etcd members survives no more losses than one fewer.",
        "Add or remove one.",
        check="quorum-even",
    ),
    "quorum-even-master": FindingType(
        "Masters come in odd numbers.", "Add or remove one.", check="quorum-even"
    ),
    "quorum-even-mon": FindingType(
        "An even number of monitors survives no more losses than one fewer.",
        "Add or remove one.",
        check="quorum-even",
    ),
    "quorum-large": FindingType("Every member slows every write.", "Correct it.", severity=_WARNING),
    "quorum-large-mon": FindingType(
        "Every monitor slows every change of the maps.",
        "Correct it.",
        severity=_WARNING,
        check="quorum-large",
    ),
    "quorum-lost": FindingType(
        "The monitors that are left would be no quorum.",
        "Bring the other monitors back first: `avadm apply ceph`.",
    ),
    "quorum-single": FindingType(
        "The loss of the one monitor stops all storage.",
        "Give the role mon to two more nodes.",
        severity=_WARNING,
    ),
    "quorum-single-etcd": FindingType(
        "The loss of the one etcd member stops Kubernetes.",
        "Give the role etcd to two more nodes.",
        severity=_WARNING,
        check="quorum-single",
    ),
    "quorum-single-master": FindingType(
        "While the one master is down, nothing of Kubernetes can be changed.",
        "Give the role master to two more nodes.",
        severity=_WARNING,
        check="quorum-single",
    ),
    "rack-name": FindingType("This rack name fits neither CRUSH nor an inventory.", "Rename the rack."),
    "rack-name-taken": FindingType(
        "CRUSH already has a bucket called {rack}.", "Rename the rack.", check="rack-name"
    ),
    "rack-name-twice": FindingType(
        "Two racks would get one inventory group.", "Rename one of them.", check="rack-name"
    ),
    "rack-prefix": FindingType(
        "A rack's subnet is a part of the management subnet.",
        "Correct it, or remove it where all nodes share one segment.",
    ),
    "rack-prefix-split": FindingType(
        "The nodes of {rack} are in several subnets.",
        "Correct the addresses, the racks, or rack_prefix.",
        check="rack-prefix",
    ),
    "rack-routes": FindingType(
        "The routers between the racks do not know the way to pods.",
        "Let nodes tell the switches their routes (network.bgp.peers), or write ipip: cross_subnet.",
    ),
    "racks-without-reserve": FindingType(
        "After the loss of a rack its copies cannot be recreated: no other rack may take them.",
        "Spread the OSD nodes over one rack more, or set failure_domain: host.",
        severity=_WARNING,
    ),
    "rbd-pool-unknown": FindingType(
        "Pods' block volumes would lie in a pool that the site has not.",
        "Name one of these, or add the pool.",
    ),
    "registries": FindingType(
        "The image registry {name} does not answer.",
        "Check components.kubernetes.registries in the site file (name, ca), DNS, and the way there.",
    ),
    "registries-proxy": FindingType(
        "The proxy to the internet, {proxy}, does not answer.",
        "Check packages.internet_proxy in the site file, and the firewall between the node and the proxy.",
        check="registries",
    ),
    "registry-name": FindingType("The registry {value} is there twice.", "Correct or remove one of the two."),
    "registry-name-own": FindingType(
        "This is the name of the site's own registry.",
        "Remove it: nodes know their own.",
        check="registry-name",
    ),
    "registry-password-missing": FindingType(
        "The vault does not hold the password of {user} at {name}.",
        "Add it: ansible-vault edit --vault-password-file SITE.vault-pass SITE.vault.yml",
    ),
    "registry-storage": FindingType(
        "There is no shared file system.", "Write disk, or give ceph a file system."
    ),
    "registry-storage-mount": FindingType(
        "{name} has the registry, but does not mount the shared file system that is to keep its images.",
        "Add the role client.",
        check="registry-storage",
    ),
    "replace-address": FindingType(
        "A node that keeps its name keeps its addresses.",
        "Leave the option out, or give the new machine another name with --name.",
    ),
    "replace-degraded": FindingType(
        "The OSD is down, and what it held has one copy fewer until that is copied elsewhere.",
        "Wait: ceph copies it ten minutes after an OSD went down. `{command}` does so at once, and waits. Without that it is "
        "copied once only, to the new disk, and meanwhile some data have no spare copy.",
    ),
    "replace-elsewhere": FindingType(
        "The new disk is approved for another node.",
        "Look with `avadm disk list` which disk is in which node.",
    ),
    "replace-entry": FindingType(
        "Several approved disks of the node bear no OSD: it is not clear which one was that of osd.{number}.",
        "Name the disk that is replaced with --old, by its serial number or by-id path.",
    ),
    "replace-in-use": FindingType(
        "The OSD is in use: it has data of which the managers do not say that they are complete elsewhere.",
        "`{command}` moves them to other OSDs first. If the OSD is broken and should not run: `systemctl stop` it, and wait.",
    ),
    "replace-last-copy": FindingType(
        "Something has no complete copy on the OSDs that are up: the old disk may have the last one.",
        "Do not destroy it. Bring up what is down; `ceph health detail` names the placement groups.",
    ),
    "replace-no-disk": FindingType(
        "No blank disk is in the node, and osd.{number} works: it would be destroyed before there is another disk for it.",
        "If its disk was replaced just now, nothing is left to do. Else insert the new disk first, where a bay is free; "
        "without it, the command moves the data and then waits for the disk.",
    ),
    "replace-not-blank": FindingType(
        "The new disk is not proven blank.",
        "Is it the right disk? If what is on it may go: `avadm disk zap`.",
    ),
    "replace-old": FindingType(
        "No approval of {name} that bears no OSD has this name: it cannot be the disk of osd.{number}.",
        "Name the disk as the site file lists it, or leave out --old where one disk alone is missing.",
    ),
    "replace-osd": FindingType(
        "{name} has no such OSD.",
        "See `ceph osd tree`, or name the disk as `avadm disk list` does.",
    ),
    "replace-other-down": FindingType(
        "Another OSD is down. All that this one held is complete elsewhere.",
        "Bring it up first if it can be. Two dead disks are replaced one after the other.",
    ),
    "replace-others-down": FindingType(
        "Another OSD is down, and what this one holds is not known to be complete elsewhere.",
        "Bring it up, or wait until all placement groups are active and clean; with --drain the command waits for that.",
    ),
    "replace-several": FindingType(
        "Several blank disks are in the node.",
        "Name the new one with --with.",
    ),
    "replace-smaller": FindingType(
        "The new disk is smaller than the old one.",
        "Take one that is at least as large: the OSD keeps its weight, and would run full first.",
    ),
    "replace-target": FindingType(
        "It is not clear which OSD is meant.",
        "Name it as osd.N; `ceph osd tree` and `avadm disk list` show them.",
    ),
    "replace-what": FindingType(
        "It is not clear what to recreate on which node.",
        "Name one phase and one of its nodes: `avadm apply etcd --replace NODE`.",
    ),
    "replicas-too-many": FindingType(
        "There are fewer {failure_domain}s with OSDs than copies.",
        "Add OSD nodes, lower replicas, or set failure_domain: host.",
    ),
    "resolution": FindingType(
        "{question} leads elsewhere by the node's resolver.",
        "Correct the DNS (or the node's search domains): after the base phase /etc/hosts hides it.",
        severity=_WARNING,
    ),
    "resolution-slow": FindingType(
        "The node's resolver is slow.",
        "Remove dead servers from /etc/resolv.conf: every login waits for them.",
        severity=_WARNING,
        check="resolution",
    ),
    "restore-time": FindingType("This is no time."),
    "restore-time-future": FindingType("This time has not come yet.", check="restore-time"),
    "restore-time-zone": FindingType("This time does not say in which zone it is.", check="restore-time"),
    "role-absent": FindingType(
        "The node does not have the role {role}.",
        "Name one of its roles.",
    ),
    "role-alone": FindingType(
        "{name} has the role {role}, but is not {names}.", "Add the role {value}, or remove {role}."
    ),
    "role-missing": FindingType(
        "There is a platform (ava), but no node has the role {role}, which {why}.",
        "Give a node the role {role}, or remove components.ava.",
    ),
    "role-missing-any": FindingType(
        "No node has the role {role}, which {why}.",
        "Give a node the role {role}{otherwise}.",
        check="role-missing",
    ),
    "role-missing-database": FindingType(
        "There is a database, but no node has the role {role}, which {why}.",
        "Give nodes the role {role}, or remove components.database.",
        check="role-missing",
    ),
    "role-missing-objects": FindingType(
        "There is an object store, but no node has the role {role}, which {why}.",
        "Give nodes the role {role}, or use `provider: external`.",
        check="role-missing",
    ),
    "role-not-supported": FindingType(
        "Removing a node's role {role} is not supported.",
        "docs/how-to/add-and-remove-nodes.md names the roles and what to do about the others; alluxio_master moves by "
        "`avadm cache masters`.",
    ),
    "role-unused": FindingType(
        "There is the role {role} but no cache.",
        "Describe the cache in components.alluxio, or remove the role {role}.",
    ),
    "role-unused-database": FindingType(
        "There are nodes with the role database, but no database for them.",
        "Add `components: {{database: {{}}}}`, or remove the role database.",
        check="role-unused",
    ),
    "role-unused-mds": FindingType(
        "There are metadata servers but no file system.",
        "Remove the role mds, or `filesystem: null`.",
        check="role-unused",
    ),
    "role-unused-monitoring": FindingType(
        "The site's own monitoring is used, so that no {role} is installed.",
        "Remove the role {role}, or components.monitoring.existing.",
        check="role-unused",
    ),
    "role-unused-prometheus": FindingType(
        "There is {role} but no Prometheus.",
        "Add the role prometheus, or remove {role}.",
        check="role-unused",
    ),
    "role-unused-rgw": FindingType(
        "There are nodes with the role rgw, but no object store for them.",
        "Add `components: {{object_store: {{}}}}`, or remove the role rgw.",
        check="role-unused",
    ),
    "roles-apart": FindingType(
        "{name} would keep two virtual addresses, the API's and the ingress'.",
        "Give the role ingress to other workers.",
    ),
    "roles-apart-objects": FindingType(
        "{name} would keep two virtual addresses, the object store's and that of {value}.",
        "Give the role rgw to storage nodes.",
        check="roles-apart",
    ),
    "route-reflector": FindingType(
        "A route reflector is a node of Kubernetes, named once.", "Name a master or a worker."
    ),
    "route-reflector-single": FindingType(
        "While the one route reflector is down, no node learns of new routes, and all lose the old ones.",
        "Name another one, best in another rack.",
        severity=_WARNING,
    ),
    "run-folder": FindingType(
        "The folder of this run cannot be made.",
        "Free space or permission there, or name another folder with AVADM_RUNS.",
    ),
    "run-unreadable": FindingType("The files of this run are damaged.", "Read {name} in that folder."),
    "secret-in-site-file": FindingType(
        "A secret does not belong in the site file.",
        "Put it into the vault file with ansible-vault and refer to it; choose a new one if others could read it.",
    ),
    "secret-missing": FindingType(
        "The vault has no {name}, a key of an object store behind the cache.",
        "Write it there: `ansible-vault edit {vault}`.",
    ),
    "setting-left": FindingType(
        "A temporary setting is still there.",
        "The next command that changes the site undoes it; `avadm status` lists what is left.",
    ),
    "setting-unknown": FindingType(
        "This avadm does not know a setting of that kind, which a newer one has set.",
        "Undo it with the avadm that set it.",
    ),
    "shares-sum": FindingType(
        "The shares of file system, pools and object store come to more than the whole.",
        "Lower filesystem.share, object_store.share or a pool's share.",
    ),
    "single-master": FindingType(
        "Kubernetes would have no master.",
        "Accept it while nothing has to change in Kubernetes: running pods stay.",
    ),
    "site-file-changed": FindingType(
        "The site file was changed after the plan was shown; nothing has been changed.",
        "Run the same command again, and read its plan.",
    ),
    "site-locked": FindingType(
        "`avadm {value}` is running on this site already.",
        "Wait for it (`avadm runs show latest`), or stop it with ctrl-C where it runs.",
    ),
    "site-unwritable": FindingType("The site file cannot be written."),
    "space": FindingType(
        "The file system of {file} is nearly full.",
        "Make room (apt-get clean, old logs), or give that folder a larger file system.",
    ),
    "space-short": FindingType(
        "The other OSDs would be nearly full.",
        "Add OSDs, or delete data, first.",
    ),
    "ssh-file": FindingType("ssh cannot be given a file of this name.", "{remedy}"),
    "ssh-user": FindingType("This is no login name.", "Write the name alone."),
    "standard-output": FindingType(
        "What this verb prints could not be written.", "Free space, or send it elsewhere; then run it again."
    ),
    "storage-address-missing": FindingType("{name} is not on the storage network.", "Add storage_address."),
    "storage-network-missing": FindingType(
        "There is a storage address but no storage network.", "Add network.storage, or remove the address."
    ),
    "swap": FindingType(
        "The node swaps; kubelet would not start, so the phase nodes switches that off.",
        "Nothing, or `swapoff -a` and remove it from /etc/fstab (the phase makes its line a comment).",
        severity=_WARNING,
    ),
    "swap-full": FindingType(
        "The node swaps, and what it has swapped out does not fit into memory.",
        "Stop what takes the memory, then `swapoff -a`.",
        check="swap",
    ),
    "tier-order": FindingType(
        "The cache's tiers are not one of each kind from the fastest to the slowest.",
        "Put them in this order.",
    ),
    "tier-shared": FindingType("One tier of the cache lies inside of another.", "Choose another folder."),
    "time-no-source": FindingType(
        "There are neither time servers nor mon nodes or masters that could serve the time.",
        "Add time.servers.",
    ),
    "time-server": FindingType(
        "The time server {value} is there twice.", "Correct or remove one of the two."
    ),
    "time-server-name": FindingType(
        "This is no time server's name.", "Write the name alone, without options.", check="time-server"
    ),
    "time-sources": FindingType(
        "The time server {name} gives no good answer.",
        "Check time.servers in the site file, UDP port 123 on the way, and the server itself.",
    ),
    "time-two-servers": FindingType(
        "When two time servers differ, it is unknown which one is wrong.",
        "Add a third one.",
        severity=_WARNING,
    ),
    "tunnels": FindingType(
        "The nodes' tunnels have no addresses of their own.",
        "Set network.tunnels to a range that nothing else uses, e.g. a /24.",
    ),
    "tunnels-few": FindingType(
        "There are more masters and workers than tunnel addresses.", "Choose a larger range.", check="tunnels"
    ),
    "unexpected": FindingType("Unexpected error: {name}: {error}", "{remedy}"),
    "unknown-artifact": FindingType(
        "There is no artifact {name!r}.{guess}", "Name one of these, or none for what the site needs."
    ),
    "unknown-artifact-version": FindingType(
        "There is no recipe of this version of the artifact {name}.",
        "Name one of the versions that avadm builds.",
    ),
    "unknown-check": FindingType("There is no such check."),
    "unknown-check-or-topic": FindingType(
        "There is no such check or topic.", "{remedy}", check="unknown-check"
    ),
    "unknown-key": FindingType("There is no key {name!r} here.", "{remedy}"),
    "unknown-key-asked": FindingType("Unknown key {name!r}{above}.", "{remedy}", check="unknown-key"),
    "unknown-node": FindingType("There is no such node."),
    "unknown-node-kubernetes": FindingType("This node has nothing of Kubernetes.", check="unknown-node"),
    "unknown-node-ssh": FindingType("The site has no node {node!r}.{guess}", check="unknown-node"),
    "unknown-phase": FindingType("There is no phase {name!r}.{guess}", "Name one of these, or none for all."),
    "unknown-profile": FindingType("There is no profile {name!r}.", "{remedy}"),
    "unknown-profile-profile": FindingType("There is no profile {name!r}.", check="unknown-profile"),
    "unknown-rack": FindingType(
        "No node is in this rack.",
        "Name a rack of the site file, or nodes.",
    ),
    "unknown-run": FindingType("No run, or more than one, has the id {name!r}.", "See `avadm runs list`."),
    "unknown-run-none": FindingType(
        "There is no run yet.", "Start one with `avadm apply`.", check="unknown-run"
    ),
    "upgrade-alone": FindingType(
        "AVA is upgraded alone, to the version of this avadm, which no profile names.",
        "Run `avadm upgrade ava`, without other components and without --to.",
    ),
    "upgrade-budget": FindingType(
        "A PodDisruptionBudget keeps pods on the node now, so that its drain would wait.",
        "Let its other pods become ready, or give it more replicas.",
    ),
    "upgrade-ceph-health": FindingType(
        "ceph is not well, and an upgrade would take away what still serves.",
        "See `ceph health detail` and put it right first.",
    ),
    "upgrade-ceph-warnings": FindingType(
        "ceph warns of something that its upgrade neither needs nor changes.",
        "Put it right first; `ceph health detail` says more.",
    ),
    "upgrade-client-old": FindingType(
        "Clients are connected that are too old for the new release.",
        "Upgrade or disconnect them; `ceph features` counts them, `ceph tell mon.NAME sessions` lists them.",
    ),
    "upgrade-collation": FindingType(
        "A database sorts by the C library, which the upgrade replaces: its indexes could be wrong afterwards.",
        "Have the database sort by C.UTF-8, or take PostgreSQL off this node first.",
    ),
    "upgrade-command": FindingType(
        "A command of the upgrade failed on the node.", "See its journal; then run the same command again."
    ),
    "upgrade-database-newer": FindingType(
        "A newer AVA than that of this avadm has migrated the database.",
        "Use that avadm or a newer one, or restore a backup from before its migration (`avadm database restore`).",
    ),
    "upgrade-downgrade": FindingType(
        "The profile has an older {name} than what runs.", "Name the profile of a newer one."
    ),
    "upgrade-downgrade-ava": FindingType(
        "This avadm has an older AVA than the one that runs.",
        "Use the avadm that installed it, or a newer one.",
        check="upgrade-downgrade",
    ),
    "upgrade-dump-space": FindingType(
        "The primary's node has less free space than the database is large, so that a dump may not fit.",
        "Free space below /var/lib/avadm there.",
    ),
    "upgrade-failed": FindingType(
        "The node's upgrade failed.", "See the log that it names. The same command continues."
    ),
    "upgrade-first": FindingType(
        "The upgrade brings another Python to this node, with which its {name} does not run.",
        "Upgrade {name} first: `avadm upgrade postgresql --to PROFILE`.",
    ),
    "upgrade-former-image": FindingType(
        "The registry does not have the image of the AVA that runs: a failed upgrade could not go back to it.",
        "Push it from the avadm that installed it: `avadm apply ava`.",
    ),
    "upgrade-former-manifests": FindingType(
        "The manifests of the AVA that runs are on no master: a failed upgrade could not go back to them.",
        "Write them from the avadm that installed it: `avadm apply ava`.",
    ),
    "upgrade-migration": FindingType(
        "The former AVA cannot use the database after a migration: a failed upgrade could not go back to it.",
        "Choose a quiet time, and take a backup (`avadm database backup`).",
    ),
    "upgrade-migrations": FindingType(
        "The migrations of this avadm's AVA cannot be read, or are no single line.",
        "Install avadm again.",
    ),
    "upgrade-mixed-versions": FindingType(
        "Nodes run different versions of {name}, and no upgrade of it is half done.",
        "Bring them to one version first, by the command that began it.",
    ),
    "upgrade-mount-in-use": FindingType(
        "The file system is in use here; a mount in use is never taken from its users.",
        "End what it names; the same command continues.",
    ),
    "upgrade-no-node": FindingType("This site has no node with {name}.", "Leave it out."),
    "upgrade-node-away": FindingType(
        "The node cannot be drained and upgraded: Kubernetes has no word from {name}.",
        "Bring it back, or remove it (`avadm node remove`). Where this is accepted it is left out: when it is back, "
        "`avadm apply nodes --limit {name}` brings it to the new version.",
    ),
    "upgrade-not-installed": FindingType(
        "AVA is not deployed, so that there is nothing to upgrade.", "Install it: `avadm apply ava`."
    ),
    "upgrade-osd-down": FindingType(
        "An OSD is down: a host that is stopped as well could take away the last copy.",
        "Bring it back, or remove it (`avadm disk replace`).",
    ),
    "upgrade-osd-release": FindingType(
        "The cluster still lets OSDs of a release join that the new one does not support.",
        "Finish the former upgrade: `ceph osd require-osd-release` with the release that runs.",
    ),
    "upgrade-pool-copies": FindingType(
        "A pool stops while one of its copies is down, as each host's OSDs are in turn.",
        "Set min_size below size: `ceph osd pool set {name} min_size N`, or more copies.",
    ),
    "upgrade-profile-differs": FindingType(
        "The profile differs in `{name}`, which no upgrade of components changes.",
        "Name a profile of the same operating system that differs in versions and packages alone.",
    ),
    "upgrade-site-changed": FindingType(
        "The site file has another profile than when the upgrade was planned.",
        "Put `profile` and `component_profiles` back, and run the same command again.",
    ),
    "upgrade-skew": FindingType(
        "Upstream does not support a kubelet of this version with the API servers of {name} before and after.",
        "Bring the node to the version of the API servers first: `avadm apply nodes --limit NODE`.",
    ),
    "upgrade-skips-release": FindingType(
        "Between what runs and the profile's {name} upstream supports no direct step.",
        "Name a profile of a release between the two first.",
    ),
    "upgrade-unhealthy": FindingType(
        "{name} is not well, and an upgrade would take away what still serves.",
        "Put it right first; `avadm doctor` names more.",
    ),
    "upgrade-version-unknown": FindingType(
        "The version of {name} that runs cannot be asked.", "Reach the node, and see that it runs."
    ),
    "url-password": FindingType(
        "A user or password does not belong in the site file.",
        "Have the proxy admit the nodes and the controller by their addresses.",
    ),
    "url-password-proxy": FindingType(
        "A password does not belong in the site file.",
        "Put the whole URL in the vault file and refer to it in extra_vars.",
        check="url-password",
    ),
    "url-syntax": FindingType(
        "This is no URL of an S3 store.", "Write scheme, host and port alone; keys go into the vault."
    ),
    "url-syntax-proxy": FindingType("Invalid proxy.", "Correct it.", check="url-syntax"),
    "url-syntax-service": FindingType("This is no URL of a service.", "Correct it.", check="url-syntax"),
    "variable-name": FindingType("{key!r} cannot be a variable here.", "{remedy}"),
    "vault-locked": FindingType(
        "The vault cannot be opened with this password.",
        "Put the right password into that file, or name another one with {PASSWORD_ENV}.",
    ),
    "vault-lost": FindingType(
        "The site's vault is gone, and what was made with it is there: no new one is made.", "{remedy}"
    ),
    "vault-name-clash": FindingType("Two parts of the site would share one private key.", "Rename the node."),
    "vault-other": FindingType("This is not the vault that the site was installed with.", "{remedy}"),
    "vault-password-missing": FindingType(
        "The file with the vault's password is missing.",
        "Restore it, or name another one with {PASSWORD_ENV}.",
    ),
    "vault-password-open": FindingType("Others can read the vault's password.", "chmod 600 {file}"),
    "vault-unusable": FindingType("{what}"),
    "verb-not-installed": FindingType(
        "`avadm {verb}` is not installed.",
        "Install the distribution {distribution}, of the same version as avadm.",
    ),
    "versions": FindingType(
        "The cluster's daemons are not all of the profile's one version.",
        "Finish the upgrade: `ceph versions` shows which kind lags; restart those daemons.",
    ),
    "versions-missing": FindingType(
        "{name} should run here after the phase {phase} and does not.",
        "See `systemctl status '{name}*'` and the journal on the node; then apply {phase} again.",
        check="versions",
    ),
    "versions-profile": FindingType(
        "{what} is not of the profile's version.",
        "Name package sources with that version, choose the profile that fits, or see whether `avadm upgrade` brings it.",
        check="versions",
    ),
    "versions-stale": FindingType(
        "{program} was replaced on disk after it was started.",
        "Restart it (for ceph one daemon after another, HEALTH_OK between them).",
        check="versions",
    ),
    "versions-unequal": FindingType(
        "{what} differs from the ceph servers.",
        "Bring the packages of all nodes to one version, then restart or mount again what runs.",
        check="versions",
    ),
    "versions-unknown": FindingType(
        "The node could not be asked for its versions.", "Run again.", check="versions"
    ),
    "vip-missing": FindingType(
        "There are nodes with the role {role}, but no virtual address for them.", "Add network.{key}."
    ),
    "vip-missing-several": FindingType(
        "There are several {what}, but no virtual address for them.", "Add {dotted}.", check="vip-missing"
    ),
    "vip-other-rack": FindingType(
        "Nodes with the role {role} that shall hold this address are in another rack's subnet.",
        "Give the role {role} to nodes of one rack, and take an address of its subnet.",
    ),
    "vip-outside": FindingType(
        "A virtual address is one that a machine of the management subnet could have.",
        "Choose a free address of the subnet.",
    ),
    "vip-taken": FindingType("This address is somebody else's.", "Choose a free address of the subnet."),
    "vip-unused": FindingType(
        "No node holds this address: no node has the role {role}.",
        "Give a node the role {role}, or remove {key}.",
        severity=_WARNING,
    ),
    "virtual-address-lost": FindingType(
        "No node would hold a virtual address.",
        "Take one of its nodes at a time.",
    ),
    "vm-boot": FindingType(
        "The virtual machine does not answer over ssh.", "Read its console's log and qemu.log beside it."
    ),
    "vswitch-outside-vpc": FindingType(
        "This virtual switch lies in no VPC.", "Correct the range, or add its VPC to network.vpc."
    ),
    "waiver-check": FindingType("The waiver names a check that `avadm {scope}` does not have.", "{remedy}"),
    "waiver-ended": FindingType(
        "The waiver of {check_id} has ended: `avadm {scope}` fails for it.",
        "Fix what it waived and remove it, or let {who} decide again.",
        severity=_WARNING,
    ),
    "waiver-nodes": FindingType(
        "The waiver names a node that there is not.", "Correct it, or remove the waiver with the node."
    ),
    "waivers-ended": FindingType(
        "The waiver of {check_id} for {names} has ended.",
        "Fix what it waived and remove it, or let {who} decide again.",
        check="waivers",
    ),
    "waivers-unknown": FindingType(
        "The waiver of {check_id} names a check that `avadm {scope}` does not have.",
        "{remedy}",
        check="waivers",
    ),
    "waivers-unused": FindingType(
        "The waiver of {check_id} for {names} waives nothing.",
        "Remove it: what it waived is fixed.",
        severity=_WARNING,
        check="waivers",
    ),
    "wrong-value": FindingType("This is not an IPv4 network.", "{remedy}"),
    "wrong-value-file": FindingType("The file is no mapping.", "{remedy}", check="wrong-value"),
    "wrong-value-key": FindingType("The value of {key!r} is not usable.", "{remedy}", check="wrong-value"),
    "yaml-empty": FindingType("The file is empty.", "Run `avadm site init`."),
    "yaml-syntax": FindingType("This is not YAML: {problem}.", "{remedy}"),
    "yaml-too-much": FindingType(
        "The file is too deep or, once its aliases are followed, too large.",
        "Write the values out instead of nesting them.",
    ),
}
"""Code to what its findings say."""
