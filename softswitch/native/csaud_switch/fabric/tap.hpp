// What passes a port, kept until somebody takes it. A port without a tap pays one comparison a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "csaud_switch/base/value.hpp"

namespace csaud::sw {

struct TapFrame {
    Nanos time = 0;            // in: when it arrived; out: when its last bit left
    bool in = false;           // the switch received it
    std::uint32_t length = 0;  // of the frame; `bytes` may be only its begin
    std::vector<std::uint8_t> bytes;
};

class Tap {
  public:
    // Keeps `capacity` bytes of frames at most, and of each frame the first `snaplen` bytes (0: all).
    Tap(std::size_t capacity, std::uint32_t snaplen);
    ~Tap();
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

    void frame(std::span<const std::uint8_t> bytes, bool in, Nanos time);
    // What was kept since the last call, in the order in which it passed.
    std::vector<TapFrame> take();

    int descriptor() const { return fd_; }  // an eventfd, readable while frames wait
    std::uint64_t seen() const { return seen_; }
    std::uint64_t dropped() const { return dropped_; }  // there was no room for them

  private:
    std::size_t capacity_;
    std::uint32_t snaplen_;
    std::size_t kept_ = 0;
    std::vector<TapFrame> frames_;
    std::uint64_t seen_ = 0, dropped_ = 0;
    int fd_ = -1;
};

}  // namespace csaud::sw
