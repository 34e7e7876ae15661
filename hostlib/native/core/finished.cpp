#include "finished.hpp"

#include "sequence.hpp"

namespace csaud {
namespace {
constexpr Serial kCollSeq(32);
}

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
            *mark = kCollSeq.later(*mark, old.coll_seq);
        } else {
            watermarks_.put(stream, old.coll_seq);
        }
    }
    names_.put(name, {});
}

bool FinishedMessages::contains(const MessageName& name) const noexcept {
    if (names_.find(name) != nullptr) return true;
    const std::uint32_t* mark = watermarks_.find({name.src_rank, name.comm});
    return mark != nullptr && kCollSeq.at_or_before(name.coll_seq, *mark);
}

}  // namespace csaud
