#include "csaud_host/messages/finished.hpp"

namespace csaud {
namespace {
// Numbers wrap, and a source that sends seldom wakes a watermark that is old: only what lies so far below it
// is finished. No packet is late by so many collectives.
constexpr std::uint32_t kReach = 1U << 24;

bool below(std::uint32_t coll_seq, std::uint32_t mark) noexcept {
    return mark - coll_seq < kReach;
}
}  // namespace

void FinishedMessages::add(const MessageName& name) {
    if (names_.find(name) != nullptr) return;
    if (order_.size() < limit_) {
        order_.push_back(name);
    } else {
        const MessageName old = order_[oldest_];
        order_[oldest_] = name;
        oldest_ = (oldest_ + 1) % limit_;
        names_.erase(old);
        const Stream stream{old.src_rank, old.comm};
        if (std::uint32_t* mark = watermarks_.find(stream)) {
            if (!below(old.coll_seq, *mark)) *mark = old.coll_seq;
        } else {
            watermarks_.put(stream, old.coll_seq);
        }
    }
    names_.put(name, {});
}

bool FinishedMessages::contains(const MessageName& name) const noexcept {
    if (names_.find(name) != nullptr) return true;
    const std::uint32_t* mark = watermarks_.find({name.src_rank, name.comm});
    return mark != nullptr && below(name.coll_seq, *mark);
}

}  // namespace csaud
