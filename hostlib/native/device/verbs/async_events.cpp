#include "async_events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace csaud::device::verbs {
namespace {

constexpr std::int64_t kLookEvery = 1'000'000;   // ns
constexpr std::int64_t kSeeEvery = 250'000'000;  // ns

}  // namespace

AsyncEvents::AsyncEvents(const Domain& domain)
    : context_(domain.context.get()), name_(library().get_device_name(context_->device)) {
    const int flags = ::fcntl(context_->async_fd, F_GETFL);
    if (flags < 0 || ::fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK) < 0)
        throw_error(errno, "set the reports of RDMA device " + name_ + " to not block");
    file_ = context_->device->dev_path;
    if (::access(file_.c_str(), F_OK) != 0) file_.clear();
}

void AsyncEvents::look(std::int64_t now) {
    if (now - looked_ < kLookEvery) return;
    looked_ = now;
    ibv_async_event event{};
    while (library().get_async_event(context_, &event) == 0) {
        // Acknowledged first: who destroys a queue waits for that.
        const ibv_async_event copy = event;
        library().ack_async_event(&event);
        take(copy);
    }
    if (now - seen_ < kSeeEvery || file_.empty()) return;
    seen_ = now;
    if (::access(file_.c_str(), F_OK) != 0 && errno == ENOENT)
        throw std::runtime_error("RDMA device " + name_ + " was removed");
}

void AsyncEvents::take(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_DEVICE_FATAL:
            throw std::runtime_error("RDMA device " + name_ + " has failed");
        case IBV_EVENT_CQ_ERR:
            throw std::runtime_error("a completion queue of RDMA device " + name_ + " has overrun");
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
            queue_pair_failed_ = true;
            break;
        default:  // ports, tables and paths: what it means for packets shows in completions
            break;
    }
    ++count_;
}

bool AsyncEvents::queue_pair_failed() {
    return std::exchange(queue_pair_failed_, false);
}

}  // namespace csaud::device::verbs
