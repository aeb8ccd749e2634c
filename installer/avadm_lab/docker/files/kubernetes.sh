#!/bin/sh
# Lab shims for docker and kubelet in a container node, recreated at each start (evidence/fidelity.md).
set -eu

# Mounts of pods' volumes must be seen by the containers that share them.
mount --make-rshared /

# Only the network's settings are a node's own; all others are the machine's and stay read-only.
mountpoint -q /proc/sys/net || mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net

# kubelet insists on these values, which are the machine's: it is shown files that hold them.
mkdir -p /run/avadm-lab
show() {
  file=/run/avadm-lab/$(echo "$1" | tr / _)
  echo "$2" >"$file"
  mountpoint -q "/proc/sys/$1" || mount --bind "$file" "/proc/sys/$1"
}
show vm/overcommit_memory 1
show kernel/panic 10
show kernel/panic_on_oops 1
show kernel/keys/root_maxkeys 1000000
show kernel/keys/root_maxbytes 25000000

# GPUs are character devices of NVIDIA's major number, without a driver.
i=0
while [ "$i" -lt "$AVADM_LAB_GPUS" ]; do
  [ -e "/dev/nvidia$i" ] || mknod -m 0666 "/dev/nvidia$i" c 195 "$i"
  i=$((i + 1))
done
[ "$AVADM_LAB_GPUS" = 0 ] || [ -e /dev/nvidiactl ] || mknod -m 0666 /dev/nvidiactl c 195 255

# What the driver shows of them in /proc, and a kernel's log of the node's own: /dev/kmsg is the machine's.
if [ "$AVADM_LAB_GPUS" != 0 ]; then
  i=0
  while [ "$i" -lt "$AVADM_LAB_GPUS" ]; do
    at=$(printf '0000:%02x:00.0' $((i + 6)))
    mkdir -p "/run/avadm-lab/driver/nvidia/gpus/$at"
    printf 'Model: \t\t Fake GPU\nGPU UUID: \t GPU-fake-%s\nBus Location: \t %s\nDevice Minor: \t %s\n' "$i" "$at" "$i" \
      >"/run/avadm-lab/driver/nvidia/gpus/$at/information"
    i=$((i + 1))
  done
  mountpoint -q /proc/driver || mount --bind /run/avadm-lab/driver /proc/driver
  touch /run/avadm-lab/kernel-log
fi

# Volumes for pods are mounted from files and images: the kernel gives out its loop devices, and no one here makes their
# nodes.
[ "${AVADM_LAB_LOOPS:-0}" = 0 ] || [ -e /dev/loop-control ] || mknod -m 0660 /dev/loop-control c 10 237
i=0
while [ "$i" -lt "${AVADM_LAB_LOOPS:-0}" ]; do
  [ -e "/dev/loop$i" ] || mknod -m 0660 "/dev/loop$i" b 7 "$i"
  i=$((i + 1))
done
