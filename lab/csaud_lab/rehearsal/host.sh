#!/bin/sh
# A host as namespaces: NAME ADDRESS KEYS. In namespaces of its own, over a read-only view of this machine's root; what
# it writes is in memory and ends with it.
set -eu
room=$(mktemp -d)
mount -t tmpfs -o mode=755,size=4g lab "$room"
mkdir "$room/upper" "$room/work" "$room/root"
mount -t overlay -o "lowerdir=/,upperdir=$room/upper,workdir=$room/work" overlay "$room/root"
cp -r "$3" "$room/root/run/keys"
cp "$(dirname "$0")/sshd.sh" "$room/root/run/"
cd "$room/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
exec chroot . sh /run/sshd.sh "$1" "$2" /run/keys
