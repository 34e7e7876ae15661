#!/bin/sh
# A host: NAME ADDRESS FOLDER (with host_NAME, id_ed25519.pub). In namespaces of its own, over a read-only view of this
# machine's root; what it writes is in memory and ends with it.
set -eu
name=$1 address=$2 folder=$3
hostname "$name"
room=$(mktemp -d)
mount -t tmpfs -o mode=755,size=4g lab "$room"
mkdir "$room/upper" "$room/work" "$room/root"
mount -t overlay -o "lowerdir=/,upperdir=$room/upper,workdir=$room/work" overlay "$room/root"
cd "$room/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mkdir -p run/sshd etc/csaud-rehearsal
rm -rf etc/csaud opt/csaud run/systemd
cp "$folder/host_$name" "$folder/id_ed25519.pub" etc/csaud-rehearsal/
chmod -R go= etc/csaud-rehearsal
sed -i 's/^root:[^:]*:/root:*:/' etc/shadow
cat >etc/csaud-rehearsal/sshd_config <<EOF
ListenAddress $address
HostKey /etc/csaud-rehearsal/host_$name
AuthorizedKeysFile /etc/csaud-rehearsal/id_ed25519.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
MaxStartups 100
EOF
ip link set lo up
while ! ip -4 addr show dev mgmt0 2>/dev/null | grep -q "$address"; do sleep 0.1; done
exec chroot . /usr/sbin/sshd -D -e -f /etc/csaud-rehearsal/sshd_config
