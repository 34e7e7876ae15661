#include "datagrams.hpp"

namespace csaud::device {

void Datagrams::clear() {
    packets_.clear();
    followers_.clear();
    next_follower_ = 0;
}

void Datagrams::add(std::span<std::byte> packet, const IpHeaders& headers, bool first) {
    if (first)
        write_ip_headers(packet.data(), headers);
    else
        followers_.push_back({packets_.size(), packet.data(), headers});
    packets_.push_back(packet);
}

void Datagrams::before(std::size_t index) {
    if (next_follower_ == followers_.size() || followers_[next_follower_].index != index) return;
    const Follower& follower = followers_[next_follower_++];
    write_ip_headers(follower.at, follower.headers);
}

}  // namespace csaud::device
