// Every copy of DATA from its NIC to its end: what was sent again and why it had to be, how long a loss was
// felt. Kept apart from the endpoints, which know less: a simulator sees each loss when it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "csaud_host/contract/memory.hpp"
#include "csaud_sim/network/watch.hpp"

namespace csaud::sim {

class Oracle;

// Bytes of frames, from the Ethernet header on, without FCS.
struct CopyFigures {
    std::uint64_t data_bytes = 0;           // DATA that hosts sent
    std::uint64_t retransmitted_bytes = 0;  // of it, copies that were not the first
    std::uint64_t spurious_bytes = 0;       // of these, copies sent while an earlier one was not lost
    std::uint64_t duplicate_bytes = 0;      // DATA that hosts received more than once
    std::uint64_t control_bytes = 0;        // everything else that hosts sent
    std::uint64_t parity_lost = 0;          // PARITY, in packets: it ended before its host
    std::uint64_t reassembly_bytes = 0;     // most that any host held at a time for messages to come
};

class Copies final : public Watch {
  public:
    // Is told of losses, too.
    void ask(Oracle* oracle) { oracle_ = oracle; }

    // --- hosts, in the order of their ranks
    void add(std::uint32_t ipv4) { addresses_.push_back(ipv4); }
    void sent(FrameBytes frame);
    // `again`: its receiver had it.
    void arrived(FrameBytes frame, bool again, Nanos now);
    void holds(const MemoryUse& memory);

    // --- Watch
    void lost(FrameBytes frame, Nanos now) override;
    void told(FrameBytes frame, bool made_here, Nanos now) override;

    const CopyFigures& figures() const { return figures_; }
    // Of each packet whose first copy was lost: from then until a copy arrived, in the order of arrivals.
    const std::vector<Nanos>& recoveries() const { return recoveries_; }

  private:
    struct Key {
        MessageName name;
        std::uint32_t dst_ipv4 = 0;
        std::uint16_t pkt_idx = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept {
            const std::uint64_t rest = std::uint64_t{key.dst_ipv4} << 16 | key.pkt_idx;
            return static_cast<std::size_t>(hash_value(key.name) ^ rest * 0x9E3779B97F4A7C15ULL);
        }
    };
    struct Losses {
        std::uint64_t attempts = 0;  // bit n: copy n was lost; the last bit is of all from there on
        Nanos first = -1;            // when the first copy was
    };

    static std::uint64_t bit_of(unsigned attempt) {
        return std::uint64_t{1} << (attempt < 63 ? attempt : 63);
    }
    void note(const Key& key, unsigned attempt, Nanos now);

    static Key key_of(const wire::Decoded& copy) {
        return {copy.csa.name, copy.route.dst_ipv4, copy.csa.pkt_idx};
    }

    std::unordered_map<Key, Losses, Hash> losses_;  // of packets that have not arrived since
    std::vector<std::uint32_t> addresses_;          // by rank
    std::vector<Nanos> recoveries_;
    CopyFigures figures_;
    Oracle* oracle_ = nullptr;
};

}  // namespace csaud::sim
