#include "collectives/execution.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace csaud::collectives {

namespace {

void require_room(const Plan& plan, Place place, std::span<const std::byte> buffer, std::size_t element_bytes,
                  const char* what) {
    const std::uint64_t elements = buffer.size() / element_bytes;
    if (plan.extent(place) > elements)
        throw std::out_of_range(std::string(what) + " has " + std::to_string(elements) +
                                " elements, the schedule needs " + std::to_string(plan.extent(place)));
}

}  // namespace

Execution::Execution(std::shared_ptr<const Collective> collective, std::uint32_t number,
                     const Buffers& buffers)
    : collective_(std::move(collective)),
      number_(number),
      buffers_(buffers),
      unfinished_(plan().operations().size()) {
    const std::size_t element_bytes = collective_->element_bytes;
    if (element_bytes == 0) throw std::invalid_argument("elements of no bytes");
    if (plan().reduces() && collective_->combine == nullptr)
        throw std::invalid_argument("the schedule reduces, but no reduction was given");
    if (plan().ranks() > collective_->ranks.size())
        throw std::out_of_range("the schedule has more ranks than the group");
    require_room(plan(), Place::data, buffers_.data, element_bytes, "the array");
    require_room(plan(), Place::source, buffers_.source, element_bytes, "the source");
    require_room(plan(), Place::scratch, buffers_.scratch, element_bytes, "the scratch");
    waiting_.reserve(unfinished_);
    for (const Operation& op : plan().operations())
        waiting_.push_back(static_cast<std::uint32_t>(op.after.size()));
    posted_.resize(unfinished_);
    step_ended_.assign(plan().steps(), 0);
}

std::vector<Execution::Awaited> Execution::awaited() const {
    std::vector<Awaited> found;
    for (std::uint32_t i = 0; i < posted_.size(); ++i) {
        if (posted_[i].open) found.push_back({posted_[i].id, i});
    }
    return found;
}

std::span<std::byte> Execution::bytes(const Region& region) const {
    const std::span<std::byte> place = region.place == Place::data     ? buffers_.data
                                       : region.place == Place::source ? buffers_.source
                                                                       : buffers_.scratch;
    const std::size_t element_bytes = collective_->element_bytes;
    return place.subspan(region.start * element_bytes, region.count * element_bytes);
}

MessageName Execution::name_of(const Operation& op, std::uint16_t rank, std::uint16_t epoch) const {
    MessageName name;
    name.comm = collective_->comm;
    name.epoch = epoch;
    name.coll_seq = number_;
    name.step = static_cast<std::uint16_t>(collective_->step_mark | op.step);
    name.chunk = static_cast<std::uint16_t>(collective_->chunk_mark | op.chunk);
    name.src_rank = op.kind == Kind::send ? rank : collective_->ranks[op.peer];
    return name;
}

Hints Execution::hints_of(const Operation& op) const {
    Hints hints;
    hints.cls = collective_->cls;
    hints.barrier = collective_->barrier;
    hints.fan_in = op.fan_in;
    hints.scheduled = (collective_->comm & kDirect) == 0;
    hints.chained = collective_->plan->chains();
    if (!collective_->times) return hints;
    const Expected expected = collective_->times->expect(began_, op.step);
    hints.expected_start = expected.start;
    hints.jitter = expected.jitter;
    return hints;
}

}  // namespace csaud::collectives
