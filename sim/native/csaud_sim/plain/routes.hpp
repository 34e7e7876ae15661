// Which ports of a switch begin a shortest path to a host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace csaud::sim::plain {

// Where each host is; of the whole network.
struct Attachments {
    struct Place {
        std::uint32_t at = 0;  // switch
        std::uint16_t port = 0;
    };
    std::vector<Place> hosts;
};

// Of one switch.
class Routes {
  public:
    // Ports towards hosts of another switch, in place of those before; none: it cannot be reached.
    void set(std::uint32_t destination, std::span<const std::uint16_t> ports) {
        if (destination >= spans_.size()) spans_.resize(destination + 1);
        spans_[destination] = {static_cast<std::uint32_t>(ports_.size()),
                               static_cast<std::uint32_t>(ports.size())};
        ports_.insert(ports_.end(), ports.begin(), ports.end());
    }
    std::span<const std::uint16_t> to(std::uint32_t destination) const {
        if (destination >= spans_.size()) return {};
        const Span& found = spans_[destination];
        return std::span(ports_).subspan(found.first, found.count);
    }

  private:
    struct Span {
        std::uint32_t first = 0, count = 0;
    };
    std::vector<Span> spans_;
    std::vector<std::uint16_t> ports_;
};

}  // namespace csaud::sim::plain
