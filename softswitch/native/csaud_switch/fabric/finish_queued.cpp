#include "csaud_switch/fabric/finish_queued.hpp"

#include <vector>

namespace csaud::sw {

namespace {

// last: what has not seen egress by now ends here.
void finish(Forwarding& forwarding, Port& port, std::uint32_t priority, bool last, Nanos now) {
    PacketQueue& queue = port.queues[priority];
    for (std::uint32_t left = queue.count; left > 0; --left) {
        Packet* packet = queue.pop();
        if (!packet->finished && last) {
            forwarding.flush(packet);
            packet = nullptr;
        } else if (!packet->finished) {
            packet = forwarding.egress(packet, queue.count, now);
        }
        if (packet == nullptr) {
            --port.queued;
            continue;
        }
        packet->finished = true;
        queue.push(packet);
    }
    if (queue.count == 0) port.waiting &= ~(std::uint64_t{1} << priority);
}

}  // namespace

void finish_queued(Forwarding& forwarding, const Ports& ports, Nanos now) {
    const std::vector<Port*> all = ports.all();
    for (Port* port : all) port->serving = true;  // clones that egress makes wait as well
    constexpr int kRounds = 8;                    // clones of clones, and packets that come around again
    for (int round = 0; round < kRounds; ++round) {
        const bool last = round + 1 == kRounds;
        for (Port* port : all)
            for (std::uint32_t priority = 0; priority < kMaxPriorities; ++priority)
                finish(forwarding, *port, priority, last, now);
        if (!last) forwarding.run_again(now);
    }
    forwarding.flush_again();
    for (Port* port : all) port->serving = false;
}

}  // namespace csaud::sw
