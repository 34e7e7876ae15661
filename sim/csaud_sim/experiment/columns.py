"""What the files of a sweep hold: every column and every total, with its meaning."""

from __future__ import annotations

NO_COLLECTIVE = -1

FLOWS: dict[str, str] = {
    "src": "number of the sending host, in the inventory's order",
    "dst": "number of the receiving host",
    "bytes": "payload",
    "start_ns": "when it started, virtual time; a message: when its sender posted it",
    "fct_ns": "from then until its last byte had arrived; null: it had not when the run ended",
    "acked_ns": "from then until its sender knew that; null: it did not, or a message",
    "ideal_ns": "what it takes on an idle fabric (csaud_sim.experiment.ideal)",
    "slowdown": "fct_ns / ideal_ns",
    "status": "0: nothing went wrong; otherwise as csaud._core.Status",
    "measured": "it started after the warm-up: figures are of such flows, and messages, alone",
    "collective": "-1: a flow of the traffic; otherwise a message of the collective of this number",
}

COLLECTIVES: dict[str, str] = {
    "started_ns": "when the first rank called it, virtual time",
    "completion_ns": "from then until the last rank had its result",
    "waited_ns": "from when the last rank called it until then",
}

TOTALS: dict[str, str] = {
    "flows": "flows",
    "unfinished": "flows that were not over at the time limit",
    "collectives": "collectives that are over, those of the warm-up left out",
    "collectives_unfinished": "collectives that were not over at the time limit, left out of all figures",
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
    "rx_by_parity": "given back by parity, without a copy sent again",
    "tx_parity": "PARITY packets that hosts sent",
    "rx_parity": "PARITY packets that hosts received",
    "rtx_timeout": "retransmitted because the sender's timer had run out; not of csa-ud",
    "told": "losses that hosts were told of by switches",
    "lost": "DATA copies lost, by the causes that follow; what is under way at the end is not",
    "injected": "DATA and PARITY lost by fault rules without a word",
    "trimmed": "DATA of which a switch left a LOSS to its receiver; by `both`, bounced as well",
    "bounced": "DATA of which a switch made a LOSS to its sender",
    "congestion_dropped": "DATA and PARITY dropped for want of room, or by a signalled fault",
    "no_path": "DATA and PARITY dropped by a switch that had no live port towards their host",
    "link_lost": "DATA and PARITY lost by impaired links, or by links that were down",
    "rx_discarded": "DATA received and thrown away for its order; not of csa-ud",
    "rx_ecn": "DATA received with a congestion mark",
    "rx_control": "control packets that hosts received; not of csa-ud",
    "timeouts": "times that a sender's timer ran out; not of csa-ud",
    "context_misses": "contexts of queue pairs that a NIC fetched from its host; not of csa-ud",
    "pauses": "times that a port told another one to pause (PFC); not of csa-ud",
    "hidden_drops": "packets dropped unseen by the P4 program: must be 0",
    "data_bytes": "DATA that hosts sent; bytes are those of frames without FCS, here and below",
    "retransmitted_bytes": "of it, copies that were not the first",
    "spurious_bytes": "of these, copies sent while an earlier one was not lost",
    "duplicate_bytes": "DATA that hosts received more than once",
    "control_bytes": "all that hosts sent besides DATA",
    "reassembly_bytes": "most that a host held for messages to come or coming, at every 32nd frame",
    "recovered": "packets whose first copy was lost, wherever, and of which another one has arrived",
    "recovery_p50_us": "from the loss of the first copy until another one arrived, median; 0: none",
    "recovery_p99_us": "the same, p99",
    "queue_p99_us": "how long DATA waited in the queue of a port of a switch, p99: of the worst port",
    "path_imbalance": "DATA of the busiest uplink over the mean of its switch's uplinks: of the worst switch",
    "setup_s": "processor's time, s: fabric, tables, hosts, flows",
    "run_s": "processor's time, s: the simulation",
}

LINKS: dict[str, str] = {
    "switch": "that sent",
    "port": "of it",
    "to": "switch or host at the other end",
    "frames": "that it sent",
    "bytes": "of them, without FCS",
    "data": "frames of them that were DATA or PARITY",
    "busy_ns": "time that it was sending",
    "queue_p50_ns": "how long DATA waited in its queue (within 1.6 %)",
    "queue_p99_ns": "the same, p99",
    "queue_max_ns": "the same, the longest",
}
