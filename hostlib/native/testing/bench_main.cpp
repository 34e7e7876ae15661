// How fast the core is by itself: one sender, one receiver, packets handed over in memory.
//   csaud_core_bench [payload bytes per packet] [messages]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "endpoint.hpp"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t n) {
    ++allocations;
    if (void* p = std::malloc(n)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}

namespace {

using csaud::Endpoint;
using csaud::EndpointConfig;
using csaud::Nanos;
using csaud::TxPacket;

struct Side {
    Endpoint endpoint;
    std::vector<std::byte> bytes = std::vector<std::byte>(9000);
    std::chrono::nanoseconds in_packets{0};

    explicit Side(const EndpointConfig& c) : endpoint(c) {}
};

// Hands over all that `from` may send; returns how many packets that were.
std::size_t pass(Side& from, Side& to, Nanos now) {
    TxPacket packet;
    std::size_t n = 0;
    while (from.endpoint.next_tx(packet, now)) {
        std::byte* out = std::copy_n(packet.head.begin(), packet.head_len, from.bytes.data());
        out = std::copy(packet.payload.begin(), packet.payload.end(), out);
        out = std::copy_n(packet.tail.begin(), packet.tail_len, out);
        const auto begin = std::chrono::steady_clock::now();
        to.endpoint.on_packet(std::span(from.bytes.data(), out), now);
        to.in_packets += std::chrono::steady_clock::now() - begin;
        ++n;
    }
    return n;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t payload = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4064;
    const std::uint32_t messages =
        argc > 2 ? static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 1000;
    EndpointConfig c;
    c.world = 2;
    c.path_mtu = static_cast<std::uint16_t>(payload + 32);
    c.local = {0x0a000001, 0x100};
    Side a(c);
    c.rank = 1;
    c.local = {0x0a000002, 0x101};
    Side b(c);
    a.endpoint.set_peer(1, 0x0a000002, 0x101);
    b.endpoint.set_peer(0, 0x0a000001, 0x100);
    std::vector<std::byte> source(a.endpoint.max_message_bytes()), target(source.size());
    Nanos now = 0;
    csaud::Completion done;
    const auto begin = std::chrono::steady_clock::now();
    std::size_t warm = 0;
    for (std::uint32_t m = 0; m < messages; ++m) {
        if (m == messages / 2) warm = allocations;
        csaud::MessageName name;
        name.coll_seq = m;
        b.endpoint.post_recv(name, 0, target, {}, now);
        a.endpoint.post_send(name, 1, source, {}, now);
        while (pass(a, b, now) + pass(b, a, now) != 0) now += 1'000;
        while (a.endpoint.next_completion(done)) {
        }
        while (b.endpoint.next_completion(done)) {
        }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double receiving = std::chrono::duration<double>(b.in_packets).count();
    const auto data = static_cast<double>(b.endpoint.stats().rx_data);
    std::printf(
        "%zu bytes a packet: %.3f M packets/s both ends in one thread (%.0f MB/s), %.3f M/s on_packet alone, "
        "%.3f control packets per DATA, %zu allocations in the second half\n",
        payload, data / seconds * 1e-6, data * static_cast<double>(payload) / seconds * 1e-6,
        data / receiving * 1e-6, static_cast<double>(b.endpoint.stats().tx_control) / data,
        allocations - warm);
    return 0;
}
