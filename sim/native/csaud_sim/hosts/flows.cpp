#include "csaud_sim/hosts/flows.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace csaud::sim {

namespace {

constexpr std::size_t kLongest = std::size_t{512} * 8192;  // bytes of a message, whatever the MTU
constexpr std::size_t kPage = 4096;                        // of memory, for all payloads
constexpr std::uint32_t kStarts = 0;  // what is to be done; otherwise the flow that is received, plus 1
constexpr std::uint64_t kMessages = 1U << 16;  // of a flow: they are numbered by the chunk of a name

[[noreturn]] void refuse(std::size_t index, const std::string& why) {
    throw std::invalid_argument("flow " + std::to_string(index) + ": " + why);
}

}  // namespace

void Flows::add(std::span<const Flow> flows) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const Flow& flow = flows[i];
        for (const std::uint16_t host : {flow.src, flow.dst})
            if (host >= hosts_.size()) refuse(i, "there is no host " + std::to_string(host));
        if (flow.src == flow.dst) refuse(i, "it goes from host " + std::to_string(flow.src) + " to itself");
        if (flow.start < engine_.now())
            refuse(i, "its start, " + std::to_string(flow.start) + " ns, lies before the present, " +
                          std::to_string(engine_.now()));
        const std::uint64_t longest = hosts_[flow.src]->longest_message();
        if (flow.bytes == 0 || flow.bytes > kMessages * longest)
            refuse(i, std::to_string(flow.bytes) + " bytes, of 1 to " + std::to_string(kMessages * longest));
    }
    const std::size_t first = flows_.size();
    flows_.insert(flows_.end(), flows.begin(), flows.end());
    for (std::size_t i = first; i < flows_.size(); ++i) waiting_.push_back(static_cast<std::uint32_t>(i));
    std::ranges::sort(waiting_, [&](std::uint32_t a, std::uint32_t b) {
        return flows_[a].start != flows_[b].start ? flows_[a].start > flows_[b].start : a > b;
    });
    open_work_.begin(flows.size());
    expect_next();
}

void Flows::expect_next() {
    if (waiting_.empty()) return;
    const Nanos next = flows_[waiting_.back()].start;
    if (armed_for_ <= next) return;
    if (event_ != kNoEvent) engine_.cancel(event_);
    armed_for_ = next;
    event_ = engine_.at(next, *this, kStarts);
}

void Flows::act(std::uint32_t what, Nanos now) {
    if (what != kStarts) {
        post(what - 1, false, now);
        return hosts_[flows_[what - 1].dst]->turn(now);
    }
    event_ = kNoEvent;
    armed_for_ = kNever;
    while (!waiting_.empty() && flows_[waiting_.back()].start <= now) {
        const std::uint32_t index = waiting_.back();
        waiting_.pop_back();
        start(index, now);
    }
    expect_next();
}

void Flows::start(std::uint32_t index, Nanos now) {
    Party& src = *hosts_[flows_[index].src];
    Party& dst = *hosts_[flows_[index].dst];
    Flow& flow = flows_[index];
    const std::uint64_t longest = src.longest_message();
    flow.sending = flow.receiving = static_cast<std::uint32_t>((flow.bytes + longest - 1) / longest);
    if (!sent_) {
        sent_ = std::make_unique<RepeatedMemory>(kLongest, kPage);
        received_ = std::make_unique<RepeatedMemory>(kLongest, kPage);
    }
    if (flow.receive_delay == 0)
        post(index, false, now);
    else
        engine_.at(now + flow.receive_delay, *this, index + 1);
    post(index, true, now);
    if (!src.alive() && !dst.alive() && !flow.over) {
        flow.over = true;
        flow.status = Status::peer_unreachable;
        open_work_.end(1);
    }
    dst.turn(now);
    src.turn(now);
}

void Flows::post(std::uint32_t index, bool sends, Nanos now) {
    const Flow& flow = flows_[index];
    Party& src = *hosts_[flow.src];
    Party& by = sends ? src : *hosts_[flow.dst];
    if (!by.alive()) return;
    const std::uint64_t longest = src.longest_message();
    MessageName name;
    name.comm = kFlowComm;
    name.epoch = src.epoch();
    name.coll_seq = index;
    name.src_rank = flow.src;
    Hints hints;
    hints.cls = flow.cls;
    const std::uint64_t messages = (flow.bytes + longest - 1) / longest;
    for (std::uint64_t i = 0; i < messages; ++i) {
        name.chunk = static_cast<std::uint16_t>(i);
        const std::size_t bytes = std::min(longest, flow.bytes - i * longest);
        if (sends)
            by.port().post_send(name, flow.dst, sent_->bytes().first(bytes), hints, by.local(now));
        else
            by.port().post_recv(name, flow.src, received_->bytes().first(bytes), hints, by.local(now));
    }
}

void Flows::completed(const Completion& completion, Nanos now) {
    Flow& flow = flows_[completion.name.coll_seq];
    if (completion.status != Status::ok) {
        if (flow.over) return;
        flow.over = true;
        flow.status = completion.status;
        open_work_.failed();
        open_work_.end(1);
        return;
    }
    if (completion.kind == CompletionKind::send) {
        if (--flow.sending == 0) flow.acked = now;
        return;
    }
    if (--flow.receiving != 0) return;
    flow.finished = now;
    if (!flow.over) {
        flow.over = true;
        open_work_.end(1);
    }
}

}  // namespace csaud::sim
