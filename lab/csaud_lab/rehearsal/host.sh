#!/bin/sh
# A host as namespaces: NAME ADDRESS KEYS. In namespaces of its own, over a read-only view of this machine's root; what
# it writes is in memory and ends with it.
set -eu
room=$(dirname "$3")/room   # of all hosts, for each mounts there what only it sees
mkdir -p "$room"
mount -t tmpfs -o mode=755,size=4g lab "$room"
scripts=$(dirname "$0")
cd "$room"
mkdir upper work root
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root   # relative, for a path may have commas
cd root
cp -r "$3" run/keys
cp "$scripts/sshd.sh" run/
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
exec chroot . sh /run/sshd.sh "$1" "$2" /run/keys
