#include "csaud_sim/baselines/sprayed.hpp"

#include <algorithm>

#include "csaud_sim/hosts/party.hpp"

namespace csaud::sim::baselines {

std::uint32_t Sprayed::connection_for(const Message& message) {
    const bool flow = message.name.comm == kFlowComm;
    const std::uint64_t number = flow ? message.name.coll_seq : 0;
    const Key key{number << 32 | std::uint64_t{message.name.comm} << 16 | message.dst};
    if (const std::uint32_t* found = connection_of_.find(key)) return *found;
    const auto index = static_cast<std::uint32_t>(connections_.size());
    connection_of_.put(key, index);
    auto made = std::make_unique<Connection>();
    made->dst = message.dst;
    made->sender = model_.sender(std::uint64_t{seat_.seed} << 32 ^ std::uint64_t{seat_.rank} << 24 ^ index);
    connections_.push_back(std::move(made));
    return index;
}

void Sprayed::send(const Message& message, Nanos) {
    const std::uint32_t index = connection_for(message);
    Connection& connection = *connections_[index];
    const std::uint64_t mtu = model_.mtu;
    const std::uint64_t packets = std::max<std::uint64_t>(1, (message.bytes + mtu - 1) / mtu);
    connection.messages.push({message, connection.end, static_cast<std::uint32_t>(packets)});
    connection.end += static_cast<std::uint32_t>(packets);
    for (std::uint64_t i = 0; i < packets; ++i)
        connection.sender->post(static_cast<std::uint32_t>(std::min(mtu, message.bytes - i * mtu)));
    ++unfinished_;
    wake(index);
}

void Sprayed::wake(std::uint32_t index) {
    Connection& connection = *connections_[index];
    timers_.arm_earlier(TimerKind::send, index, connection.sender->deadline());
    if (connection.waiting || !connection.sender->may_send()) return;
    connection.waiting = true;
    turns_.push(index);
}

// Where both wait.
bool Sprayed::data_first() {
    if (answered_ < model_.answers_per_data) return false;
    answered_ = 0;
    return true;
}

bool Sprayed::next(plain::Packet& packet, bool data, Nanos now) {
    const bool both = data && !turns_.empty() && !answers_.empty();
    if ((answers_.empty() || (both && data_first())) && data && send_data(packet, now)) return true;
    if (answers_.empty()) return false;
    if (both) ++answered_;
    packet = answers_.pop();
    ++books_.tx_control;
    return true;
}

bool Sprayed::send_data(plain::Packet& packet, Nanos now) {
    while (!turns_.empty()) {
        const std::uint32_t index = turns_.pop();
        connections_[index]->waiting = false;
        if (!connections_[index]->sender->may_send()) continue;
        write(packet, index, now);
        wake(index);
        return true;
    }
    return false;
}

void Sprayed::write(plain::Packet& packet, std::uint32_t index, Nanos now) {
    Connection& connection = *connections_[index];
    const Reason why = connection.sender->send(packet, now);
    const Sending* sending = nullptr;
    for (std::size_t i = 0; i < connection.messages.size(); ++i) {
        sending = &connection.messages.at(i);
        if (packet.psn - sending->first < sending->packets) break;
    }
    packet.dst = connection.dst;
    packet.entropy = index << 16 | packet.path;
    packet.connection = index;
    packet.type = kData;
    packet.kind = plain::Kind::data;
    packet.listens = model_.ecn;
    packet.last = packet.psn + 1 == sending->first + sending->packets;
    packet.bytes = model_.data_headers + packet.payload;
    packet.name = sending->message.name;
    packet.more = {sending->message.bytes, std::uint64_t{sending->first} << 32 | sending->packets};
    packet.again = why != Reason::first;
    ++books_.tx_data;
    if (why == Reason::trimmed) ++books_.rtx_loss;
    if (why == Reason::timeout) ++books_.rtx_timeout;
}

void Sprayed::timer(Nanos now) {
    while (timers_.next() <= now) {
        const Timer timer = timers_.pop();
        books_.timeouts += connections_[timer.index]->sender->timer(now);
        wake(timer.index);
    }
}

void Sprayed::packet(const plain::Packet& packet, Nanos now) {
    packet.type == kData ? data(packet, now) : answer(packet, now);
}

Sprayed::Peer& Sprayed::peer_for(const plain::Packet& packet) {
    const Key key{std::uint64_t{packet.connection} << 16 | packet.src};
    if (const std::uint32_t* found = peer_of_.find(key)) return *peers_[*found];
    peer_of_.put(key, static_cast<std::uint32_t>(peers_.size()));
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->receiver = model_.receiver();
    return *peers_.back();
}

plain::Packet Sprayed::answer_to(const plain::Packet& data) const {
    plain::Packet answer;
    answer.dst = data.src;
    answer.entropy = data.entropy;
    answer.connection = data.connection;
    answer.path = data.path;
    answer.kind = plain::Kind::control;
    answer.bytes = model_.control_bytes;
    return answer;
}

void Sprayed::data(const plain::Packet& packet, Nanos now) {
    const bool cut = packet.kind == plain::Kind::cut;
    if (!cut) ++books_.rx_data;
    if (!cut && packet.marked) ++books_.rx_ecn;
    Peer& peer = peer_for(packet);
    plain::Packet answer = answer_to(packet);
    const SprayedReceiver::Outcome outcome = peer.receiver->packet(packet, answer, now);
    if (!cut && !outcome.taken) ++books_.rx_duplicates;
    if (outcome.taken)
        peer.arrivals.taken(packet.name, static_cast<std::uint32_t>(packet.more[1] >> 32),
                            static_cast<std::uint32_t>(packet.more[1]), packet.more[0], upper_, now);
    if (outcome.answered) answers_.push(answer);
}

void Sprayed::answer(const plain::Packet& packet, Nanos now) {
    ++books_.rx_control;
    Connection& connection = *connections_[packet.connection];
    connection.sender->heard(packet, now);
    while (!connection.messages.empty()) {
        const Sending& sending = connection.messages.front();
        if (sending.first + sending.packets > connection.sender->acked()) break;
        upper_.acknowledged(sending.message, now);
        connection.messages.pop();
        --unfinished_;
    }
    wake(packet.connection);
}

}  // namespace csaud::sim::baselines
