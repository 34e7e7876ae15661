// A packet taken apart, changed field by field, and put together again with lengths and iCRC that are right.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/wire/authentication.hpp"
#include "csaud_host/wire/wire.hpp"
#include "expect.hpp"

namespace csaud::fuzz {

inline constexpr unsigned kTypes = static_cast<unsigned>(wire::Type::parity) + 1;

inline std::vector<std::byte> assembled(const wire::Route& route, const wire::CsaHeader& csa,
                                        std::span<const std::byte> body) {
    std::array<std::byte, wire::kHeaderBytes> head;
    const std::size_t pad = wire::encode_headers(head, route, csa, body.size());
    std::vector<std::byte> packet(head.begin(), head.end());
    packet.insert(packet.end(), body.begin(), body.end());
    packet.resize(packet.size() + pad);
    if (route.icrc) {
        const auto crc = wire::icrc(head, body, pad);
        packet.insert(packet.end(), crc.begin(), crc.end());
    }
    return packet;
}

// Who forges: a rank of the job, with its key, or a stranger, who can but repeat a tag that it has seen.
struct Forger {
    Authentication auth;
    bool stranger = false;
};

class Forgery {
  public:
    // Of a packet that some endpoint sent.
    Forgery(std::span<const std::byte> packet, const Forger& by) : by_(by) {
        CSAUD_EXPECT(wire::decode_any(packet, d_, by.auth.bytes()) == wire::Fault::none);
        body_.assign(d_.payload.begin(), d_.payload.end());
        bitmap_.assign(d_.bitmap.begin(), d_.bitmap.end());
        if (d_.tag != nullptr) tag_.assign(d_.tag, d_.tag + by.auth.bytes());
    }

    // What rank 0 sent to `other`, as `other` might have sent it to rank 0.
    void turn_round(std::uint16_t other) noexcept {
        d_.control.from_rank = other;
        d_.csa.name.src_rank = d_.csa.name.src_rank == 0 ? other : 0;
    }

    // What `peer` might say of a message between it and rank 0, all of which has come.
    void claim(wire::Type type, const MessageName& name, std::uint16_t peer, std::uint16_t total) {
        d_.csa.type = type;
        d_.csa.name = name;
        d_.csa.pkt_idx = 0;
        d_.csa.pkt_total = total;
        loss_form(true);
        if (!wire::has_control_part(type)) return;
        d_.control.from_rank = peer;
        d_.control.cumulative = total;
        d_.control.bitmap_bits = 0;
        bitmap_.clear();
        if (type == wire::Type::abort) d_.control.reason = wire::Reason::user_abort;
    }

    wire::Route& route() noexcept { return d_.route; }
    wire::CsaHeader& csa() noexcept { return d_.csa; }

    // One field of those that the packet has, chosen by the low six bits of `field`; the high two say how.
    void change(std::uint8_t field, std::uint32_t value) {
        const Change c{static_cast<std::uint8_t>(field >> 6), value};
        const unsigned which = field & 63U;
        if (which < kOfEach) return header(which, c);
        if (wire::has_control_part(d_.csa.type)) return control((which - kOfEach) % kOfControl, c);
        if (which % 2 == 0) return resize_body(value % (2 * wire::kHeaderBytes));
        loss_form(value % 2 != 0);
    }

    // With an iCRC to the RoCE port, or without to that of cut packets.
    void loss_form(bool second) noexcept {
        d_.route.icrc = second;
        d_.route.dst_port = second ? wire::Expect{}.roce_port : wire::Expect{}.loss_port;
    }

    std::vector<std::byte> packet() const {
        std::vector<std::byte> body = body_;
        if (wire::has_control_part(d_.csa.type)) {
            body.resize(wire::kControlBytes);
            wire::encode_control(body, d_.control);
            body.insert(body.end(), bitmap_.begin(), bitmap_.end());
        }
        if (d_.csa.type != wire::Type::loss) {  // a switch has cut it off
            const std::vector<std::byte> tag = by_.auth.on() && !by_.stranger ? tag_for(body) : tag_;
            body.insert(body.end(), tag.begin(), tag.end());
        }
        return assembled(d_.route, d_.csa, body);
    }

  private:
    // A tag covers no payload, as documented: of a stranger it would be taken.
    void resize_body(std::size_t bytes) {
        if (!by_.stranger) body_.resize(bytes);
    }

