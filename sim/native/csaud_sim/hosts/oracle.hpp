// Tells senders of every loss, some time after it happened, by a LOSS of its own: the bound of what detection
// can do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "csaud_sim/engine/engine.hpp"
#include "csaud_sim/network/csa_frame.hpp"

namespace csaud::sim {

class Host;

class Oracle final : public Actor {
  public:
    // Host n is rank n. They outlive this object.
    Oracle(Engine& engine, const std::vector<std::unique_ptr<Host>>& hosts, Nanos delay)
        : engine_(engine), hosts_(hosts), delay_(delay) {}

    // A copy of DATA is lost.
    void lost(const wire::Decoded& data, Nanos now);
    void act(std::uint32_t what, Nanos now) override;

  private:
    struct Notice {
        std::uint16_t rank;
        std::array<std::byte, wire::kHeaderBytes> packet;
    };

    Engine& engine_;
    const std::vector<std::unique_ptr<Host>>& hosts_;
    const Nanos delay_;
    std::deque<Notice> notices_;  // in the order of their times
};

}  // namespace csaud::sim
