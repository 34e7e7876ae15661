#!/bin/busybox sh
# The guest's first process: loads the modules, lays the packages over this machine's root, and hands over to the
# program that the kernel command line names (csaud.run=PATH).
bb=/bin/busybox

fail() {
    echo "init: $*"
    $bb poweroff -f
}

$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
while read -r module; do
    $bb insmod "/modules/$module" || fail "cannot load $module"
done </modules/order

run=
for word in $($bb cat /proc/cmdline); do
    case $word in csaud.run=*) run=${word#csaud.run=} ;; esac
done
[ -n "$run" ] || fail "the kernel command line has no csaud.run="

share="trans=virtio,version=9p2000.L,msize=262144"
$bb mount -t 9p -o "$share,ro,cache=loose" host /lower/host || fail "cannot mount the host's root"
$bb mount -t 9p -o "$share,ro,cache=loose" packages /lower/packages || fail "cannot mount the packages"
$bb mount -t tmpfs upper /upper
$bb mkdir /upper/data /upper/work
$bb mount -t overlay -o lowerdir=/lower/packages:/lower/host,upperdir=/upper/data,workdir=/upper/work overlay /root ||
    fail "cannot lay the packages over the host's root"
$bb mkdir -p /root/run/results
$bb mount -t 9p -o "$share,cache=none" results /root/run/results || fail "cannot mount the results share"
for kept in proc sys dev; do
    $bb mount --move "/$kept" "/root/$kept"
done
$bb ip link set lo up

# A first process that ends is a kernel panic; this one turns the machine off instead.
exec $bb switch_root /root /usr/bin/busybox sh -c '
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin
    case $0 in *.py) set -- /usr/bin/python3.11 -B "$0" ;; *) set -- /bin/sh "$0" ;; esac
    "$@" || echo "init: $* ended with $?"
    busybox poweroff -f
' "$run"
