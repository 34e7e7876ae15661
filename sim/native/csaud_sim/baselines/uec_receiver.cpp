#include "csaud_sim/baselines/uec_receiver.hpp"

#include <algorithm>

namespace csaud::sim::baselines {

// from_it: the bitmap begins at the packet itself; otherwise it ends there.
UecAck UecReceiver::ack(const UecData& data, bool marked, bool from_it) {
    const std::uint32_t before = data.seq >= kAckBits - 1 ? data.seq - (kAckBits - 1) : 0;
    UecAck made{.next = arrived_.next(),
                .base = from_it ? data.seq : std::max(before, arrived_.next() + 1),
                .acked = data.seq,
                .path = data.path,
                .received = received_,
                .marked = marked,
                .again = data.why != Reason::first};
    for (std::uint32_t i = 0; i < kAckBits; ++i)
        if (arrived_.has(made.base + i)) made.bitmap |= std::uint64_t{1} << i;
    unanswered_ = 0;
    return made;
}

UecReceiver::Answer UecReceiver::on_data(const UecData& data, bool marked) {
    if (arrived_.has(data.seq)) return {.ack = ack(data, marked, marked)};
    const bool in_order = data.seq == arrived_.next();
    if (!arrived_.take(data.seq)) return {};
    const std::uint32_t bytes = data.payload + header_;
    const bool first = received_ == 0;
    received_ += bytes;
    unanswered_ += bytes;
    asked_ |= data.ack_request;
    const bool caught_up = in_order && arrived_.count() == arrived_.next() && asked_;
    if (caught_up) asked_ = false;
    Answer answer{.taken = true};
    if (first || marked || data.ack_request || caught_up || unanswered_ >= ack_every_)
        answer.ack = ack(data, marked, marked || data.ack_request);
    return answer;
}

UecReceiver::Answer UecReceiver::on_trimmed(const UecData& data, bool marked, bool last_hop) {
    if (arrived_.has(data.seq)) return {.ack = ack(data, false, false)};
    return {.nack = UecNack{data.seq, data.path, marked, last_hop}};
}

}  // namespace csaud::sim::baselines
