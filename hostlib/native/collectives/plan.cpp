#include "collectives/plan.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace csaud::collectives {

namespace {

[[noreturn]] void impossible(std::size_t index, const char* why) {
    throw std::invalid_argument("operation " + std::to_string(index) + " of a schedule: " + why);
}

}  // namespace

Plan::Plan(std::vector<Operation> operations, std::uint64_t scratch, std::uint32_t steps)
    : operations_(std::move(operations)), scratch_(scratch), steps_(steps) {
    first_.assign(operations_.size() + 1, 0);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
        check(i);
        for (const std::uint32_t earlier : operations_[i].after) ++first_[earlier + 1];
    }
    require_different_messages();
    for (std::size_t i = 0; i < operations_.size(); ++i) first_[i + 1] += first_[i];
    followers_.resize(first_.back());
    std::vector<std::uint32_t> next = first_;
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
        for (const std::uint32_t earlier : operations_[i].after) followers_[next[earlier]++] = i;
    }
    for (const bool receives : {true, false}) {
        for (std::uint32_t i = 0; i < operations_.size(); ++i) {
            const Operation& op = operations_[i];
            if ((op.kind == Kind::receive) == receives && op.after.empty()) begin_.push_back(i);
        }
    }
}

void Plan::check(std::size_t index) {
    const Operation& op = operations_[index];
    if (std::ranges::any_of(op.after, [&](std::uint32_t earlier) { return earlier >= index; }))
        impossible(index, "it waits for one that is not before it");
    reach(op.region, index);
    if (op.kind != Kind::send && op.region.place == Place::data) writes_ = true;
    if (op.kind == Kind::reduce) {
        reduces_ = true;
        reach(op.first, index);
        reach(op.second, index);
        if (op.first.count != op.region.count || op.second.count != op.region.count)
            impossible(index, "operands of different sizes");
        if (op.region.place == Place::source) impossible(index, "it writes what is only read");
        return;
    }
    if (op.step >= steps_) impossible(index, "a step beyond the last one");
    if (op.kind == Kind::receive && !op.after.empty()) impossible(index, "a receive that waits");
    if (op.kind == Kind::receive && op.region.place == Place::source)
        impossible(index, "it writes what is only read");
    chains_ = chains_ || !op.after.empty();
    ranks_ = std::max(ranks_, std::uint32_t{op.peer} + 1);
    receives_ = receives_ || op.kind == Kind::receive;
}

// Their names are all that tells them apart.
void Plan::require_different_messages() const {
    using Message = std::tuple<Kind, std::uint16_t, std::uint16_t, std::uint16_t, std::size_t>;
    std::vector<Message> messages;
    messages.reserve(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
        const Operation& op = operations_[i];
        if (op.kind != Kind::reduce) messages.emplace_back(op.kind, op.peer, op.step, op.chunk, i);
    }
    std::ranges::sort(messages);
    const auto name = [](const Message& m) {
        return std::tuple(std::get<0>(m), std::get<1>(m), std::get<2>(m), std::get<3>(m));
    };
    const auto twice = std::ranges::adjacent_find(messages, {}, name);
    if (twice != messages.end())
        impossible(std::get<4>(*std::next(twice)), "a message of the same peer, step and chunk as another");
}

void Plan::reach(const Region& region, std::size_t index) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 56;  // so that bytes cannot overflow
    if (region.start > kMost || region.count > kMost) impossible(index, "a region without bounds");
    std::uint64_t& extent = extents_[static_cast<std::size_t>(region.place)];
    extent = std::max(extent, region.start + region.count);
    if (region.place == Place::scratch && extent > scratch_)
        impossible(index, "more scratch than it asks for");
}

}  // namespace csaud::collectives
