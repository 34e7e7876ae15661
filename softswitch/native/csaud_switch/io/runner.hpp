// Runs a fabric in real time, in a thread of its own.
//
// All access to the fabric, from here and from control calls, happens under one lock. The thread gives way to
// control calls between its turns, so that they do not starve while packets keep coming.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "csaud_switch/fabric/fabric.hpp"
#include "csaud_switch/io/link_monitor.hpp"

namespace csaud::sw {

// A mutex whose waiting control calls the runner can see.
class ControlLock {
  public:
    void lock() {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    void unlock() { mutex_.unlock(); }

    void lock_politely() {
        while (waiting_.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
        mutex_.lock();
    }

  private:
    std::mutex mutex_;
    std::atomic<int> waiting_{0};
};

// CLOCK_MONOTONIC
Nanos monotonic_now();

class Runner {
  public:
    Runner(Fabric& fabric, ControlLock& lock);
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    // The lock is not held while these are called.
    void start();
    void stop();
    bool running() const { return running_; }
    // Something changed that the thread should look at: a socket, an event, a packet to send.
    void kick();
    // Interfaces opened in the calling thread's network namespace are to be watched. The lock is held.
    void watch_namespace();

  private:
    void loop();
    void turn(Nanos now, const std::vector<std::uint64_t>& ready);
    void add_interfaces();
    void read_monitors();
    int wait(Nanos until, std::vector<std::uint64_t>& ready);

    Fabric& fabric_;
    ControlLock& lock_;
    std::mutex life_;  // start and stop, from any thread
    std::thread thread_;
    std::atomic<bool> running_{false};
    std::atomic<bool> stopping_{false};
    int epoll_ = -1;
    int wake_ = -1;
    std::size_t added_ = 0;  // interfaces that epoll knows
    std::set<std::pair<std::uint64_t, std::uint64_t>> namespaces_;
    std::vector<std::unique_ptr<LinkMonitor>> monitors_;  // one a network namespace
};

}  // namespace csaud::sw
