#!/bin/sh
# One sshd that answers for every hollow node (of the subnet), in namespaces of its own, where nothing of this machine can be changed: every
# file system is read-only, and what is written goes to memory. It ends with the process that holds the other end of its standard input.
# usage: unshare --net --mount --pid --ipc --uts --fork --kill-child --mount-proc boot.sh FOLDER SUBNET
set -eu
[ -x /usr/sbin/sshd ] || { echo "/usr/sbin/sshd is not here: run scripts/sshd" >&2; exit 1; }
folder=$1
ip link set lo up
# Every address of it is this one here, in a network without any way out.
ip route add local "$2" dev lo
mount --make-rprivate /
keep=$(mktemp -d /dev/shm/hollow-XXXXXX)
cp -r "$folder/hollow" "$folder/host_key" "$folder/authorized_keys" "$folder/sshd_config" "$keep"
awk '$2 !~ "^/(proc|dev)" { print $2 }' /proc/mounts | while read -r where; do
  mount -o remount,bind,ro "$where" 2>/dev/null || true
done
for where in /tmp /var/tmp /root /run /home; do
  [ ! -d "$where" ] || mount -t tmpfs tmpfs "$where"
done
mount -o remount,bind,ro /proc/sys 2>/dev/null || { mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys; }
mkdir -p /run/sshd /run/hollow
mv "$keep"/* /run/hollow/
rmdir "$keep"
chmod 600 /run/hollow/host_key /run/hollow/authorized_keys
if touch /usr/hollow-may-write 2>/dev/null || touch /etc/hollow-may-write 2>/dev/null; then
  echo "this machine's file systems stayed writable" >&2
  exit 1
fi
# Nodes accept peer updates without a playbook: their /etc is a copy in memory, and their packet filter takes any rules.
cp -a /etc /run/etc
mount --bind /run/etc /etc
mount -t tmpfs tmpfs /usr/local/sbin
cat >/usr/local/sbin/avadm-packet-filter <<'END'
#!/bin/sh
echo '{"changed": true, "armed": true}'
END
chmod 755 /usr/local/sbin/avadm-packet-filter
hostname hollow
/usr/sbin/sshd -D -e -f /run/hollow/sshd_config 2>/run/hollow/sshd.log &
for _ in 1 2 3 4 5 6 7 8 9 10; do
  if grep -q "Server listening" /run/hollow/sshd.log; then
    echo ready
    break
  fi
  sleep 0.2
done
grep -q "Server listening" /run/hollow/sshd.log || { cat /run/hollow/sshd.log >&2; exit 1; }
cat >/dev/null
