// A schedule as the executor takes it: one rank's operations, checked once, with who waits for whom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace csaud::collectives {

// Where a region lies: the user's array, a second one of the user's that is only read, or the room for what
// was received and not yet reduced.
enum class Place : std::uint8_t { data, source, scratch };
inline constexpr std::size_t kPlaces = 3;

// Elements [start, start + count) of a place.
struct Region {
    Place place = Place::data;
    std::uint64_t start = 0;
    std::uint64_t count = 0;
};

enum class Kind : std::uint8_t { send, receive, reduce };

struct Operation {
    Kind kind = Kind::send;
    std::uint16_t peer = 0;  // rank in the group; of messages, as the next three
    std::uint16_t step = 0;
    std::uint16_t chunk = 0;
    std::uint16_t fan_in = 0;
    Region region;  // what is sent, received into, or reduced into
    Region first;   // operands of a reduction, in their order
    Region second;
    std::vector<std::uint32_t> after;  // earlier operations that it waits for; none of a receive
};

class Plan {
  public:
    // Throws std::invalid_argument naming the operation that is impossible. `steps` of the whole collective.
    Plan(std::vector<Operation> operations, std::uint64_t scratch, std::uint32_t steps);

    std::span<const Operation> operations() const noexcept { return operations_; }
    // Operations that wait for `index`, in the order of the schedule.
    std::span<const std::uint32_t> followers(std::uint32_t index) const noexcept {
        return std::span(followers_).subspan(first_[index], first_[index + 1] - first_[index]);
    }
    // All receives, then what else waits for nothing: what is posted at the begin.
    std::span<const std::uint32_t> begin() const noexcept { return begin_; }

    std::uint64_t scratch() const noexcept { return scratch_; }  // elements
    std::uint32_t steps() const noexcept { return steps_; }
    std::uint32_t ranks() const noexcept { return ranks_; }  // one more than the highest peer
    bool chains() const noexcept { return chains_; }         // some send waits for something
    bool reduces() const noexcept { return reduces_; }
    bool receives() const noexcept { return receives_; }
    bool writes() const noexcept { return writes_; }  // to the user's array
    // Elements that a place must have.
    std::uint64_t extent(Place place) const noexcept { return extents_[static_cast<std::size_t>(place)]; }

  private:
    void check(std::size_t index);
    void require_different_messages() const;
    void reach(const Region&, std::size_t index);

    std::vector<Operation> operations_;
    std::vector<std::uint32_t> first_;  // by operation: where its followers begin
    std::vector<std::uint32_t> followers_;
    std::vector<std::uint32_t> begin_;
    std::array<std::uint64_t, kPlaces> extents_{};
    std::uint64_t scratch_;
    std::uint32_t steps_;
    std::uint32_t ranks_ = 0;
    bool chains_ = false;
    bool reduces_ = false;
    bool receives_ = false;
    bool writes_ = false;
};

}  // namespace csaud::collectives
