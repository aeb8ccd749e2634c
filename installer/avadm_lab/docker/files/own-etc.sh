#!/bin/sh
# Docker lays its own /etc/hosts, /etc/hostname and /etc/resolv.conf over the node's as mounts, which cannot be replaced by
# rename(2). A machine has plain files there: uncover them, filled once with docker's content and then the node's own.
for name in hosts hostname resolv.conf; do
    file=/etc/$name
    mountpoint -q "$file" || continue
    cp "$file" "/run/avadm-lab.$name"
    umount "$file"
    [ -s "$file" ] || cp "/run/avadm-lab.$name" "$file"
done
