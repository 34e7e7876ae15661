// An interface of Linux, by a packet socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/fabric/interface.hpp"

namespace csaud::sw {

class PacketSocket final : public Interface {
  public:
    // Opens the interface in the calling thread's network namespace; std::system_error when it cannot.
    PacketSocket(const std::string& ifname, PacketPool& pool);
    ~PacketSocket() override;

    const std::string& name() const override { return ifname_; }
    int index() const override { return index_; }  // of the one that the socket is bound to
    int descriptor() const override { return fd_; }
    bool is_up() const override;
    bool follow() override;
    std::span<Packet* const> receive() override;
    void add(Packet* packet) override { sending_.push_back(packet); }
    std::size_t waiting() const override { return sending_.size(); }
    std::span<const Sent> flush() override;
    std::uint64_t ring_drops() const override;
    std::uint64_t rx_errors() const override { return rx_errors_; }

  private:
    struct Batch;

    void prepare();
    Fate fate_of(int error) const;
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
