// Messages between two ranks for measurements, posted and awaited without Python, whose own time would be
// most of that of a small message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "progress.hpp"

namespace csaud::perf {

enum class Role : std::uint8_t {
    send,     // messages one after the other, `depth` of them under way
    receive,  // the other end of it
    ping,     // a message when the answer to the one before is here
    pong,     // the answers
};

struct StreamPlan {
    Role role = Role::send;
    std::uint16_t rank = 0;   // this one
    std::uint16_t peer = 0;   // the other one
    std::uint16_t epoch = 0;  // of the job
    std::uint16_t comm = 0;   // a communicator that nobody else uses
    std::uint32_t first = 0;  // coll_seq of the first message
    std::size_t bytes = 0;    // of a message; longer ones than the transport's go in parts
    std::uint32_t messages = 0;
    unsigned depth = 1;  // messages posted at once; the buffer of a receiver holds so many
};

class Stream {
  public:
    // The buffer: `bytes` to send from; `depth` times `bytes` to receive into. Ping and pong have both in
    // one: first the place to send from, then `depth` to receive into.
    Stream(device::Progress&, const StreamPlan&, std::span<std::byte> buffer);

    // Goes on for about `slice`; true: all has ended, or something failed.
    bool run(Nanos slice);

    // Nanoseconds of each message, in the order of their ends: from its post to its acknowledgement (send),
    // to its answer (ping), from its first packet to its last (receive, pong).
    const std::vector<Nanos>& times() const { return times_; }
    // From the first post to the end of the last message.
    Nanos elapsed() const { return ended_ - begun_; }
    const std::optional<Completion>& failed() const { return failed_; }

  private:
    struct Message {
        Nanos posted = 0;
        std::size_t parts_left = 0;
    };

    bool sends() const { return plan_.role != Role::receive; }
    bool receives() const { return plan_.role != Role::send; }
    std::size_t parts() const;
    void post_more();
    void post_send(std::uint32_t message);
    void post_recv(std::uint32_t message);
    void take(const Completion&);
    MessageName name(std::uint32_t message, std::size_t part, std::uint16_t from) const;
    std::span<std::byte> part_of(std::size_t place, std::size_t part) const;

    device::Progress& progress_;
    const StreamPlan plan_;
    const std::span<std::byte> buffer_;
    std::vector<Completion> completions_;
    std::vector<Message> sending_, receiving_;  // by number modulo the depth
    std::uint32_t sends_posted_ = 0, sends_ended_ = 0;
    std::uint32_t recvs_posted_ = 0, recvs_ended_ = 0;
    std::uint32_t oldest_send_ = 0, oldest_recv_ = 0;  // that have not ended
    std::vector<Nanos> times_;
    Nanos begun_ = 0;
    Nanos ended_ = 0;
    std::optional<Completion> failed_;
};

}  // namespace csaud::perf
