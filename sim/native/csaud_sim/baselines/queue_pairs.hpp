// A transport of connected queue pairs: one for each flow, or so many to each peer among which flows are
// drawn; for collectives one to each peer and communicator. They take turns, a packet each. The NIC keeps
// contexts of some, and fetches those of others before a packet goes, or is looked at. What is particular
// (loss recovery, and what headers take) comes from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/base/ring_queue.hpp"
#include "csaud_host/base/timer_heap.hpp"
#include "csaud_sim/baselines/context_cache.hpp"
#include "csaud_sim/baselines/parameters.hpp"
#include "csaud_sim/baselines/rate_control.hpp"
#include "csaud_sim/baselines/send_order.hpp"
#include "csaud_sim/baselines/transport.hpp"

namespace csaud::sim::baselines {

struct QueuePairModel {
    std::uint32_t mtu = 4096;        // payload of a packet
    std::uint32_t data_headers = 0;  // bytes of the frame beside the payload, without FCS
    std::uint32_t answer_bytes = 0;  // of an ACK's frame
    bool ecn = false;                // DATA listens to marks
    std::uint32_t to_a_peer = 0;     // queue pairs for flows; 0: each has its own
    ContextCacheModel contexts{};
    std::function<std::unique_ptr<SendOrder>()> send_order;
    std::function<std::unique_ptr<ReceiveOrder>()> receive_order;
    std::function<std::unique_ptr<RateControl>()> rate_control{};  // none: as fast as the NIC can
};

// What is said of any transport of queue pairs beside its own parameters, and as the model has it.
std::vector<Parameter> with_queue_pairs(std::vector<Parameter> own);
void set_queue_pairs(QueuePairModel& model, const Parameters& parameters);

class QueuePairs final : public Transport {
  public:
    QueuePairs(QueuePairModel model, Upper& upper)
        : model_(std::move(model)),
          upper_(upper),
          contexts_(model_.contexts.contexts),
          sending_(model_.contexts),
          receiving_(model_.contexts) {}

    void send(const Message& message, Nanos now) override;
    void packet(const plain::Packet& packet, Nanos now) override;
    bool next(plain::Packet& packet, bool data, Nanos now) override;
    void timer(Nanos now) override;
    Nanos deadline() const override;
    bool quiet() const override { return unfinished_ == 0 && answers_.empty() && came_.empty(); }

  private:
    enum Type : std::uint8_t { kData, kAck, kNack };

    struct Sending {
        Message message;
        std::uint32_t first = 0, packets = 0;
    };
    struct Sender {
        std::uint16_t dst = 0;
        std::uint32_t entropy = 0;
        std::uint32_t end = 0;  // PSN behind all that was posted
        std::unique_ptr<SendOrder> order;
        std::unique_ptr<RateControl> rate;  // maybe none
        RingQueue<Sending> messages;        // unacknowledged, in the order of their PSNs
        bool waiting = false;               // for its turn
    };
    struct Ended {
        std::uint32_t psn = 0;
        MessageName name;
        std::uint64_t bytes = 0;
    };
    struct Receiver {
        std::uint32_t index = 0;
        std::unique_ptr<ReceiveOrder> order;
        std::vector<Ended> ends;  // last packets that came, of messages that are not delivered
        Nanos started = -1;       // the first packet since the latest delivery
    };
    struct Key {
        std::uint64_t value = 0;
        friend bool operator==(Key, Key) = default;
        friend std::uint64_t hash_value(Key key) noexcept { return key.value * 0x9E3779B97F4A7C15ULL >> 20; }
    };

    Sender& sender_for(const Message& message, std::uint32_t& index);
    Receiver& receiver_for(const plain::Packet& packet);
    void take(const plain::Packet& packet, Nanos now);
    bool fetched(std::uint32_t context);
    void fetch(Nanos now);
    void data(const plain::Packet& packet, Nanos now);
    void answer(const plain::Packet& packet, Nanos now);
    void deliver(Receiver& receiver, Nanos now);
    void wake(std::uint32_t index, Nanos now);
    void write(plain::Packet& packet, Sender& sender, std::uint32_t index, Nanos now);

    QueuePairModel model_;
    Upper& upper_;
    FlatMap<Key, std::uint32_t> sender_of_, receiver_of_;
    std::vector<std::unique_ptr<Sender>> senders_;
    std::vector<std::unique_ptr<Receiver>> receivers_;
    RingQueue<std::uint32_t> turns_;  // senders that may have something
    // Contexts are numbered by senders and receivers in turn.
    ContextCache contexts_;
    ContextFetches sending_, receiving_;
    Waiting<std::uint32_t> ready_;  // senders whose turns are next, until their contexts are there
    Waiting<plain::Packet> came_;   // until theirs are
    Nanos looked_ = -1;             // when timer() last was called
    RingQueue<plain::Packet> answers_;
    TimerHeap timers_;
    std::size_t unfinished_ = 0;  // messages
};

}  // namespace csaud::sim::baselines
