#include "csaud_sim/hosts/copies.hpp"

#include <algorithm>

#include "csaud_sim/hosts/oracle.hpp"

namespace csaud::sim {

void Copies::sent(FrameBytes frame) {
    const auto copy = csa_headers(frame);
    if (!copy || copy->csa.type != wire::Type::data) {
        figures_.control_bytes += frame.size();
        return;
    }
    figures_.data_bytes += frame.size();
    if (copy->csa.attempt == 0) return;
    figures_.retransmitted_bytes += frame.size();
    const auto found = losses_.find(key_of(*copy));
    const std::uint64_t earlier = bit_of(copy->csa.attempt) - 1;
    if (found == losses_.end() || (found->second.attempts & earlier) != earlier)
        figures_.spurious_bytes += frame.size();
}

void Copies::arrived(FrameBytes frame, bool again, Nanos now) {
    if (csa_type(frame) != wire::Type::data) return;
    if (again) figures_.duplicate_bytes += frame.size();
    if (losses_.empty()) return;
    const auto copy = csa_headers(frame);
    if (!copy || copy->csa.attempt == 0) return;
    const auto found = losses_.find(key_of(*copy));
    if (found == losses_.end()) return;
    if (found->second.first >= 0) recoveries_.push_back(now - found->second.first);
    losses_.erase(found);
}

void Copies::holds(const MemoryUse& memory) {
    const std::uint64_t bytes = memory.receives + memory.arrivals + memory.early;
    figures_.reassembly_bytes = std::max(figures_.reassembly_bytes, bytes);
}

void Copies::note(const Key& key, unsigned attempt, Nanos now) {
    Losses& losses = losses_[key];
    losses.attempts |= bit_of(attempt);
    if (attempt == 0 && losses.first < 0) losses.first = now;
}

void Copies::lost(FrameBytes frame, Nanos now) {
    const auto type = csa_type(frame);
    if (type == wire::Type::parity) ++figures_.parity_lost;
    if (type != wire::Type::data) return;
    const auto copy = csa_headers(frame);
    if (!copy) return;
    note(key_of(*copy), copy->csa.attempt, now);
    if (oracle_ != nullptr) oracle_->lost(*copy, now);
}

// A LOSS on its way to the receiver is of a copy that was cut. One to the sender, with the addresses swapped,
// may be answered while another one goes on, so that only where it is made is it of news.
void Copies::told(FrameBytes frame, bool made_here, Nanos now) {
    const auto loss = csa_headers(frame);
    if (!loss || loss->csa.name.src_rank >= addresses_.size()) return;
    Key key = key_of(*loss);
    if (key.dst_ipv4 == addresses_[loss->csa.name.src_rank]) {
        if (!made_here) return;
        key.dst_ipv4 = loss->route.src_ipv4;
    }
    note(key, loss->csa.attempt, now);
}

}  // namespace csaud::sim
