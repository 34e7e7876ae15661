// The books of one endpoint. Each counter says exactly what it counts; the report balances them against the
// switches' counters, so a packet is never counted in two of one group.
#pragma once

#include <cstdint>
#include <vector>

namespace csaud {

// X(name, help). Counters of 64 bits; the names are the keys of reports.
#define CSAUD_STATS(X)                                                                            \
    X(tx_data, "DATA copies handed to the device, retransmissions included")                      \
    X(rx_data, "valid DATA copies received, duplicates included")                                 \
    X(rx_duplicates, "valid DATA copies of packets already received, also of finished messages")  \
    X(rtx_loss, "DATA copies retransmitted because a switch told of the loss")                    \
    X(rtx_gap, "DATA copies retransmitted because of a hole in path_seq")                         \
    X(rtx_interval, "DATA copies retransmitted because the receiver's interval ran out")          \
    X(rtx_probe, "DATA copies retransmitted after the sender's own probe")                        \
    X(tx_parity, "PARITY packets handed to the device")                                           \
    X(rx_parity, "valid PARITY packets received")                                                 \
    X(rx_by_parity, "packets that PARITY gave back, in place of copies that had not come")        \
    X(rx_loss_notices, "losses learned from switches: each copy (message, packet, attempt) once") \
    X(rx_loss_trimmed, "those of copies that were for this rank (TRIM)")                          \
    X(rx_loss_bounced, "those of this rank's own copies (BOUNCE)")                                \
    X(rx_loss_repeats, "LOSS notices of a copy of which this rank had one")                       \
    X(rx_ecn, "valid DATA copies that came with a congestion mark (CE)")                          \
    X(rx_ecn_echoes, "congestion marks on this rank's own DATA, as its receivers told of them")   \
    X(tx_control, "control packets handed to the device, ABORT included")                         \
    X(rx_control, "valid control packets received, ABORT included")                               \
    X(tx_inside_data, "DATA and PARITY handed over for ranks at this rank's address")             \
    X(rx_inside_data, "DATA and PARITY with right headers from such ranks")                       \
    X(tx_inside_control, "control packets handed over for ranks at this rank's address")          \
    X(rx_inside_control, "control packets with right headers from such ranks")                    \
    X(tx_bytes, "bytes handed to the device from the IPv4 header on")                             \
    X(rx_bytes, "bytes of packets with right keys, epoch, iCRC and source, from the IPv4 header") \
    X(rx_bad_length, "packets whose lengths contradict each other, or are too short")             \
    X(rx_bad_icrc, "packets with a wrong invariant CRC")                                          \
    X(rx_bad_magic, "packets that are not CSA of this version, or of an unknown type")            \
    X(rx_bad_qkey, "packets with another Q_Key")                                                  \
    X(rx_bad_qpn, "packets for another queue pair")                                               \
    X(rx_stale_epoch, "packets of another epoch")                                                 \
    X(rx_stale_data, "those of them that were DATA or PARITY")                                    \
    X(rx_stale_loss, "those of them that were LOSS")                                              \
    X(rx_bad_source, "packets from another address or queue pair than their rank has")            \
    X(rx_bad_auth, "packets that nobody of the job has authenticated")                            \
    X(rx_bad_index, "packets with impossible ranks, indices, totals, paths or payload sizes")     \
    X(rx_bad_loss, "reports of a lost copy that was never sent")                                  \
    X(rx_early_dropped, "valid DATA of receives not yet posted, dropped for lack of room")        \
    X(messages_sent, "messages whose ACK arrived")                                                \
    X(messages_received, "messages received completely")                                          \
    X(tx_ack, "ACK packets sent")                                                                 \
    X(tx_state, "STATE packets sent")                                                             \
    X(tx_credit, "CREDIT packets sent")                                                           \
    X(tx_probe, "PROBE packets sent, to peers as well as about messages")                         \
    X(tx_probe_rsp, "PROBE_RSP packets sent")                                                     \
    X(tx_abort, "ABORT packets sent")                                                             \
    X(rx_ack, "ACK packets received")                                                             \
    X(rx_state, "STATE packets received")                                                         \
    X(rx_credit, "CREDIT packets received")                                                       \
    X(rx_probe, "PROBE packets received")                                                         \
    X(rx_probe_rsp, "PROBE_RSP packets received")                                                 \
    X(rx_abort, "ABORT packets received")                                                         \
    X(rx_abort_denied, "ABORTs of a rank that, when asked, was there as ever: somebody else's")   \
    X(rx_reordered, "first copies that arrived after a later-sent packet of their message")       \
    X(rx_early, "DATA packets that waited in the early pool")                                     \
    X(paths_assumed_bad, "times a path to a peer was taken out of use for its losses")            \
    X(paths_recovered, "times such a path answered a probe and was used again")                   \
    X(stalls, "times this endpoint found that its own caller had been stopped")                   \
    X(rx_queue_drops, "packets that the device's receive queue dropped (kept by the device)")     \
    X(tx_errors, "packets that the device could not send (kept by the device)")

struct Stats {
#define CSAUD_FIELD(name, help) std::uint64_t name = 0;
    CSAUD_STATS(CSAUD_FIELD)
#undef CSAUD_FIELD
    // By path_id
    std::vector<std::uint64_t> tx_path;       // DATA copies
    std::vector<std::uint64_t> tx_path_lost;  // those of them that were taken for lost and sent again
    std::vector<std::uint64_t> tx_path_ecn;   // congestion marks on them that receivers told of
    std::vector<std::uint64_t> rx_path_ecn;   // DATA copies that came with a mark

    // Calls f(const char* name, const std::vector<std::uint64_t>&) for each table by path_id.
    template <class F>
    void for_each_path(F&& f) const {
        f("tx_path", tx_path);
        f("tx_path_lost", tx_path_lost);
        f("tx_path_ecn", tx_path_ecn);
        f("rx_path_ecn", rx_path_ecn);
    }

    // Calls f(const char* name, std::uint64_t value) for each counter, in the order above.
    template <class F>
    void for_each(F&& f) const {
#define CSAUD_VISIT(name, help) f(#name, name);
        CSAUD_STATS(CSAUD_VISIT)
#undef CSAUD_VISIT
    }
};

}  // namespace csaud
