"""Queue pairs and their state on one host by number of peers, computed: one UD queue pair, or RC to each.

A queue pair's context is counted as mlx5 NICs have it: 0x740 bits (`mlx5_ifc_qpc_bits` in the kernel's and
rdma-core's mlx5_ifc.h), RC and UD alike. Queues come on top, and only one UD queue pair needs them.
"""

from __future__ import annotations

from pathlib import Path

from bench.results import Result, result

PEERS = (8, 32, 128, 512, 1_024, 4_096, 16_384, 65_536)
CONTEXT = 0x740 // 8  # bytes


def rows(idle_peer: float) -> list[Result]:
    """For each number of peers: queue pairs and NIC bytes of CSA-UD beside RC's, and CSA-UD's host memory.

    idle_peer: bytes that the host library keeps for a peer, as measured.
    """
    found = []
    for count in PEERS:
        rc = count * CONTEXT
        found.append(result(f"queue pairs for {count:,} peers", 1, "QPs", peer="RC", peer_value=float(count),
                            at={"curve": "QPs", "x": count}))  # fmt: skip
        found.append(result(f"QP state for {count:,} peers", float(CONTEXT), "bytes",
                            peer="RC", peer_value=float(rc), at={"curve": "bytes", "x": count}))  # fmt: skip
        found.append(result(f"host memory for {count:,} idle peers", count * idle_peer, "bytes",
                            at={"curve": "host", "x": count}))  # fmt: skip
    return found


def draw(results: list[Result], path: Path) -> None:
    """Write an SVG of the rows above. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.5, 4.2), layout="constrained")
    state = [row for row in results if row.at.get("curve") == "bytes"]
    host = [row for row in results if row.at.get("curve") == "host"]
    sizes = [row.at["x"] for row in state]
    axes.plot(sizes, [row.peer_value or 0.0 for row in state], marker="o", label="RC: queue pairs")
    axes.plot(sizes, [row.value for row in state], marker="o", label="CSA-UD: queue pair")
    axes.plot(sizes, [row.value for row in host], marker="o", label="CSA-UD: peers in host memory")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("peers")
    axes.set_ylabel("bytes")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)
