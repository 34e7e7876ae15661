// The objects that Python holds: a fabric with its lock and thread, and switches that keep their fabric
// alive.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "csaud_switch/fabric/fabric.hpp"
#include "csaud_switch/io/runner.hpp"

namespace csaud::sw::python {

namespace nb = nanobind;

struct FabricHandle {
    explicit FabricHandle(std::uint64_t seed);
    ~FabricHandle();
    FabricHandle(const FabricHandle&) = delete;
    FabricHandle& operator=(const FabricHandle&) = delete;

    Fabric fabric;
    ControlLock lock;
    Runner runner;
    std::map<const Switch*, int> packet_in_fds;  // eventfds, made when they are first asked for

    // The thread that keeps the fabric still (Switch.hold), so that several calls are one step for packets.
    std::atomic<std::thread::id> holder{};

    // Runs under the lock, without Python's own.
    template <typename F>
    auto locked(F&& f) {
        if (holder.load() == std::this_thread::get_id()) return std::forward<F>(f)();
        nb::gil_scoped_release release;
        std::lock_guard<ControlLock> guard(lock);
        return std::forward<F>(f)();
    }

    // The present, for work that is done now: in real time the fabric's clock is brought up to the real one.
    void catch_up() {
        if (runner.running()) fabric.advance(std::max(monotonic_now(), fabric.now()));
    }
    Nanos present() const {
        return runner.running() ? std::max(monotonic_now(), fabric.now()) : fabric.now();
    }
    void require_virtual_time() const;
    void require_own_time() const;  // no simulation has the fabric
};

struct SwitchHandle {
    std::shared_ptr<FabricHandle> owner;
    Switch* target;

    template <typename F>
    auto locked(F&& f) const {
        return owner->locked(std::forward<F>(f));
    }
};

void bind_adopt(nb::class_<SwitchHandle>& cls);
void bind_control(nb::class_<SwitchHandle>& cls);
void bind_descriptions(nb::class_<SwitchHandle>& cls);
void bind_state(nb::class_<SwitchHandle>& cls);
void bind_taps(nb::module_& m, nb::class_<FabricHandle>& fabric);

}  // namespace csaud::sw::python
