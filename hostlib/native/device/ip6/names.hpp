// By which numbers the core knows the IPv6 addresses of a job.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace csaud::device::ip6 {

// The core tells ranks apart by 32-bit addresses and queue pairs. An IPv6 address goes there by a name: an
// IPv4 address of a range that nobody has (240.0.0.0/4), the same at all ranks, which never leaves the host.
using Name = std::uint32_t;
inline constexpr Name kNobody = 0;

class Names {
  public:
    // Throws std::invalid_argument where two addresses have one name.
    void add(Name name, const in6_addr& address);

    // kNobody: it is no rank's.
    Name name_of(const in6_addr& address) const noexcept {
        const auto found = names_.find(key(address));
        return found == names_.end() ? kNobody : found->second;
    }
    // nullptr: it is nobody's name.
    const in6_addr* address_of(Name name) const noexcept {
        const std::size_t place = name & ~kRange;
        return (name & kRange) == kRange && place < addresses_.size() && known_[place] ? &addresses_[place]
                                                                                       : nullptr;
    }

  private:
    static constexpr Name kRange = 0xF000'0000;
    using Key = std::array<std::uint64_t, 2>;
    struct Hash {
        std::size_t operator()(const Key& k) const noexcept {
            return static_cast<std::size_t>((k[0] * 0x9e3779b97f4a7c15ULL) ^ (k[1] * 0xc2b2ae3d27d4eb4fULL));
        }
    };
    static Key key(const in6_addr& address) noexcept {
        Key k;
        std::memcpy(k.data(), &address, sizeof k);
        return k;
    }

    std::unordered_map<Key, Name, Hash> names_;
    std::vector<in6_addr> addresses_;  // by name
    std::vector<bool> known_;
};

}  // namespace csaud::device::ip6