    std::vector<std::byte> tag_for(std::span<const std::byte> body) const {
        std::array<std::byte, wire::kHeaderBytes> head;
        wire::encode_headers(head, d_.route, d_.csa, body.size() + wire::kTagBytes);
        std::vector<std::byte> covered(head.end() - wire::kCsaBytes, head.end());
        const bool control = wire::has_control_part(d_.csa.type);
        if (control) covered.insert(covered.end(), body.begin(), body.end());
        const wire::Route& r = d_.route;
        const auto tag = tag_of(by_.auth, {r.src_ipv4, r.dst_ipv4, r.src_qpn, r.dst_qpn}, covered,
                                control ? 0 : body.size());
        return {tag.begin(), tag.end()};
    }

    struct Change {
        std::uint8_t how = 0;
        std::uint32_t value = 0;

        template <std::unsigned_integral T>
        void apply(T& field) const noexcept {
            constexpr std::array<std::uint32_t, 16> kEdges{
                0, 1, 2, 3, 4, 15, 16, 255, 256, 511, 512, 513, 0x7FFF, 0x8000, 0xFFFF, 0xFFFFFFFF};
            switch (how) {
                case 0:
                    field = static_cast<T>(value);
                    return;
                case 1:
                    field = static_cast<T>(field + value - 8);
                    return;
                case 2:
                    field = static_cast<T>(field ^ (T{1} << (value % (8 * sizeof(T)))));
                    return;
                default:
                    field = static_cast<T>(kEdges[value % kEdges.size()]);
            }
        }
    };

    static constexpr unsigned kOfEach = 20;
    static constexpr unsigned kOfControl = 13;

    void header(unsigned which, const Change& c) {
        wire::CsaHeader& h = d_.csa;
        switch (which) {
            case 0:
                return;
            case 1: {
                auto type = static_cast<std::uint8_t>(h.type);
                c.apply(type);
                h.type = static_cast<wire::Type>(type % (kTypes + 1));
                return;
            }
            case 2:
                return c.apply(h.flags);
            case 3:
                h.ordered = !h.ordered;
                return;
            case 4:
                return c.apply(h.attempt);
            case 5:
                return c.apply(h.name.epoch);
            case 6:
                return c.apply(h.name.comm);
            case 7:
                return c.apply(h.name.coll_seq);
            case 8:
                return c.apply(h.name.step);
            case 9:
                return c.apply(h.name.src_rank);
            case 10:
                return c.apply(h.name.chunk);
            case 11:
                return c.apply(h.pkt_idx);
            case 12:
                return c.apply(h.pkt_total);
            case 13:
                return c.apply(h.path_id);
            case 14:
                return c.apply(h.path_seq);
            case 15:
                return c.apply(h.tx_ts);
            case 16:
                return c.apply(h.cls);
            case 17:
                return c.apply(d_.route.tos);
            case 18:
                return c.apply(d_.route.src_ipv4);
            default:
                return c.apply(d_.route.src_qpn);
        }
    }

    void control(unsigned which, const Change& c) {
        wire::ControlPart& p = d_.control;
        switch (which) {
            case 0: {
                auto reason = static_cast<std::uint8_t>(p.reason);
                c.apply(reason);
                p.reason = static_cast<wire::Reason>(reason % 14);
                return;
            }
            case 1:
                return c.apply(p.flags);
            case 2:
                return c.apply(p.ecn_count);
            case 3:
                return c.apply(p.newest_tx_ts);
            case 4:
                return c.apply(p.echoed_path);
            case 5:
                return c.apply((p.flags & wire::kWindow) != 0 ? p.window.size : p.gap.first);
            case 6:
                return c.apply((p.flags & wire::kWindow) != 0 ? p.window.arrived : p.gap.count);
            case 7:
                return c.apply(p.from_rank);
            case 8:
                return c.apply(p.credit);
            case 9:
                return c.apply(p.cumulative);
            case 10:  // of the message, and the bitmap's length with it
                c.apply(d_.csa.pkt_total);
                p.bitmap_bits = d_.csa.pkt_total;
                return bitmap_.resize(Bitmap::wire_bytes(p.bitmap_bits % (kMaxPackets + 1)));
            case 11:
                c.apply(p.bitmap_bits);  // or of a note
                return bitmap_.resize(Bitmap::wire_bytes(p.bitmap_bits % (8 * wire::kMaxNoteBytes + 1)));
            default:
                if (!bitmap_.empty())
                    bitmap_[c.value % bitmap_.size()] ^= static_cast<std::byte>(c.value >> 8);
        }
    }

    const Forger& by_;
    wire::Decoded d_;
    std::vector<std::byte> tag_;
    std::vector<std::byte> body_;    // DATA
    std::vector<std::byte> bitmap_;  // what has a control part
};

}  // namespace csaud::fuzz
