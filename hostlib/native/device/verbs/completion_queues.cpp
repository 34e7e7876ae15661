#include "completion_queues.hpp"

#include <fcntl.h>

#include <cerrno>

namespace csaud::device::verbs {

Channel::Channel(ibv_context* context) : channel_(library().create_comp_channel(context)) {
    if (channel_ == nullptr) throw_error(errno, "create a completion channel");
    const int flags = ::fcntl(channel_->fd, F_GETFL);
    if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        const int error = errno;
        library().destroy_comp_channel(channel_);
        throw_error(error, "set a completion channel to not block");
    }
}

Channel::~Channel() {
    library().destroy_comp_channel(channel_);
}

void Channel::drain() {
    ibv_cq* cq = nullptr;
    void* owner = nullptr;
    while (library().get_cq_event(channel_, &cq, &owner) == 0) {
        auto* queue = static_cast<CompletionQueue*>(owner);
        queue->armed_ = queue->event_due_ = false;
        ++queue->events_;
    }
}

CompletionQueue::CompletionQueue(ibv_context* context, Channel& channel, std::size_t entries)
    : cq_(library().create_cq(context, static_cast<int>(entries), this, channel.get(), 0)) {
    if (cq_ == nullptr) throw_error(errno, "create a completion queue of " + std::to_string(entries));
}

CompletionQueue::~CompletionQueue() {
    // Destroying it waits for every event that was taken to be acknowledged.
    library().ack_cq_events(cq_, events_);
    library().destroy_cq(cq_);
}

std::string CompletionQueue::name() const {
    return library().get_device_name(cq_->context->device);
}

std::size_t CompletionQueue::poll(std::span<ibv_wc> completions) {
    const int count = ::ibv_poll_cq(cq_, static_cast<int>(completions.size()), completions.data());
    if (count < 0) throw_error(EIO, "poll a completion queue of RDMA device " + name());
    event_due_ = event_due_ || (armed_ && count != 0);
    return static_cast<std::size_t>(count);
}

bool CompletionQueue::arm() {
    if (armed_) return false;
    const int error = ::ibv_req_notify_cq(cq_, 0);
    if (error != 0) throw_error(error, "ask for a completion event of RDMA device " + name());
    armed_ = true;
    return true;
}

}  // namespace csaud::device::verbs
