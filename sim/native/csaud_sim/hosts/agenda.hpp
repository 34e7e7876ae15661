// The collectives of a host: when each starts, and the executor that runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "collectives/executor.hpp"
#include "csaud_sim/hosts/open_work.hpp"
#include "csaud_sim/hosts/party.hpp"

namespace csaud::sim {

class Agenda {
  public:
    // What the host is asked to act on, and hands on.
    enum What : std::uint32_t { kStart = 0x100, kFollow };

    // `host` acts, and has the port.
    Agenda(Engine& engine, OpenWork& open_work, Actor& host, Party& party, std::uint16_t rank,
           std::uint16_t epoch)
        : engine_(engine), open_work_(open_work), host_(host), party_(party), executor_(rank, epoch) {}

    // Executions must live until they have settled, or as long as this object. At a time, now or later:
    void start(collectives::Execution& execution, Nanos at);
    // So long after all that were given before are over; the host's turn is next.
    void follow(collectives::Execution& execution, Nanos delay);

    void act(std::uint32_t what, Nanos now);
    // A completion of a collective's message; reductions take no time.
    void take(const Completion& completion, Nanos local);
    // At the end of a turn: what follows is asked for, and the open_work told.
    void end_turn(Nanos now);
    // Nothing more comes of it.
    void drop();

    const collectives::Executor& executor() const { return executor_; }

  private:
    struct Follower {
        collectives::Execution* execution;
        Nanos delay;
    };

    void start_now(collectives::Execution& execution, Nanos now);
    void report();

    Engine& engine_;
    OpenWork& open_work_;
    Actor& host_;
    Party& party_;
    collectives::Executor executor_;
    std::multimap<Nanos, collectives::Execution*> starts_;
    std::deque<Follower> followers_;
    bool follower_armed_ = false;
    bool dropped_ = false;
    bool failed_ = false;
    std::size_t reported_ = 0;  // executions that are not over
};

}  // namespace csaud::sim
