// A network interface as a switch sees it: whole Ethernet frames in batches. What it is made of is not the
// fabric's concern: io/packet_socket.hpp has Linux's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "csaud_switch/base/packet.hpp"

namespace csaud::sw {

class Interface {
  public:
    static constexpr std::size_t kBatch = 64;

    enum class Fate : std::uint8_t { kSent, kDown, kRefused };  // kDown: the interface was not up
    struct Sent {
        Packet* packet;
        Fate fate;
    };

    Interface() = default;
    virtual ~Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;

    virtual const std::string& name() const = 0;
    virtual int index() const = 0;       // the operating system's number of it
    virtual int descriptor() const = 0;  // a file that can be read while frames wait
    // Administratively up and with carrier.
    virtual bool is_up() const = 0;
    // Look again for the interface of this name: another one may have taken its place, or its MTU may have
    // changed. False while there is none.
    virtual bool follow() = 0;

    // Frames that have arrived; fewer than kBatch when there are no more. The span holds until the next call,
    // the packets are the caller's.
    virtual std::span<Packet* const> receive() = 0;

    virtual void add(Packet* packet) = 0;
    virtual std::size_t waiting() const = 0;  // packets added and not sent
    // Sends what was added. What there is no room for now stays and is sent by a later call. The packets are
    // the caller's again.
    virtual std::span<const Sent> flush() = 0;

    // Frames lost for want of room since the interface was opened.
    virtual std::uint64_t ring_drops() const = 0;
    virtual std::uint64_t rx_errors() const = 0;
};

}  // namespace csaud::sw
