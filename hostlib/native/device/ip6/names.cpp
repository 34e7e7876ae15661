#include "names.hpp"

#include <stdexcept>

namespace csaud::device::ip6 {

void Names::add(Name name, const in6_addr& address) {
    const std::size_t place = name & ~kRange;
    if ((name & kRange) != kRange || place > 0xFFFF)
        throw std::invalid_argument("an IPv6 address's name is from 240.0.0.0 to 240.0.255.255");
    if (const in6_addr* other = address_of(name); other != nullptr && key(*other) != key(address))
        throw std::invalid_argument("two IPv6 addresses have one name");
    if (addresses_.size() <= place) {
        addresses_.resize(place + 1);
        known_.resize(place + 1);
    }
    addresses_[place] = address;
    known_[place] = true;
    names_[key(address)] = name;
}

}  // namespace csaud::device::ip6
