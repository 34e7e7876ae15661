// The door of an endpoint: which packets are taken at all. Each one that is not is in one counter of the
// books.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "csaud_host/peers/context.hpp"
#include "csaud_host/wire/data_headers.hpp"
#include "csaud_host/wire/header_prediction.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {

class Gate {
  public:
    explicit Gate(Context&);

    // Takes a packet apart, until the next one; nullptr: it is none of ours, and counted.
    const wire::Decoded* admit(std::span<const std::byte> packet) noexcept {
        if (packet.size() < wire::kHeaderBytes) [[unlikely]]
            return refuse(wire::Fault::length);
        const std::uint32_t message = message_of(packet);
        Flow& flow = place_of(message);
        if (!flow.headers.matches(packet)) return unpredicted(packet, message);
        if (expect_.verify_icrc && !wire::intact(packet.first(flow.headers.length()))) [[unlikely]]
            return refuse(wire::Fault::icrc);
        flow.headers.update(packet, flow.packet);
        if (flow.packet.tag != nullptr) [[unlikely]]
            flow.headers.update_tag(packet, flow.packet);
        return take(packet, flow.packet);
    }
    // `packets` come together from now on. True: among those before it many were not predicted, since they
    // were of more messages than have a place here.
    bool scattered(std::size_t packets) noexcept {
        const bool many = unpredicted_ > batch_ / 4;
        batch_ = packets;
        unpredicted_ = 0;
        return many;
    }
    // Somebody has another address from now on.
    void forget() noexcept {
        for (Flow& f : flows_) f.headers.forget();
    }

  private:
    // DATA of one message as it came last.
    struct alignas(64) Flow {
        wire::HeaderPrediction headers;
        std::uint32_t newcomer = 0;  // message whose packet came last without being predicted
        wire::Decoded packet;
    };

    // Some bits of coll_seq, source and chunk of a packet that has room for headers.
    static std::uint32_t message_of(std::span<const std::byte> packet) noexcept {
        std::uint32_t seq, source;
        std::memcpy(&seq, packet.data() + wire::kCsaOffset + 12, sizeof seq);
        std::memcpy(&source, packet.data() + wire::kCsaOffset + 16, sizeof source);
        return (seq ^ source) * 0x9e3779b1U;
    }
    // Messages share places.
    Flow& place_of(std::uint32_t message) noexcept { return flows_[message >> 28]; }
    // One that was not predicted.
    const wire::Decoded* unpredicted(std::span<const std::byte> packet, std::uint32_t message) noexcept;
    // One that is not plainly DATA for us.
    const wire::Decoded* examine(std::span<const std::byte> packet) noexcept;
    const wire::Decoded* refuse(wire::Fault) noexcept;
    // One with right headers.
    const wire::Decoded* take(std::span<const std::byte> packet, wire::Decoded& d) noexcept {
        if (d.tag != nullptr && !authentic(d)) return nullptr;
        if (d.route.src_ipv4 == ctx_.config.local.ipv4) count_inside(d.csa.type);
        // Which of the paths it took. The rest is for its sender alone (Transmitter::path_id).
        d.csa.path_id %= ctx_.config.paths;
        ctx_.stats.rx_bytes += packet.size();
        return &d;
    }
    bool from_its_rank(const wire::Decoded&) const noexcept;
    // Ranks that cannot be are counted where they are used.
    bool from(const wire::Route& route, std::uint16_t rank) const noexcept {
        const PeerTable::Address source{route.src_ipv4, route.src_qpn};
        return !ctx_.peers.known(rank) || ctx_.peers.address(rank) == source;
    }
    // What no switch has seen.
    void count_inside(wire::Type type) noexcept {
        ++(wire::has_control_part(type) ? ctx_.stats.rx_inside_control : ctx_.stats.rx_inside_data);
    }
    // If not, it is counted.
    bool authentic(const wire::Decoded&) noexcept;

    Context& ctx_;
    wire::Expect expect_;
    wire::DataHeaders data_;
    std::array<Flow, 16> flows_;
    std::size_t batch_ = 0;        // packets that came together
    std::size_t unpredicted_ = 0;  // DATA of them
    // Kept, so that nothing of them is cleared in vain.
    wire::Decoded unknown_;  // DATA that was not predicted
    wire::Decoded other_;    // what is not plainly DATA for us
};

}  // namespace csaud
