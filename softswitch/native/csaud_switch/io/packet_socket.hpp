// A network interface as seen by a switch: whole Ethernet frames in batches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "csaud_switch/fabric/packet.hpp"

namespace csaud::sw {

class PacketSocket {
  public:
    static constexpr std::size_t kBatch = 64;

    struct Sent {
        Packet* packet;
        int error;  // 0 or an errno
    };

    // Opens the interface in the calling thread's network namespace; std::system_error when it cannot.
    PacketSocket(const std::string& ifname, PacketPool& pool);
    ~PacketSocket();
    PacketSocket(const PacketSocket&) = delete;
    PacketSocket& operator=(const PacketSocket&) = delete;

    int descriptor() const { return fd_; }
    const std::string& interface() const { return ifname_; }
    int index() const { return index_; }  // of the interface that the socket is bound to
    // Administratively up and with carrier.
    bool interface_is_up() const;
    // Look again for the interface of this name: another one may have taken its place, or its MTU may have
    // changed. False while there is none.
    bool follow();

    // Up to kBatch frames that have arrived; empty when there are none. The span holds until the next call.
    std::span<Packet* const> receive();

    void add(Packet* packet) { sending_.push_back(packet); }
    bool full() const { return sending_.size() >= kBatch; }
    bool waiting() const { return !sending_.empty(); }
    // Sends what was added. What the kernel has no room for now stays and is sent by a later call.
    std::span<const Sent> flush();

    // Frames that the kernel had no room for since the socket was opened.
    std::uint64_t ring_drops() const;
    std::uint64_t rx_errors() const { return rx_errors_; }

  private:
    struct Batch;

    void prepare();
    // Make room for the longest frame of the interface's present MTU.
    void read_mtu();

    std::string ifname_;
    PacketPool& pool_;
    int fd_ = -1;
    int index_ = 0;
    std::unique_ptr<Batch> batch_;
    std::vector<Packet*> sending_;
    std::vector<Packet*> received_;
    std::vector<Sent> sent_;
    std::size_t used_ = kBatch;  // places of the batch that must be prepared again
    std::uint32_t frame_bytes_ = 0;
    std::uint64_t rx_errors_ = 0;
    mutable std::uint64_t ring_drops_ = 0;
};

}  // namespace csaud::sw
