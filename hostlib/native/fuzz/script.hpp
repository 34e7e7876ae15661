// An input of the endpoint's fuzzer: a script of records of 16 bytes, each one thing that happens to a job of
// three ranks. Mutations keep records whole and draw what they put into them from what is likely to matter,
// so that a script of many steps stays one, and what it forges stays close to what a peer would say.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "splitmix.hpp"

namespace csaud::fuzz {

enum class Op : std::uint8_t {
    exchange,  // a send and its receive
    send,
    receive,
    run,     // packets arrive and timers fire as they should
    pass,    // time passes, nothing arrives
    arrive,  // one packet of those under way, in whatever order
    lose,
    repeat,  // an old packet comes again
    cut,     // a switch makes a LOSS of one
    forge,   // an old packet comes again with some of its fields changed
    storm,   // many forged ones, all drawn from one number
    damage,  // or with changed bytes
    deny,    // the controller takes a path away, or gives it back
    say,     // a note to another rank
    abort,
    intrude,  // somebody who is at no rank's address names a message that is under way
};
inline constexpr unsigned kOps = 16;

struct Record {
    std::uint8_t op = 0;
    std::uint8_t which = 0;                // rank or packet
    std::array<std::uint8_t, 2> field{};   // forge: what is changed, and how
    std::array<std::uint32_t, 2> value{};  // and to what; others: sizes, names, times
    std::uint32_t more = 0;

    Op what() const noexcept { return static_cast<Op>(op % kOps); }
};
static_assert(sizeof(Record) == 16);

class Script {
  public:
    Script(const std::uint8_t* data, std::size_t size) : records_(size / sizeof(Record)) {
        if (!records_.empty()) std::memcpy(records_.data(), data, records_.size() * sizeof(Record));
    }
    const std::vector<Record>& records() const noexcept { return records_; }

    std::size_t write(std::uint8_t* data, std::size_t most) const {
        const std::size_t count = std::min(records_.size(), most / sizeof(Record));
        if (count != 0) std::memcpy(data, records_.data(), count * sizeof(Record));
        return count * sizeof(Record);
    }

    void mutate(std::uint32_t seed) {
        testing::SplitMix random(seed);
        while (records_.size() < 4) records_.push_back(begin(records_.size(), random));
        for (std::uint64_t left = 1 + random.below(4); left-- > 0;) once(random);
    }

    // The begin of this one, then the end of `other`.
    void cross(const Script& other, std::uint32_t seed) {
        testing::SplitMix random(seed);
        records_.resize(std::min<std::size_t>(records_.size(), 1 + random.below(records_.size() + 1)));
        const std::size_t from = random.below(other.records_.size() + 1);
        records_.insert(records_.end(), other.records_.begin() + static_cast<std::ptrdiff_t>(from),
                        other.records_.end());
    }

    static Record drawn(testing::SplitMix& random) {
        constexpr std::array kLikely{Op::forge, Op::forge,    Op::storm,  Op::run,
                                     Op::run,   Op::exchange, Op::intrude};
        Record r;
        r.op = static_cast<std::uint8_t>(random.below(4) != 0 ? kLikely[random.below(kLikely.size())]
                                                              : static_cast<Op>(random.below(kOps)));
        r.which = static_cast<std::uint8_t>(random.next());
        for (auto& field : r.field) field = static_cast<std::uint8_t>(random.next());
        for (auto& value : r.value) value = number(random);
        r.more = number(random);
        // Flags say what other fields mean: one of them turned, and another field at one of its edges.
        if (r.what() == Op::forge && random.below(2) == 0) {
            constexpr std::array<std::uint8_t, 2> kFlags{2, 21};  // see Forgery::change
            constexpr unsigned kTurn = 2U << 6;
            constexpr unsigned kEdge = 3U << 6;
            r.field[0] = static_cast<std::uint8_t>(kTurn | kFlags[random.below(kFlags.size())]);
            r.field[1] = static_cast<std::uint8_t>(kEdge | random.below(34));
        }
        return r;
    }

  private:
    // The first record is the job's settings; a job with some history comes next.
    static Record begin(std::size_t place, testing::SplitMix& random) {
        Record r = drawn(random);
        r.op = static_cast<std::uint8_t>(place % 2 == 1 ? Op::exchange : Op::run);
        return r;
    }

    static std::uint32_t number(testing::SplitMix& random) {
        const std::uint64_t small = random.below(16);
        return static_cast<std::uint32_t>(random.below(4) == 0 ? random.next() >> random.below(48) : small);
    }

    std::ptrdiff_t place(testing::SplitMix& random, std::size_t beyond) {
        return static_cast<std::ptrdiff_t>(random.below(records_.size() + beyond));
    }

    void once(testing::SplitMix& random) {
        const auto begin = records_.begin();
        switch (random.below(8)) {
            case 0:
            case 1:
            case 2:
                records_.insert(begin + place(random, 1), drawn(random));
                return;
            case 3:
                if (records_.size() > 1) records_.erase(begin + place(random, 0));
                return;
            case 4: {  // some of it once more
                const std::ptrdiff_t from = place(random, 0);
                const auto count = std::min<std::ptrdiff_t>(1 + static_cast<std::ptrdiff_t>(random.below(4)),
                                                            std::ssize(records_) - from);
                const std::vector<Record> again(begin + from, begin + from + count);
                records_.insert(begin + place(random, 1), again.begin(), again.end());
                return;
            }
            case 5:
                std::swap(records_[random.below(records_.size())], records_[random.below(records_.size())]);
                return;
            case 6: {
                auto bytes = std::as_writable_bytes(std::span(records_));
                bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
                return;
            }
            default: {  // the same thing done to something else
                Record& r = records_[random.below(records_.size())];
                const Record other = drawn(random);
                switch (random.below(4)) {
                    case 0:
                        r.which = other.which;
                        return;
                    case 1:
                        r.more = other.more;
                        return;
                    default: {
                        const std::size_t i = random.below(2);
                        if (random.below(2) == 0) r.field[i] = other.field[i];
                        r.value[i] = other.value[i];
                    }
                }
            }
        }
    }

    std::vector<Record> records_;
};

}  // namespace csaud::fuzz
