"""A network interface in some network namespace, by a packet socket."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import socket
import struct
import time
from pathlib import Path

from csaud_runs.errors import RunError
from csaud_runs.netns import inside_netns_at

from csaud_topologies.capture.frames import Frame
from csaud_topologies.capture.pcapng import Direction

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 6, 1, 1
_PACKET_AUXDATA, _TAG_IS_VALID, _TAGS_TYPE_IS_VALID = 8, 0x10, 0x40
_ETH_P_8021Q = 0x8100
_MACS = 12
_PACKET_OUTGOING = 4
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE, _SO_ATTACH_FILTER = 35, 33, 26
_SIOCGIFINDEX = 0x8933
_RECEIVE_BUFFER = 64 << 20
_MOST_AT_ONCE = 512
_LONGEST = 1 << 16
_AUXILIARY = 128
_TIMESPEC = struct.Struct("qq")
_AUXDATA = struct.Struct("IIIHHHH")
_TAG = struct.Struct("!HH")
_FILTER = struct.Struct("HP")
_RETURN_0 = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A classic BPF program that takes no frame."""
_STATISTICS = struct.Struct("II")


class InterfaceSource:
    """Sees both directions. RunError when the interface cannot be opened.

    What another process sends past the kernel's queues (PACKET_QDISC_BYPASS, as the embedded switch does) the
    kernel does not show here; take a TapSource for that.
    """

    def __init__(self, namespace: Path, ifname: str, snaplen: int = 0) -> None:
        self.seen = 0
        self.dropped = 0
        self._snaplen = snaplen or _LONGEST
        try:
            with inside_netns_at(namespace):
                self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError:
            raise RunError(f"{ifname}: no permission to capture; it needs root (try sudo)") from None
        except OSError as error:
            raise RunError(f"{ifname}: {error.strerror}") from None
        try:
            self._set_up(ifname)
        except OSError as error:
            self._socket.close()
            raise RunError(f"{ifname}: {error.strerror}") from None

    def _set_up(self, ifname: str) -> None:
        with contextlib.suppress(PermissionError):  # root of another user namespace: the default must do
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._socket.bind((ifname, _ETH_P_ALL))
        # The name's number in the socket's namespace, which need not be ours.
        request = fcntl.ioctl(self._socket, _SIOCGIFINDEX, struct.pack("16s24x", ifname.encode()))
        (index,) = struct.unpack_from("i", request, 16)
        membership = struct.pack("iHH8s", index, _PACKET_MR_PROMISC, 0, b"")
        self._socket.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> list[Frame] | None:
        frames: list[Frame] = []
        while len(frames) < _MOST_AT_ONCE:
            try:
                data, extra, _, where = self._socket.recvmsg(_LONGEST, _AUXILIARY)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno == errno.ENETDOWN:  # told once; frames come again when it is up again
                    continue
                return None
            way: Direction = "out" if where[2] == _PACKET_OUTGOING else "in"
            data = _tagged(data, extra)
            frames.append(Frame(_stamp(extra), way, data[: self._snaplen], len(data)))
        self._count()
        return frames

    def _count(self) -> None:
        size = _STATISTICS.size
        packets, drops = _STATISTICS.unpack(self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, size))
        self.seen += packets  # the kernel counts those that it dropped, too, and begins anew
        self.dropped += drops

    def finish(self) -> list[Frame]:
        nothing = ctypes.create_string_buffer(_RETURN_0)
        program = _FILTER.pack(1, ctypes.addressof(nothing))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)  # what comes now is too late
        frames: list[Frame] = []
        while more := self.read():
            frames += more
        return frames

    def close(self) -> None:
        self._socket.close()


def _tagged(data: bytes, extra: list[tuple[int, int, bytes]]) -> bytes:
    """The frame with its VLAN tag, which the kernel takes out and tells of beside it."""
    for level, kind, said in extra:
        if level == _SOL_PACKET and kind == _PACKET_AUXDATA:
            status, _, _, _, _, tag, tag_type = _AUXDATA.unpack(said[: _AUXDATA.size])
            if status & _TAG_IS_VALID:
                known = tag_type if status & _TAGS_TYPE_IS_VALID else _ETH_P_8021Q
                return data[:_MACS] + _TAG.pack(known, tag) + data[_MACS:]
    return data


def _stamp(extra: list[tuple[int, int, bytes]]) -> int:
    """The kernel's time of arrival, nanoseconds since 1970."""
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack(data[: _TIMESPEC.size])
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return time.time_ns()
