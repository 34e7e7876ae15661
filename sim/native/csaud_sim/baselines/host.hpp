// A host of a plain network: a transport, a NIC and an executor of collectives. Its clock is right.
#pragma once

#include <cstdint>
#include <memory>

#include "csaud_sim/baselines/inbox.hpp"
#include "csaud_sim/baselines/transport.hpp"
#include "csaud_sim/baselines/transports.hpp"
#include "csaud_sim/hosts/agenda.hpp"
#include "csaud_sim/hosts/alarm.hpp"
#include "csaud_sim/hosts/messages.hpp"
#include "csaud_sim/plain/network.hpp"

namespace csaud::sim::baselines {

class Host final : public Actor, public plain::Node, public Party, public Upper, public collectives::Port {
  public:
    struct Place {
        Engine& engine;
        plain::Network& network;
        OpenWork& open_work;
        FlowSink& flows;
        Messages& messages;
    };

    Host(const Place& place, const TransportKind& kind, const Parameters& parameters, const Seat& seat,
         std::uint32_t at, const plain::Wire& wire);
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    const Transport& transport() const { return *transport_; }
    const collectives::Executor& executor() const { return agenda_.executor(); }
    // Of the switch that it is attached to.
    std::uint16_t switch_port() const { return attached_.port; }
    bool quiet() const { return transport_->quiet(); }

    // As the agenda's.
    void start(collectives::Execution& execution, Nanos at) { agenda_.start(execution, at); }
    void follow(collectives::Execution& execution, Nanos delay);

    // --- Party
    bool alive() const override { return true; }
    std::uint16_t epoch() const override { return 0; }
    std::uint64_t longest_message() const override { return kLongestMessage; }
    Nanos local(Nanos now) const override { return now; }
    collectives::Port& port() override { return *this; }
    void turn(Nanos now) override;

    // --- collectives::Port
    std::uint64_t post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> bytes,
                            const Hints& hints, Nanos now) override;
    std::uint64_t post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> bytes,
                            const Hints& hints, Nanos now) override;

    // --- plain::Node
    void arrive(plain::Packet* packet, std::uint16_t port, Nanos now) override;
    void paused(std::uint16_t port, bool paused, Nanos now) override;

    // --- Upper
    void delivered(const MessageName& name, std::uint64_t bytes, Nanos started, Nanos now) override;
    void acknowledged(const Message& message, Nanos now) override;

    void act(std::uint32_t what, Nanos now) override;

    static constexpr std::uint64_t kLongestMessage = std::uint64_t{512} * 8192;

  private:
    enum What : std::uint32_t { kTimer, kNicFree };

    bool collect(Nanos now);
    void send(Nanos now);

    Place place_;
    std::uint16_t rank_;
    std::unique_ptr<Transport> transport_;
    Agenda agenda_;
    plain::Network::Attached attached_;
    Alarm timer_;
    Nanos nic_free_at_ = 0;
    bool paused_ = false;
    std::uint64_t next_id_ = 1;
    RingQueue<Completion> completions_;
    Inbox inbox_{completions_};
};

}  // namespace csaud::sim::baselines
