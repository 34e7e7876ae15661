#include "csaud_sim/baselines/queue_pairs.hpp"

#include <algorithm>

#include "csaud_sim/baselines/splitmix.hpp"
#include "csaud_sim/hosts/party.hpp"
#include "csaud_sim/network/link_model.hpp"

namespace csaud::sim::baselines {

std::vector<Parameter> with_queue_pairs(std::vector<Parameter> own) {
    const std::vector<Parameter> more{
        {"qps", Unit::number, 0,
         "queue pairs of a host to each other one, among which flows are drawn; 0: each flow has its own"},
        {"qp_cache", Unit::number, 0, "contexts of queue pairs that a NIC has room for; 0: for all"},
        {"qp_miss", Unit::time, 1e3, "to fetch one from its host: a round trip of PCIe (swept: 0.5 to 2 us)"},
        {"qp_fetches", Unit::number, 1, "under way at a time, in each direction", {}, 1},
    };
    own.insert(own.end(), more.begin(), more.end());
    return own;
}

void set_queue_pairs(QueuePairModel& model, const Parameters& p) {
    model.to_a_peer = static_cast<std::uint32_t>(p.whole("qps"));
    model.contexts = {static_cast<std::uint32_t>(p.whole("qp_cache")), p.time("qp_miss"),
                      static_cast<std::uint32_t>(p.whole("qp_fetches"))};
}

QueuePairs::Sender& QueuePairs::sender_for(const Message& message, std::uint32_t& index) {
    const bool flow = message.name.comm == kFlowComm;
    std::uint64_t number = flow ? message.name.coll_seq : 0;
    if (flow && model_.to_a_peer > 0) number = SplitMix(number).next() % model_.to_a_peer;
    const Key key{number << 32 | std::uint64_t{message.name.comm} << 16 | message.dst};
    if (const std::uint32_t* found = sender_of_.find(key)) {
        index = *found;
        return *senders_[index];
    }
    index = static_cast<std::uint32_t>(senders_.size());
    sender_of_.put(key, index);
    auto made = std::make_unique<Sender>();
    made->dst = message.dst;
    made->entropy = index;
    made->order = model_.send_order();
    if (model_.rate_control) made->rate = model_.rate_control();
    senders_.push_back(std::move(made));
    return *senders_.back();
}

void QueuePairs::send(const Message& message, Nanos now) {
    std::uint32_t index = 0;
    Sender& sender = sender_for(message, index);
    const auto packets =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (message.bytes + model_.mtu - 1) / model_.mtu));
    sender.messages.push({message, sender.end, packets});
    sender.end += packets;
    sender.order->extend(sender.end);
    ++unfinished_;
    wake(index, now);
}

void QueuePairs::wake(std::uint32_t index, Nanos now) {
    Sender& sender = *senders_[index];
    timers_.arm_earlier(TimerKind::send, index, sender.order->deadline());
    if (sender.waiting || !sender.order->ready()) return;
    if (sender.rate && sender.rate->next() > now)
        return timers_.arm_earlier(TimerKind::send, index, sender.rate->next());
    sender.waiting = true;
    turns_.push(index);
}

bool QueuePairs::next(plain::Packet& packet, bool data, Nanos now) {
    if (!answers_.empty()) {
        packet = answers_.pop();
        ++books_.tx_control;
        return true;
    }
    while (data) {
        fetch(now);
        if (ready_.empty() || ready_.due() > now) return false;
        const std::uint32_t index = ready_.pop();
        Sender& sender = *senders_[index];
        sender.waiting = false;
        if (!sender.order->ready()) continue;
        write(packet, sender, index, now);
        if (sender.rate) sender.rate->sent(packet.bytes + LinkModel{}.overhead_bytes, now);
        wake(index, now);
        fetch(now);
        return true;
    }
    return false;
}

// As many turns ahead as fetches may be under way.
void QueuePairs::fetch(Nanos now) {
    while (!turns_.empty() && ready_.size() < std::max(1U, model_.contexts.fetches)) {
        const std::uint32_t index = turns_.pop();
        ready_.push(index, sending_.ready(fetched(2 * index), now));
    }
}

bool QueuePairs::fetched(std::uint32_t context) {
    const bool there = contexts_.use(context);
    if (!there) ++books_.context_misses;
    return there;
}

// A context that is there already and whose packet may not go (the link is paused) is nothing to wait for.
Nanos QueuePairs::deadline() const {
    const Nanos due = std::min(timers_.next(), came_.due());
    return ready_.due() > looked_ ? std::min(due, ready_.due()) : due;
}

