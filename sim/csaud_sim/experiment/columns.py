"""What the files of a sweep hold: every column and every total, with its meaning."""

from __future__ import annotations

FLOWS: dict[str, str] = {
    "src": "number of the sending host, in the inventory's order",
    "dst": "number of the receiving host",
    "bytes": "payload",
    "start_ns": "when it started, virtual time",
    "fct_ns": "from then until its last byte had arrived; null: it had not when the run ended",
    "acked_ns": "from then until its sender knew that; null: it did not",
    "ideal_ns": "what it takes on an idle fabric (csaud_sim.experiment.ideal)",
    "slowdown": "fct_ns / ideal_ns",
    "status": "0: nothing went wrong; otherwise as csaud._core.Status",
    "measured": "it started after the warm-up: figures are of such flows alone",
}

COLLECTIVES: dict[str, str] = {
    "started_ns": "when the first rank called it, virtual time",
    "completion_ns": "from then until the last rank had its result",
    "waited_ns": "from when the last rank called it until then",
}

TOTALS: dict[str, str] = {
    "flows": "flows",
    "unfinished": "flows that were not over at the time limit",
    "collectives": "collectives that are over",
    "virtual_s": "virtual time at the end",
    "hops": "packets that switches received",
    "tx_data": "DATA copies that hosts sent",
    "rx_data": "DATA copies that hosts received",
    "tx_control": "control packets that hosts sent",
    "rx_duplicates": "DATA received more than once",
    "rtx_loss": "retransmitted because a switch told of the loss",
    "rtx_gap": "retransmitted because of a hole in an ordered path",
    "rtx_interval": "retransmitted because the receiver's interval was over",
    "rtx_probe": "retransmitted because the sender's probe said so",
    "told": "losses that hosts were told of by switches",
    "injected": "DATA lost by fault rules without a word",
    "trimmed": "DATA of which a switch left a LOSS to its receiver",
    "bounced": "DATA of which a switch made a LOSS to its sender",
    "congestion_dropped": "DATA that found no room and was dropped",
    "hidden_drops": "packets dropped unseen by the P4 program: must be 0",
    "setup_s": "processor's time, s: fabric, tables, hosts, flows",
    "run_s": "processor's time, s: the simulation",
}
