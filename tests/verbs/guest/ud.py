"""UD queue pairs on any RDMA device, by pyverbs."""

import ipaddress
import time
from typing import Any

from pyverbs import enums
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, cqe_status_to_str
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT = 1
# rxe has its IPv6 link address at index 0, then its IPv4 address and the IPv6 one beside it.
IPV4_GID_INDEX, IPV6_GID_INDEX = 1, 2
# What a UD receive begins with: the sender's IPv6 header, or 20 bytes and its IPv4 header.
GRH_BYTES = 40


class UdDevice:
    """An open RDMA device."""

    def __init__(self, name: str) -> None:
        self._context = Context(name=name)
        self._domain = PD(self._context)

    def describe(self) -> dict[str, Any]:
        port = self._context.query_port(PORT)
        return {
            "device": self._context.name.decode()
            if isinstance(self._context.name, bytes)
            else self._context.name,
            "active_mtu": 128 << port.active_mtu,
            "state": port.state,
            "gids": [str(self._context.query_gid(PORT, index)) for index in (IPV4_GID_INDEX, IPV6_GID_INDEX)],
        }

    def open_qp(self, qkey: int, depth: int, size: int) -> "UdQueuePair":
        return UdQueuePair(self._context, self._domain, qkey, depth, size)


class UdQueuePair:
    """A UD queue pair ready to send, with `depth` receives of `size` bytes (and the GRH) always posted."""

    def __init__(self, context: Any, domain: Any, qkey: int, depth: int, size: int) -> None:
        self._domain = domain
        self._slot_bytes = GRH_BYTES + size
        self._receives = CQ(context, depth)
        self._sends = CQ(context, 16)
        capacity = QPCap(max_send_wr=16, max_recv_wr=depth, max_send_sge=1, max_recv_sge=1)
        kind = QPInitAttr(
            qp_type=enums.IBV_QPT_UD, scq=self._sends, rcq=self._receives, cap=capacity, sq_sig_all=1
        )
        attributes = QPAttr(port_num=PORT)
        attributes.qkey = qkey
        self._pair = QP(domain, kind, attributes)
        self._memory = MR(domain, depth * self._slot_bytes, enums.IBV_ACCESS_LOCAL_WRITE)
        self._outgoing = MR(domain, size, enums.IBV_ACCESS_LOCAL_WRITE)
        for slot in range(depth):
            self._post(slot)

    @property
    def number(self) -> int:
        return int(self._pair.qp_num)

    def receive(self, count: int, timeout_s: float) -> list[dict[str, Any]]:
        """Up to `count` completions, each with the bytes that arrived, the GRH first."""
        completed: list[dict[str, Any]] = []
        deadline = time.monotonic() + timeout_s
        while len(completed) < count:
            found, entries = self._receives.poll(1)
            if found:
                completed.append(self._take(entries[0]))
            elif time.monotonic() >= deadline:
                break
        return completed

    def send(self, address: str, remote_qpn: int, qkey: int, data: bytes) -> str:
        """Send one datagram and wait until the device has taken it."""
        index = IPV6_GID_INDEX if ":" in address else IPV4_GID_INDEX
        route = GlobalRoute(dgid=GID(_gid_of(address)), sgid_index=index)
        handle = AH(self._domain, attr=AHAttr(gr=route, is_global=1, port_num=PORT))
        self._outgoing.write(data, len(data))
        piece = SGE(self._outgoing.buf, len(data), self._outgoing.lkey)
        request = SendWR(opcode=enums.IBV_WR_SEND, num_sge=1, sg=[piece])
        request.set_wr_ud(handle, remote_qpn, qkey)
        self._pair.post_send(request)
        while True:
            found, entries = self._sends.poll(1)
            if found:
                return status_name(entries[0].status)

    def close(self) -> None:
        self._pair.close()
        self._receives.close()
        self._sends.close()
        self._memory.close()
        self._outgoing.close()

    def _post(self, slot: int) -> None:
        address = self._memory.buf + slot * self._slot_bytes
        piece = SGE(address, self._slot_bytes, self._memory.lkey)
        self._pair.post_recv(RecvWR(wr_id=slot, num_sge=1, sg=[piece]))

    def _take(self, entry: Any) -> dict[str, Any]:
        slot = entry.wr_id
        data = self._memory.read(entry.byte_len, slot * self._slot_bytes) if entry.status == 0 else b""
        self._post(slot)
        return {
            "status": status_name(entry.status),
            "byte_len": entry.byte_len,
            "src_qp": entry.src_qp,
            "grh": bool(entry.wc_flags & enums.IBV_WC_GRH),
            "data": data,
        }


def _gid_of(address: str) -> str:
    """The GID of an address as pyverbs reads it: eight groups, all written out."""
    return ipaddress.IPv6Address(address if ":" in address else f"::ffff:{address}").exploded


def status_name(status: int) -> str:
    """The device's word for a completion's status."""
    return str(cqe_status_to_str(status))
