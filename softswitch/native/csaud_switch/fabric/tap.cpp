#include "csaud_switch/fabric/tap.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace csaud::sw {

namespace {

constexpr std::size_t kOverhead = sizeof(TapFrame) + 16;  // of a frame beside its bytes

}  // namespace

Tap::Tap(std::size_t capacity, std::uint32_t snaplen) : capacity_(capacity), snaplen_(snaplen) {
    fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Tap::~Tap() {
    ::close(fd_);
}

void Tap::frame(std::span<const std::uint8_t> bytes, bool in, Nanos time) {
    ++seen_;
    const auto length = static_cast<std::uint32_t>(bytes.size());
    if (snaplen_ != 0) bytes = bytes.first(std::min<std::size_t>(bytes.size(), snaplen_));
    if (kept_ + bytes.size() + kOverhead > capacity_) {
        ++dropped_;
        return;
    }
    kept_ += bytes.size() + kOverhead;
    frames_.push_back({time, in, length, {bytes.begin(), bytes.end()}});
    if (frames_.size() > 1) return;
    const std::uint64_t one = 1;
    if (::write(fd_, &one, sizeof one) < 0) return;  // a full counter is readable too
}

std::vector<TapFrame> Tap::take() {
    std::uint64_t value = 0;
    std::vector<TapFrame> taken;
    if (::read(fd_, &value, sizeof value) < 0) return taken;
    taken.swap(frames_);
    kept_ = 0;
    return taken;
}

}  // namespace csaud::sw
