// The simulator's time kept by ns-3: a shared library that csaud_sim.ns3 builds where ns-3 is installed. What
// is built is a work of ns-3's licence as well as of this file's (docs/simulation.md).
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "csaud_sim/engine/plugin.hpp"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

namespace csaud::sim {
namespace {

// ns-3 runs events of one time in the order in which they were scheduled, as engines have to.
class Ns3Engine final : public Engine {
  public:
    Ns3Engine() { ++engines; }
    ~Ns3Engine() override {
        ns3::Simulator::Destroy();
        --engines;
    }

    Nanos now() const override { return ns3::Simulator::Now().GetNanoSeconds(); }

    EventId at(Nanos time, Actor& actor, std::uint32_t what) override {
        if (time < now())
            throw std::invalid_argument("time " + std::to_string(time) + " lies before the present, " +
                                        std::to_string(now()));
        std::uint32_t index = 0;
        if (free_.empty()) {
            index = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        Slot& slot = slots_[index];
        slot.actor = &actor;
        slot.what = what;
        slot.time = time;
        ++slot.use;
        if (until_ < 0)
            waiting_.push_back({index, slot.use});
        else
            schedule(index);
        if (time == until_) ++due_at_end_;
        return EventId{slot.use} << 32 | index;
    }

    void cancel(EventId id) override {
        const auto index = static_cast<std::uint32_t>(id);
        if (index >= slots_.size() || slots_[index].use != id >> 32 || slots_[index].actor == nullptr) return;
        ns3::Simulator::Cancel(slots_[index].event);
        release(index);
    }

    void run(Nanos until) override {
        for (const auto& [index, use] : waiting_)
            if (slots_[index].actor != nullptr && slots_[index].use == use) schedule(index);
        waiting_.clear();
        until_ = until;
        due_at_end_ = 0;
        for (const Slot& slot : slots_) due_at_end_ += slot.actor != nullptr && slot.time == until ? 1 : 0;
        end_ = ns3::Simulator::Schedule(ns3::NanoSeconds(until - now()), &Ns3Engine::end, this);
        ns3::Simulator::Run();
        ns3::Simulator::Cancel(end_);
        until_ = -1;
    }

    void stop() override { ns3::Simulator::Stop(); }

    static inline int engines = 0;  // ns-3 has one simulator a process

  private:
    struct Slot {
        Actor* actor = nullptr;
        std::uint32_t what = 0;
        std::uint32_t use = 0;
        Nanos time = 0;
        ns3::EventId event;
    };

    void schedule(std::uint32_t index) {
        Slot& slot = slots_[index];
        slot.event =
            ns3::Simulator::Schedule(ns3::NanoSeconds(slot.time - now()), &Ns3Engine::fire, this, index);
    }

    void release(std::uint32_t index) {
        if (slots_[index].time == until_) --due_at_end_;
        slots_[index].actor = nullptr;
        free_.push_back(index);
    }

    void fire(std::uint32_t index) {
        Actor* const actor = slots_[index].actor;
        const std::uint32_t what = slots_[index].what;
        release(index);
        actor->act(what, now());
    }

    // Behind everything else of this time.
    void end() {
        if (due_at_end_ == 0)
            ns3::Simulator::Stop();
        else
            end_ = ns3::Simulator::ScheduleNow(&Ns3Engine::end, this);
    }

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    // Asked for between runs, index and use: ns-3 takes events of the thread alone that runs it, and programs
    // of ranks have threads of their own.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> waiting_;
    Nanos until_ = -1;            // -1: it does not run
    std::size_t due_at_end_ = 0;  // events of that time
    ns3::EventId end_;
};

}  // namespace
}  // namespace csaud::sim

extern "C" csaud::sim::Engine* csaud_sim_engine(std::uint32_t version) {
    if (version != csaud::sim::kEngineVersion || csaud::sim::Ns3Engine::engines != 0) return nullptr;
    return new csaud::sim::Ns3Engine;
}
