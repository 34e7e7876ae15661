#include "csaud_switch/tables/tuple_space.hpp"

#include <algorithm>
#include <numeric>

namespace csaud::sw {

namespace {

std::vector<std::uint32_t> first_words(std::uint32_t count) {
    std::vector<std::uint32_t> words(count);
    std::iota(words.begin(), words.end(), 0U);
    return words;
}

}  // namespace

TupleSpace::TupleSpace(std::vector<std::uint8_t> widths, std::uint32_t first_range)
    : widths_(std::move(widths)),
      words_(static_cast<std::uint32_t>(widths_.size())),
      first_range_(first_range),
      by_mask_(first_words(first_range), widths_) {}

Entry* TupleSpace::recall(const std::uint64_t* key) {
    if (remembered_.empty()) remembered_.resize(kRememberedFirst);
    std::uint64_t hash = 0;
    for (std::uint32_t w = 0; w < words_; ++w) hash = (hash + key[w]) * 0x9E3779B97F4A7C15ULL;
    Remembered* place = &remembered_[(hash >> 32) % remembered_.size()];
    if (place->version == version_) {
        if (std::equal(key, key + words_, place->key.begin())) return place->entry;
        if (++driven_out_ == remembered_.size() && remembered_.size() < kRemembered) {
            remembered_.assign(4 * remembered_.size(), {});
            driven_out_ = 0;
            place = &remembered_[(hash >> 32) % remembered_.size()];
        }
    }
    place->version = version_;
    place->entry = search(key);
    std::copy_n(key, words_, place->key.begin());
    return place->entry;
}

Entry* TupleSpace::search(const std::uint64_t* key) const {
    Entry* best = nullptr;
    for (const auto& tuple : tuples_) {
        if (best != nullptr && best->rank > tuple->top) break;
        const std::uint64_t* mask = tuple->key.data();
        const std::uint64_t hash = tuple->index.hash(key, mask);
        if (!tuple->index.may_have(hash)) continue;
        for (Entry* entry = tuple->index.find(key, mask, hash); entry != nullptr; entry = entry->next) {
            if (best != nullptr && best->precedes(*entry)) break;
            if (!in_ranges(*entry, key)) continue;
            best = entry;
            break;
        }
    }
    return best;
}

bool TupleSpace::in_ranges(const Entry& entry, const std::uint64_t* key) const {
    for (std::uint32_t w = first_range_; w < words_; ++w)
        if (key[w] < entry.key[w] || key[w] > entry.mask[w]) return false;
    return true;
}

Words TupleSpace::masks_of(const Entry& entry) const {
    Words masks(first_range_);
    std::copy_n(entry.mask.begin(), first_range_, masks.data());
    return masks;
}

TupleSpace::Tuple* TupleSpace::tuple_of(const Entry& entry) const {
    return by_mask_.find(entry.mask.data());
}

TupleSpace::Tuple& TupleSpace::make_tuple(const Entry& entry) {
    std::vector<std::uint32_t> words;
    for (std::uint32_t w = 0; w < first_range_; ++w)
        if (entry.mask[w] != 0) words.push_back(w);
    auto tuple = std::make_unique<Tuple>();
    tuple->key = masks_of(entry);
    tuple->index = WordIndex<Entry>(words, widths_);
    tuple->top = entry.rank;
    by_mask_.insert(tuple.get());
    tuples_.push_back(std::move(tuple));
    return *tuples_.back();
}

Entry* TupleSpace::find_same(const Entry& wanted) const {
    const Tuple* tuple = tuple_of(wanted);
    if (tuple == nullptr) return nullptr;
    for (Entry* entry = tuple->index.find(wanted.key.data()); entry != nullptr; entry = entry->next)
        if (entry->rank == wanted.rank && entry->key == wanted.key && entry->mask == wanted.mask)
            return entry;
    return nullptr;
}

void TupleSpace::insert(Entry* entry) {
    ++version_;
    Tuple* tuple = tuple_of(*entry);
    if (tuple == nullptr) tuple = &make_tuple(*entry);
    Entry* first = tuple->index.find(entry->key.data());
    if (first == nullptr) {
        entry->next = nullptr;
        tuple->index.insert(entry);
    } else if (entry->precedes(*first)) {
        entry->next = first;
        tuple->index.replace(first, entry);
    } else {
        Entry* before = first;
        while (before->next != nullptr && before->next->precedes(*entry)) before = before->next;
        entry->next = before->next;
        before->next = entry;
    }
    ++tuple->ranks[entry->rank];
    move(*tuple);
}

void TupleSpace::erase(Entry* entry) {
    ++version_;
    Tuple* tuple = tuple_of(*entry);
    Entry* first = tuple->index.find(entry->key.data());
    if (first == entry) {
        if (entry->next == nullptr) {
            tuple->index.erase(entry);
        } else {
            tuple->index.replace(entry, entry->next);
        }
    } else {
        Entry* before = first;
        while (before->next != entry) before = before->next;
        before->next = entry->next;
    }
    if (--tuple->ranks[entry->rank] == 0) tuple->ranks.erase(entry->rank);
    if (tuple->ranks.empty()) {
        by_mask_.erase(tuple);
        std::erase_if(tuples_, [tuple](const std::unique_ptr<Tuple>& t) { return t.get() == tuple; });
        return;
    }
    move(*tuple);
}

void TupleSpace::clear() {
    ++version_;
    tuples_.clear();
    by_mask_ = WordIndex<Tuple>(first_words(first_range_), widths_);
}

// To its place by rank, after its entries have changed.
void TupleSpace::move(Tuple& tuple) {
    const int top = tuple.ranks.rbegin()->first;
    if (top == tuple.top && tuple.placed) return;
    tuple.top = top;
    tuple.placed = true;
    const auto at = std::find_if(tuples_.begin(), tuples_.end(),
                                 [&tuple](const std::unique_ptr<Tuple>& t) { return t.get() == &tuple; });
    auto to = at;
    while (to != tuples_.begin() && (*std::prev(to))->top < tuple.top) --to;
    if (to != at) {
        std::rotate(to, at, std::next(at));
        return;
    }
    while (std::next(to) != tuples_.end() && (*std::next(to))->top > tuple.top) ++to;
    std::rotate(at, std::next(at), std::next(to));
}

}  // namespace csaud::sw
