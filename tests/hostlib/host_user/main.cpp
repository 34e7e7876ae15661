// A program that links the host core: two endpoints hand each other packets, under a clock of its own, until
// a message of 10,000 bytes has arrived. Prints its size, and how many packets were sent.
#include <cstdio>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"

namespace {

csaud::EndpointConfig rank(std::uint16_t number) {
    csaud::EndpointConfig config;
    config.rank = number;
    config.world = 2;
    config.qkey = 1;
    config.local = {.ipv4 = 0x0a000001U + number, .qpn = 16U + number};
    return config;
}

std::vector<std::byte> whole(const csaud::TxPacket& packet) {
    std::vector<std::byte> bytes(packet.head.begin(), packet.head.begin() + packet.head_len);
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    bytes.insert(bytes.end(), packet.tail.begin(), packet.tail.begin() + packet.tail_len);
    return bytes;
}

}  // namespace

int main() {
    csaud::Endpoint ends[] = {csaud::Endpoint(rank(0)), csaud::Endpoint(rank(1))};
    ends[0].set_peer(1, rank(1).local.ipv4, rank(1).local.qpn);
    ends[1].set_peer(0, rank(0).local.ipv4, rank(0).local.qpn);

    const std::vector<std::byte> sent(10'000, std::byte{7});
    std::vector<std::byte> received(sent.size());
    csaud::Nanos now = csaud::kSecond;
    ends[0].post_send({.src_rank = 0}, 1, sent, {}, now);
    ends[1].post_recv({.src_rank = 0}, 0, received, {}, now);
    int packets = 0, over = 0;
    for (; over < 2 && now < 2 * csaud::kSecond; now += csaud::kMicrosecond)
        for (int from = 0; from < 2; ++from) {
            ends[from].on_timer(now);
            csaud::TxPacket packet;
            for (; ends[from].next_tx(packet, now); ++packets) ends[1 - from].on_packet(whole(packet), now);
            for (csaud::Completion ended; ends[from].next_completion(ended);)
                over += ended.status == csaud::Status::ok;
        }
    std::printf("%zu bytes, %s, DATA %llu\n", received.size(),
                over == 2 && received == sent ? "whole" : "not whole",
                static_cast<unsigned long long>(ends[0].stats().tx_data));
    return 0;
}
