// The links of a fabric under an engine's time: what its switches send is carried here instead of by the
// fabric itself, to other switches and to stations at memory ports.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "csaud_sim/network/channel.hpp"
#include "csaud_switch/fabric/fabric.hpp"

namespace csaud::sim {

class Network final : public sw::Wire {
  public:
    // The fabric outlives this object, and has no ports at interfaces. std::invalid_argument, or
    // sw::FailedPrecondition where another network has it.
    Network(sw::Fabric& fabric, Engine& engine, const LinkModel& model);
    ~Network() override;
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // A station at a memory port, at the end of a link of this propagation delay. What the station sends goes
    // into the channel. std::invalid_argument where the port is none, or taken.
    Channel& attach(Station& station, sw::Switch& at, sw::PortId port, Nanos delay);

    // What leaves a switch's port is impaired, besides what it is already. std::invalid_argument where the
    // port is none, or the impairment cannot be.
    void impair(sw::Switch& at, sw::PortId port, const Impairment& how);

    sw::Packet* packet(std::uint32_t bytes) { return around_.pool.take(bytes); }
    void give(sw::Packet* packet) { around_.pool.give(packet); }
    // No packet is on a link or in a queue.
    bool empty() const { return around_.pool.outstanding() == 0; }
    std::uint64_t hops() const { return around_.hops; }
    const LinkModel& model() const { return around_.model; }
    void trace(Trace* into) { around_.trace = into; }
    // From now on, figures of links are kept, too.
    void watch(Watch* by) { around_.watch = by; }
    std::uint64_t data_lost() const { return around_.data_lost; }
    // In a fixed order; those from stations to switches are among them.
    const std::vector<std::unique_ptr<Channel>>& channels() const { return channels_; }

    // --- Wire
    void transmit(sw::Switch& from, sw::Port& port, sw::Packet* packet, Nanos end) override;
    void wake(sw::Switch& from, sw::Port& port, Nanos at) override { channel(from, port).wake(at); }
    void packet_in(sw::Switch& from) override { fabric_.packet_in(from); }
    void dropped(const sw::Packet& packet, Nanos now) override {
        if (around_.watch != nullptr) around_.watch->lost(packet.received(), now);
    }
    sw::PacketPool& pool() override { return around_.pool; }

  private:
    Channel& channel(sw::Switch& from, sw::Port& port) {
        return port.channel != 0 ? *channels_[port.channel - 1] : add(from, port);
    }
    Channel& add(sw::Switch& from, sw::Port& port);

    sw::Fabric& fabric_;
    Surroundings around_;
    std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace csaud::sim
