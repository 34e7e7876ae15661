#!/bin/sh
# In a host's own root: the machine that it was copied from is forgotten, and a lab's ssh is served. NAME ADDRESS KEYS,
# where KEYS has host_NAME and id_ed25519.pub.
set -eu
name=$1 address=$2 keys=$3 own=/etc/csaud-rehearsal
hostname "$name"
mkdir -p /run/sshd $own
rm -rf /etc/csaud /opt/csaud /run/systemd
cp "$keys/host_$name" "$keys/id_ed25519.pub" $own/
chmod -R go= $own
sed -i 's/^root:[^:]*:/root:*:/' /etc/shadow
cat >$own/sshd_config <<EOF
ListenAddress $address
HostKey $own/host_$name
AuthorizedKeysFile $own/id_ed25519.pub
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
exec /usr/sbin/sshd -D -e -f $own/sshd_config
