// Completion queues whose events come through one descriptor that ppoll can wait for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "library.hpp"

namespace csaud::device::verbs {

class Channel {
  public:
    explicit Channel(ibv_context* context);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    // Takes the events that are there, so that the descriptor is readable only for new ones. Never blocks.
    void drain();
    int descriptor() const { return channel_->fd; }
    ibv_comp_channel* get() const { return channel_; }

  private:
    ibv_comp_channel* channel_;
};

class CompletionQueue {
  public:
    // Room for `entries` completions.
    CompletionQueue(ibv_context* context, Channel& channel, std::size_t entries);
    ~CompletionQueue();
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    // Takes up to completions.size(); returns how many.
    std::size_t poll(std::span<ibv_wc> completions);

    // The next completion makes the channel readable, once. One that came before the call does not: poll
    // again after it. False: it was asked for already.
    bool arm();
    // There is an event to take, or will be in a moment: completions have come since it was asked for.
    bool event_due() const { return event_due_; }

    ibv_cq* get() const { return cq_; }

  private:
    friend class Channel;

    std::string name() const;  // of the device

    ibv_cq* cq_;
    bool armed_ = false;
    bool event_due_ = false;
    unsigned events_ = 0;  // taken, not yet acknowledged
};

}  // namespace csaud::device::verbs
