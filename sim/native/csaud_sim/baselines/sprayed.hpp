// A transport whose connections spray their packets over paths of their choice: one connection for each flow,
// and for collectives one to each peer and communicator. They take turns, a packet each; answers go before
// data, of which a packet goes after so many. How a connection sends and answers comes from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/timer_heap.hpp"
#include "csaud_sim/baselines/message_arrivals.hpp"
#include "csaud_sim/baselines/packet_ledger.hpp"
#include "csaud_sim/baselines/transport.hpp"

namespace csaud::sim::baselines {

class SprayedSender {
  public:
    virtual ~SprayedSender() = default;
    // One more packet of this payload; they are numbered from 0.
    virtual void post(std::uint32_t payload) = 0;
    virtual bool may_send() = 0;
    // The next packet: its number, payload and path, and what else the receiver is told.
    virtual Reason send(plain::Packet& packet, Nanos now) = 0;
    virtual void heard(const plain::Packet& answer, Nanos now) = 0;
    virtual Nanos deadline() = 0;
    // Returns how many packets nothing was heard of.
    virtual std::size_t timer(Nanos now) = 0;
    // Packets before this one have arrived.
    virtual std::uint32_t acked() const = 0;
};

class SprayedReceiver {
  public:
    virtual ~SprayedReceiver() = default;
    // DATA, whole or cut. The answer is written where there is one (type, numbers, `more`).
    struct Outcome {
        bool taken = false;  // new
        bool answered = false;
    };
    virtual Outcome packet(const plain::Packet& data, plain::Packet& answer, Nanos now) = 0;
};

struct SprayedModel {
    std::uint32_t mtu = 0;            // payload of a packet
    std::uint32_t data_headers = 0;   // bytes of the frame beside the payload
    std::uint32_t control_bytes = 0;  // of an answer's frame
    bool ecn = false;                 // DATA listens to marks
    unsigned answers_per_data = 10;   // that go before a packet of DATA where both wait
    // seed: another one for each connection.
    std::function<std::unique_ptr<SprayedSender>(std::uint64_t seed)> sender;
    std::function<std::unique_ptr<SprayedReceiver>()> receiver;
};

class Sprayed : public Transport {
  public:
    Sprayed(SprayedModel model, const Seat& seat, Upper& upper)
        : model_(std::move(model)), seat_(seat), upper_(upper) {}

    void send(const Message& message, Nanos now) override;
    void packet(const plain::Packet& packet, Nanos now) override;
    bool next(plain::Packet& packet, bool data, Nanos now) override;
    void timer(Nanos now) override;
    Nanos deadline() const override { return timers_.next(); }
    bool quiet() const override { return unfinished_ == 0 && answers_.empty(); }

    // Type of DATA; answers have others.
    static constexpr std::uint8_t kData = 0;

  private:
    // In DATA: `more[0]`, bytes of its message; `more[1]`, first packet and number of packets.
    struct Sending {
        Message message;
        std::uint32_t first = 0, packets = 0;
    };
    struct Connection {
        std::uint16_t dst = 0;
        std::unique_ptr<SprayedSender> sender;
        std::uint32_t end = 0;        // packets posted
        RingQueue<Sending> messages;  // unacknowledged, in the order of their packets
        bool waiting = false;         // for its turn
    };
    struct Peer {
        std::unique_ptr<SprayedReceiver> receiver;
        MessageArrivals arrivals;
    };
    struct Key {
        std::uint64_t value = 0;
        friend bool operator==(Key, Key) = default;
        friend std::uint64_t hash_value(Key key) noexcept { return key.value * 0x9E3779B97F4A7C15ULL >> 20; }
    };

    std::uint32_t connection_for(const Message& message);
    Peer& peer_for(const plain::Packet& packet);
    plain::Packet answer_to(const plain::Packet& data) const;
    void wake(std::uint32_t index);
    bool data_first();
    bool send_data(plain::Packet& packet, Nanos now);
    void write(plain::Packet& packet, std::uint32_t index, Nanos now);
    void data(const plain::Packet& packet, Nanos now);
    void answer(const plain::Packet& packet, Nanos now);

    SprayedModel model_;
    Seat seat_;
    Upper& upper_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Peer>> peers_;
    FlatMap<Key, std::uint32_t> connection_of_, peer_of_;
    RingQueue<std::uint32_t> turns_;
    RingQueue<plain::Packet> answers_;
    TimerHeap timers_;
    std::size_t unfinished_ = 0;  // messages
    unsigned answered_ = 0;       // since DATA went before answers
};

}  // namespace csaud::sim::baselines
