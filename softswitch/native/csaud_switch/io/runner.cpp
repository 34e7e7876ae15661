#include "csaud_switch/io/runner.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace csaud::sw {

namespace {

// What an epoll event stands for.
constexpr std::uint64_t kWake = UINT64_MAX;
constexpr std::uint64_t kMonitor = UINT64_MAX - 1;

constexpr std::size_t kFramesATurn = 128;  // of one port, so that none waits long for the others
constexpr Nanos kRetry = 100'000;          // to hand the kernel again what it had no room for

[[noreturn]] void raise(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void watch(int epoll, int fd, std::uint64_t tag) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST) raise("epoll_ctl");
}

}  // namespace

Nanos monotonic_now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void Runner::watch_namespace() {
    struct stat info {};
    if (::stat("/proc/thread-self/ns/net", &info) != 0) raise("/proc/thread-self/ns/net");
    if (!namespaces_.emplace(info.st_dev, info.st_ino).second) return;
    monitors_.push_back(std::make_unique<LinkMonitor>());
    watch(epoll_, monitors_.back()->descriptor(), kMonitor);
}

void Runner::read_monitors() {
    std::vector<InterfaceChange> changes;
    bool complete = true;
    for (const auto& monitor : monitors_) complete &= monitor->read(changes);
    if (!complete) fabric_.interfaces().check();
    for (const InterfaceChange& change : changes) fabric_.interfaces().check(change.index, change.name);
}

void Runner::add_interfaces() {
    const auto& all = fabric_.interfaces().all();
    for (; added_ < all.size(); ++added_)
        if (all[added_].interface) watch(epoll_, all[added_].interface->descriptor(), added_);
}

Runner::Runner(Fabric& fabric, ControlLock& lock) : fabric_(fabric), lock_(lock) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll_ < 0 || wake_ < 0) raise("epoll or eventfd");
    watch(epoll_, wake_, kWake);
}

Runner::~Runner() {
    stop();
    ::close(epoll_);
    ::close(wake_);
}

void Runner::start() {
    const std::lock_guard<std::mutex> life(life_);
    if (running_) return;
    {
        const std::lock_guard<ControlLock> guard(lock_);
        fabric_.begin_real_time(monotonic_now());
    }
    stopping_ = false;
    thread_ = std::thread([this] { loop(); });
    running_ = true;
}

void Runner::stop() {
    const std::lock_guard<std::mutex> life(life_);
    if (!running_) return;
    stopping_ = true;
    kick();
    thread_.join();
    running_ = false;
}

void Runner::kick() {
    const std::uint64_t one = 1;
    // A full counter wakes the thread just as well.
    if (::write(wake_, &one, sizeof one) < 0) return;
}

int Runner::wait(Nanos until, std::vector<std::uint64_t>& ready) {
    std::array<epoll_event, 64> events;
    timespec timeout{};
    const timespec* limit = nullptr;
    if (until != kNever) {
        const Nanos left = std::max<Nanos>(until - monotonic_now(), 0);
        timeout.tv_sec = left / 1'000'000'000;
        timeout.tv_nsec = left % 1'000'000'000;
        limit = &timeout;
    }
    const int count = ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), limit, nullptr);
    ready.clear();
    for (int i = 0; i < count; ++i) ready.push_back(events[static_cast<std::size_t>(i)].data.u64);
    return count;
}

void Runner::turn(Nanos now, const std::vector<std::uint64_t>& ready) {
    add_interfaces();
    fabric_.advance(std::max(now, fabric_.now()));
    for (const std::uint64_t tag : ready) {
        if (tag == kWake) {
            std::uint64_t value = 0;
            if (::read(wake_, &value, sizeof value) < 0) continue;
        } else if (tag == kMonitor) {
            read_monitors();
        } else {
            fabric_.receive(tag, fabric_.now(), kFramesATurn);
        }
    }
    fabric_.flush_interfaces();
}

void Runner::loop() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // nanoseconds: links with a rate wake the thread for every frame
    std::vector<std::uint64_t> ready;
    Nanos next = 0;
    while (!stopping_) {
        wait(next, ready);
        lock_.lock_politely();
        turn(monotonic_now(), ready);
        next = fabric_.next_event();
        const auto& all = fabric_.interfaces().all();
        if (std::any_of(all.begin(), all.end(),
                        [](const auto& entry) { return entry.interface && entry.interface->waiting() > 0; }))
            next = std::min(next, monotonic_now() + kRetry);
        lock_.unlock();
    }
}

}  // namespace csaud::sw
