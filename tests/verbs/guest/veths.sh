#!/bin/sh
# Two RDMA devices, rv0 (10.9.0.1) and rv1 (10.9.0.2), on the ends of a veth in this machine; what either sends is
# lost with a probability:  veths.sh up 1%;  veths.sh down
set -e
conf=/proc/sys/net/ipv4/conf

up() {
    ip link add v0 type veth peer name v1
    echo 0 >$conf/all/rp_filter
    for end in 0 1; do
        ip link set v$end mtu 4200 addrgenmode none address 02:00:0a:09:00:0$((end + 1)) up
        ip address add 10.9.0.$((end + 1))/24 dev v$end
        # Each sees packets from an address of this very machine.
        echo 1 >$conf/v$end/accept_local
        echo 0 >$conf/v$end/rp_filter
        tc qdisc add dev v$end root netem loss "$1" limit 10000
    done
    ip neighbour add 10.9.0.2 lladdr 02:00:0a:09:00:02 dev v0 nud permanent
    ip neighbour add 10.9.0.1 lladdr 02:00:0a:09:00:01 dev v1 nud permanent
    for end in 0 1; do rdma link add rv$end type rxe netdev v$end; done
}

down() {
    rdma link delete rv0
    rdma link delete rv1
    ip link delete v0
}

"$@"
