// Switch.adopt, Switch.hold and Switch.release, Switch.table_find: what a control plane needs to change much
// in one step, and to look up one entry.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>

#include "convert.hpp"
#include "csaud_switch/base/error.hpp"
#include "handles.hpp"

namespace csaud::sw::python {

namespace {

using namespace nb::literals;

// Keeps a fabric still, unless this thread does so already.
class Still {
  public:
    explicit Still(FabricHandle& fabric)
        : lock_(fabric.holder.load() == std::this_thread::get_id() ? nullptr : &fabric.lock) {
        if (lock_ != nullptr) lock_->lock();
    }
    ~Still() {
        if (lock_ != nullptr) lock_->unlock();
    }
    Still(const Still&) = delete;
    Still& operator=(const Still&) = delete;

  private:
    ControlLock* lock_;
};

void adopt(const SwitchHandle& self, const SwitchHandle& filled, bool keep_state) {
    if (self.owner == filled.owner)
        throw InvalidArgument("the program to adopt must be on a switch of a fabric of its own");
    {
        // Both fabrics stand still, locked in an order that does not depend on which adopts from which.
        const bool forward = std::less<const FabricHandle*>{}(self.owner.get(), filled.owner.get());
        const nb::gil_scoped_release release;
        const Still first(forward ? *self.owner : *filled.owner);
        const Still second(forward ? *filled.owner : *self.owner);
        self.owner->catch_up();
        self.target->adopt(*filled.target, keep_state, self.owner->fabric.now());
        self.owner->fabric.flush_interfaces();
    }
    self.owner->runner.kick();
}

void hold(const SwitchHandle& self) {
    FabricHandle& fabric = *self.owner;
    if (fabric.holder.load() == std::this_thread::get_id())
        throw FailedPrecondition("this thread holds the fabric already");
    nb::gil_scoped_release release;
    fabric.lock.lock();
    fabric.holder.store(std::this_thread::get_id());
}

void release(const SwitchHandle& self) {
    FabricHandle& fabric = *self.owner;
    if (fabric.holder.load() != std::this_thread::get_id())
        throw FailedPrecondition("this thread does not hold the fabric");
    fabric.holder.store(std::thread::id{});
    fabric.lock.unlock();
    fabric.runner.kick();
}

}  // namespace

void bind_adopt(nb::class_<SwitchHandle>& cls) {
    cls.def("adopt", adopt, "filled"_a, "keep_state"_a = false);
    cls.def("hold", hold);
    cls.def("release", release);
    cls.def(
        "table_find",
        [](const SwitchHandle& self, const std::string& table, nb::handle match, int priority) {
            const std::vector<MatchField> fields = to_match(match);
            return from_action(
                self.locked([&] { return Control(*self.target).table_find(table, fields, priority); }));
        },
        "table"_a, "match"_a, "priority"_a);
}

}  // namespace csaud::sw::python
