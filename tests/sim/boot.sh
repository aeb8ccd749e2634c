#!/bin/sh
# Turns the namespaces that it was started in into one simulated host: own files, name, interfaces, then sshd.
# usage: boot.sh FOLDER (the room's) NAME
set -eu
room=$1 name=$2 own=$1/hosts/$2 changes=$1/hosts.d/$2
over() { # DIR LOWER: DIR as LOWER has it, with changes of this host's own
  mkdir -p "$changes/upper$1" "$changes/work$1"
  mount -t overlay overlay -o "lowerdir=$2,upperdir=$changes/upper$1,workdir=$changes/work$1" "$1"
}
hostname "$name"
mount -t sysfs sysfs /sys # shows the interfaces of the namespace that mounts it
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /root # the shell settings of anyone who runs this are not the host's
mkdir /run/sshd
over /etc /etc
rm -f /etc/hosts /etc/os-release /etc/resolv.conf /etc/hostname /etc/machine-id
cp "$own/etc/"* "$room/etc/"* /etc/
over /etc/apt "$room/apt"
over /var/lib/apt "$room/var/lib/apt"
over /var/cache/apt "$room/var/cache/apt"
mount --bind "$room/var/lib/dpkg" /var/lib/dpkg
echo ready
read -r _ # until the interfaces are there
ip -batch "$own/ip"
exec /usr/sbin/sshd -D -e -f "$own/sshd_config" 2>"$own/sshd.log"
