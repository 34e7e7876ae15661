// A transport of one host: messages, packets and the time go in; packets, deliveries and the next deadline
// come out. No I/O, no clock. A newcomer is a class of this kind, and a line in transports.cpp.
#pragma once

#include <cstdint>

#include "csaud_host/base/time.hpp"
#include "csaud_host/wire/message_name.hpp"
#include "csaud_sim/plain/packet.hpp"

namespace csaud::sim::baselines {

struct Message {
    std::uint64_t id = 0;  // of the post
    MessageName name;
    std::uint16_t dst = 0;
    std::uint64_t bytes = 0;  // may be 0
};

// Whom a transport tells.
class Upper {
  public:
    // All of a message has come, whether it was expected or not; once a message. started: its first packet
    // came.
    virtual void delivered(const MessageName& name, std::uint64_t bytes, Nanos started, Nanos now) = 0;
    // The sender of a message knows that.
    virtual void acknowledged(const Message& message, Nanos now) = 0;

  protected:
    ~Upper() = default;
};

// Where a transport is.
struct Seat {
    std::uint16_t rank = 0;
    std::uint16_t hosts = 0;
    std::uint64_t rate_bps = 0;  // of the host's link
    Nanos base_rtt = 0;  // of a full packet and its acknowledgement on the longest path of the idle fabric
    std::uint32_t seed = 0;

    // Bytes under way on that path at this rate.
    std::uint64_t bdp_bytes() const {
        return static_cast<std::uint64_t>(static_cast<double>(rate_bps) / 8e9 *
                                          static_cast<double>(base_rtt));
    }
};

// X(name, help)
#define CSAUD_BASELINE_BOOKS(X)                                               \
    X(tx_data, "DATA packets sent, retransmissions included")                 \
    X(rx_data, "DATA packets received")                                       \
    X(rx_duplicates, "those of them that had been received before")           \
    X(rx_discarded, "DATA received and thrown away, as it came out of order") \
    X(rx_ecn, "DATA received with a congestion mark")                         \
    X(tx_control, "other packets sent")                                       \
    X(rx_control, "other packets received")                                   \
    X(rtx_loss, "sent again because a switch told of the loss")               \
    X(rtx_gap, "sent again because the receiver told of a hole")              \
    X(rtx_timeout, "sent again because the sender's timer had run out")       \
    X(timeouts, "times that a sender's timer ran out")                        \
    X(context_misses, "contexts of queue pairs that a NIC had to fetch from its host")

struct Books {
#define CSAUD_FIELD(name, help) std::uint64_t name = 0;
    CSAUD_BASELINE_BOOKS(CSAUD_FIELD)
#undef CSAUD_FIELD

    template <class F>
    void for_each(F&& f) const {
#define CSAUD_VISIT(name, help) f(#name, name);
        CSAUD_BASELINE_BOOKS(CSAUD_VISIT)
#undef CSAUD_VISIT
    }
};

class Transport {
  public:
    virtual ~Transport() = default;

    virtual void send(const Message& message, Nanos now) = 0;
    // A packet for this host, maybe cut or marked.
    virtual void packet(const plain::Packet& packet, Nanos now) = 0;
    // The next packet, written into a fresh one; false: nothing may go now. data: DATA may go, too; otherwise
    // only what is not paused by PFC.
    virtual bool next(plain::Packet& packet, bool data, Nanos now) = 0;
    virtual void timer(Nanos now) = 0;
    // When timer() has something to do next; may be early.
    virtual Nanos deadline() const = 0;
    // Nothing is unfinished.
    virtual bool quiet() const = 0;

    const Books& books() const { return books_; }

  protected:
    Books books_;
};

}  // namespace csaud::sim::baselines