void QueuePairs::write(plain::Packet& packet, Sender& sender, std::uint32_t index, Nanos now) {
    const SendOrder::Next next = sender.order->take(now);
    const Sending* sending = nullptr;
    for (std::size_t i = 0; i < sender.messages.size(); ++i) {
        sending = &sender.messages.at(i);
        if (next.psn - sending->first < sending->packets) break;
    }
    const std::uint32_t place = next.psn - sending->first;
    packet.dst = sender.dst;
    packet.entropy = sender.entropy;
    packet.connection = index;
    packet.type = kData;
    packet.kind = plain::Kind::data;
    packet.listens = model_.ecn;
    packet.psn = next.psn;
    packet.last = place + 1 == sending->packets;
    packet.payload =
        packet.last ? static_cast<std::uint32_t>(sending->message.bytes - std::uint64_t{place} * model_.mtu)
                    : model_.mtu;
    packet.bytes = model_.data_headers + packet.payload;
    packet.name = sending->message.name;
    packet.more[0] = sending->message.bytes;
    packet.again = next.cause != Cause::first;
    ++books_.tx_data;
    if (next.cause == Cause::gap) ++books_.rtx_gap;
    if (next.cause == Cause::timeout) ++books_.rtx_timeout;
}

void QueuePairs::timer(Nanos now) {
    looked_ = now;
    while (came_.due() <= now) take(came_.pop(), now);
    while (timers_.next() <= now) {
        const Timer timer = timers_.pop();
        SendOrder& order = *senders_[timer.index]->order;
        if (order.deadline() <= now && order.timer(now)) ++books_.timeouts;
        wake(timer.index, now);
    }
}

void QueuePairs::packet(const plain::Packet& packet, Nanos now) {
    if (packet.kind == plain::Kind::cut) return;  // nobody asked for it
    if (model_.contexts.contexts == 0) return take(packet, now);
    const std::uint32_t context =
        packet.type == kData ? 2 * receiver_for(packet).index + 1 : 2 * packet.connection;
    const Nanos at = receiving_.ready(fetched(context), now);
    if (at <= now && came_.empty()) return take(packet, now);
    came_.push(packet, at);
}

void QueuePairs::take(const plain::Packet& packet, Nanos now) {
    packet.type == kData ? data(packet, now) : answer(packet, now);
}

QueuePairs::Receiver& QueuePairs::receiver_for(const plain::Packet& packet) {
    const Key key{std::uint64_t{packet.connection} << 16 | packet.src};
    if (const std::uint32_t* found = receiver_of_.find(key)) return *receivers_[*found];
    receiver_of_.put(key, static_cast<std::uint32_t>(receivers_.size()));
    auto made = std::make_unique<Receiver>();
    made->index = static_cast<std::uint32_t>(receivers_.size());
    made->order = model_.receive_order();
    receivers_.push_back(std::move(made));
    return *receivers_.back();
}

void QueuePairs::data(const plain::Packet& packet, Nanos now) {
    ++books_.rx_data;
    if (packet.marked) ++books_.rx_ecn;
    Receiver& receiver = receiver_for(packet);
    const ReceiveOrder::Reply reply = receiver.order->data(packet.psn, now);
    if (reply.verdict == ReceiveOrder::Verdict::duplicate) ++books_.rx_duplicates;
    if (reply.verdict == ReceiveOrder::Verdict::discarded) ++books_.rx_discarded;
    if (reply.verdict == ReceiveOrder::Verdict::taken) {
        if (receiver.started < 0) receiver.started = now;
        if (packet.last) receiver.ends.push_back({packet.psn, packet.name, packet.more[0]});
        deliver(receiver, now);
    }
    if (!reply.answer) return;
    plain::Packet answer;
    answer.dst = packet.src;
    answer.entropy = packet.entropy;
    answer.connection = packet.connection;
    answer.kind = plain::Kind::control;
    answer.type = reply.what.negative ? kNack : kAck;
    answer.bytes = model_.answer_bytes;
    answer.ack = reply.what.ack;
    answer.psn = reply.what.psn;
    answer.marked = packet.marked;  // which says so to the sender
    answers_.push(answer);
}

// Messages are over in the order of their PSNs.
void QueuePairs::deliver(Receiver& receiver, Nanos now) {
    while (!receiver.ends.empty()) {
        const auto first = std::ranges::min_element(receiver.ends, {}, &Ended::psn);
        if (first->psn >= receiver.order->expected()) return;
        const Ended ended = *first;
        receiver.ends.erase(first);
        upper_.delivered(ended.name, ended.bytes, receiver.started, now);
        receiver.started = receiver.ends.empty() ? -1 : now;
    }
}

void QueuePairs::answer(const plain::Packet& packet, Nanos now) {
    ++books_.rx_control;
    Sender& sender = *senders_[packet.connection];
    if (packet.marked && sender.rate) sender.rate->marked(now);
    sender.order->answered({packet.ack, packet.psn, packet.type == kNack}, now);
    while (!sender.messages.empty()) {
        const Sending& sending = sender.messages.front();
        if (sending.first + sending.packets > sender.order->acked()) break;
        upper_.acknowledged(sending.message, now);
        sender.messages.pop();
        --unfinished_;
    }
    wake(packet.connection, now);
}

}  // namespace csaud::sim::baselines
