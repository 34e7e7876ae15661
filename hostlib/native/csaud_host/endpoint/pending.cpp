// Lists of what is not over, by the half of the endpoint that has it.
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/endpoint/endpoint_impl.hpp"

namespace csaud {

void Receiver::list(std::vector<PendingMessage>& out) const {
    for (std::uint32_t i = 0; i < messages_.capacity(); ++i) {
        const Message& m = messages_[i];
        if (!m.live) continue;
        out.push_back({.id = m.id,
                       .name = m.name,
                       .kind = CompletionKind::recv,
                       .posted = m.posted,
                       .peer = m.name.src_rank,
                       .bytes = m.buffer.size(),
                       .arrived = static_cast<std::uint16_t>(m.reassembly.received()),
                       .packets = static_cast<std::uint16_t>(m.reassembly.total())});
    }
}

void Sender::list(std::vector<PendingMessage>& out) const {
    for (std::uint32_t i = 0; i < messages_.capacity(); ++i) {
        const SendMessage& m = messages_[i];
        if (m.id == 0) continue;
        out.push_back({.id = m.id,
                       .name = m.name,
                       .kind = CompletionKind::send,
                       .peer = m.dst,
                       .bytes = m.buffer.size(),
                       .arrived = m.arrived_count,
                       .packets = m.total});
    }
}

std::vector<PendingMessage> Endpoint::pending() const {
    std::vector<PendingMessage> all;
    impl_->receiver.list(all);
    impl_->sender.list(all);
    return all;
}

}  // namespace csaud
