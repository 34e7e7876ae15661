#!/bin/sh
# A host as a guest: its first program. /run/results has `host` (NAME, ADDRESS, and of each interface its MAC address and
# name, mgmt0 first), sshd.sh and the keys. The others are given RDMA devices by the kernel's Soft-RoCE.
set -eu
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
ldconfig   # there are libraries that the machine below has not
read -r name address interfaces </run/results/host
number=0
for each in $interfaces; do
    found=$(ip -o link | grep -i "${each%@*}" | cut -d: -f2 | tr -d ' ')
    ip link set "$found" name "${each#*@}" mtu 1500 addrgenmode none up
    case $each in
        *@mgmt0) ip addr add "$address/24" dev mgmt0 ;;
        *) rdma link add "rxe$number" type rxe netdev "${each#*@}" && number=$((number + 1)) ;;
    esac
done
exec sh /run/results/sshd.sh "$name" "$address" /run/results
