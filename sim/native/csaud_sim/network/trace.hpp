// What happened on the links, for comparing runs: an entry for each frame that is sent, arrives or is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

enum class TraceKind : std::uint8_t { sent, arrived, lost };

struct TraceEntry {
    Nanos time = 0;           // sent: of the last bit
    std::uint32_t place = 0;  // number of the direction of a link
    std::uint32_t bytes = 0;
    TraceKind kind = TraceKind::sent;
};

class Trace {
  public:
    // Keeps the first `most` entries; the digest is of all.
    explicit Trace(std::size_t most) : most_(most) {}

    void add(const TraceEntry& entry) {
        mix(static_cast<std::uint64_t>(entry.time));
        mix(std::uint64_t{entry.place} << 32 | std::uint64_t{entry.bytes} << 2 |
            static_cast<std::uint64_t>(entry.kind));
        if (entries_.size() < most_) entries_.push_back(entry);
    }

    std::uint64_t digest() const { return digest_; }
    const std::vector<TraceEntry>& entries() const { return entries_; }

  private:
    void mix(std::uint64_t word) {
        digest_ = (digest_ ^ word) * 0x9E3779B97F4A7C15ULL;
        digest_ ^= digest_ >> 29;
    }

    std::size_t most_;
    std::uint64_t digest_ = 0;
    std::vector<TraceEntry> entries_;
};

}  // namespace csaud::sim
