#include "csaud_switch/tables/table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

void Table::prepare() {
    key_words = 0;
    auto sources = std::make_shared<KeyWords>();
    // Words of ranges come last: they have no part in hashes.
    std::vector<KeyField*> by_place;
    for (KeyField& field : keys)
        if (field.kind != MatchKind::kRange) by_place.push_back(&field);
    for (KeyField& field : keys)
        if (field.kind == MatchKind::kRange) by_place.push_back(&field);
    std::uint32_t first_range = 0;
    for (KeyField* field : by_place) {
        field->word = key_words;
        for (std::uint32_t w = 0; w < words_for(field->source.width); ++w) {
            const unsigned width = std::min(field->source.width - 64 * w, 64U);
            sources->push_back({field->source.slot + w, width,
                                static_cast<std::uint64_t>(field->mask >> (64 * w)) & mask64(width)});
        }
        key_words += words_for(field->source.width);
        if (field->kind != MatchKind::kRange) first_range = key_words;
        if (field->kind == MatchKind::kRange && field->source.width > 64)
            throw ProgramError("table '" + name + "': range key '" + field->name + "' of more than 64 bits");
    }
    if (key_words > kMaxKeyWords)
        throw ProgramError("table '" + name + "': key of more than " + std::to_string(kMaxKeyWords) +
                           " words");
    sources_ = std::move(sources);
    empty(first_range);
}

void Table::empty(std::uint32_t first_range) {
    first_range_ = first_range;
    kind_ = Kind::kEmpty;
    watched_ = watches_hits();
    filled_kind_ = kind_of(*sources_);
    may_be_dense_ = filled_kind_ == Kind::kExact && bits_of(*sources_) <= kDenseBits;
    places_ = 0;
    std::vector<std::uint32_t> all(key_words);
    std::iota(all.begin(), all.end(), 0U);
    std::vector<std::uint8_t> widths;
    for (const KeyWord& word : *sources_) widths.push_back(static_cast<std::uint8_t>(word.width));
    direct_ = {};
    exact_ = WordIndex<Entry>(all, widths);
    tuples_ = TupleSpace(std::move(widths), first_range);
}

Table::Kind Table::kind_of(const KeyWords& sources) const {
    const auto prefixes = std::count_if(keys.begin(), keys.end(),
                                        [](const KeyField& key) { return key.kind == MatchKind::kLpm; });
    const bool others = std::any_of(keys.begin(), keys.end(), [](const KeyField& key) {
        return key.kind != MatchKind::kLpm && key.kind != MatchKind::kExact;
    });
    if (others || prefixes > 1) return Kind::kPriority;
    if (prefixes == 1) return Kind::kLpm;
    return bits_of(sources) <= kDirectBits ? Kind::kDirect : Kind::kExact;
}

// Of an array's places; more than it ever has where not all bits of a field count.
unsigned Table::bits_of(const KeyWords& sources) {
    unsigned bits = 0;
    for (const KeyWord& word : sources) bits += word.mask == mask64(word.width) ? word.width : 64;
    return bits;
}

std::unique_ptr<Table> Table::copy() const {
    auto made = std::make_unique<Table>();
    static_cast<TableSpec&>(*made) = *this;
    made->default_entry = default_entry;
    made->sources_ = sources_;
    made->empty(first_range_);
    for (const Entry* entry : entries())
        made->insert(entry->match, entry->priority, entry->binding, entry->constant);
    return made;
}

Entry* Table::search(const std::uint64_t* slots) {
    std::array<std::uint64_t, kMaxKeyWords> key;
    std::size_t words = 0;
    for (const KeyWord& word : *sources_) key[words++] = slots[word.slot] & word.mask;
    return kind_ == Kind::kExact ? exact_.find(key.data()) : tuples_.lookup(key.data());
}

std::size_t Table::place_of(const Entry& entry) const {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < key_words; ++i) at = at << (*sources_)[i].width | entry.key[i];
    return at;
}

void Table::parse_field(const KeyField& field, const MatchField& match, Entry& entry) const {
    const unsigned width = field.source.width;
    const std::string what = "table '" + name + "', key '" + field.name + "'";
    std::uint64_t* key = &entry.key[field.word];
    std::uint64_t* mask = &entry.mask[field.word];
    const std::uint32_t words = words_for(width);
    const auto set_mask = [&](UWide value) {
        mask[0] = static_cast<std::uint64_t>(value);
        if (words > 1) mask[1] = static_cast<std::uint64_t>(value >> 64);
    };
    const auto expect = [&](bool fits, const char* expected) {
        if (!fits) throw InvalidArgument(what + ": expected " + expected);
    };
    using K = MatchField::Kind;
    switch (field.kind) {
        case MatchKind::kExact:
            expect(match.kind == K::kExact, "an exact value");
            parse_value(match.value, width, what, key);
            set_mask(mask128(width));
            break;
        case MatchKind::kLpm: {
            expect(match.kind == K::kLpm || match.kind == K::kAny, "a prefix or don't care");
            const int prefix = match.kind == K::kAny ? 0 : match.prefix;
            if (prefix < 0 || prefix > static_cast<int>(width))
                throw InvalidArgument(what + ": prefix length " + std::to_string(prefix) + " is not in 0.." +
                                      std::to_string(width));
            if (match.kind == K::kLpm) parse_value(match.value, width, what, key);
            if (!needs_priority()) entry.rank = prefix;
            set_mask(mask128(width) & ~mask128(width - static_cast<unsigned>(prefix)));
            break;
        }
        case MatchKind::kTernary:
            // p4c writes optional keys as ternary ones.
            expect(match.kind == K::kTernary || match.kind == K::kOptional || match.kind == K::kAny,
                   "a value and a mask, an optional value or don't care");
            if (match.kind == K::kOptional) {
                parse_value(match.value, width, what, key);
                set_mask(mask128(width));
            } else if (match.kind == K::kTernary) {
                parse_value(match.value, width, what, key);
                parse_value(match.other, width, what, mask);
            }
            break;
        case MatchKind::kOptional:
            expect(match.kind == K::kOptional || match.kind == K::kAny, "a value or don't care");
            if (match.kind == K::kOptional) {
                parse_value(match.value, width, what, key);
                set_mask(mask128(width));
            }
            break;
        case MatchKind::kRange:
            expect(match.kind == K::kRange || match.kind == K::kAny, "a range or don't care");
            mask[0] = mask64(width);
            if (match.kind == K::kRange) {
                parse_value(match.value, width, what, key);
                parse_value(match.other, width, what, mask);
                if (key[0] > mask[0])
                    throw InvalidArgument(what + ": low end of the range is above its high end");
            }
            return;  // the mask is a bound here
    }
    for (std::uint32_t w = 0; w < words; ++w) key[w] &= mask[w];
}

Entry Table::parse(const std::vector<MatchField>& match, int priority) const {
    if (match.size() != keys.size())
        throw InvalidArgument("table '" + name + "': " + std::to_string(match.size()) +
                              " match fields, expected " + std::to_string(keys.size()));
    if (!needs_priority() && priority != 0)
        throw InvalidArgument("table '" + name + "' has no priorities: expected 0, not " +
                              std::to_string(priority));
    Entry entry;
    entry.key.resize(key_words);
    entry.mask.resize(key_words);
    entry.match = match;
    entry.priority = priority;
    entry.rank = priority;
    for (std::size_t i = 0; i < keys.size(); ++i) parse_field(keys[i], match[i], entry);
    return entry;
}

Entry* Table::find_same(const Entry& wanted) const {
    if (filled_kind_ == Kind::kDirect) {
        const std::size_t at = place_of(wanted);
        return at < direct_.size() ? direct_[at] : nullptr;
    }
    return filled_kind_ == Kind::kExact ? exact_.find(wanted.key.data()) : tuples_.find_same(wanted);
}

Entry& Table::insert(const std::vector<MatchField>& match, int priority, Binding binding, bool constant) {
    Entry parsed = parse(match, priority);
    if (find_same(parsed) != nullptr) throw AlreadyExists("table '" + name + "': this entry already exists");
    if (entry_count() >= size)
        throw ResourceExhausted("table '" + name + "' holds " + std::to_string(size) + " entries at most");
    parsed.serial = next_serial_++;
    parsed.constant = constant;
    parsed.binding = std::move(binding);
    if (watches_hits()) parsed.watch = std::make_unique<EntryWatch>();
    Entry* entry = entries_.make(std::move(parsed));
    index(entry);
    return *entry;
}

void Table::index(Entry* entry) {
    if (may_be_dense_) {
        const std::size_t count = std::max(entry_count(), kFewEntries);
        places_ = std::max(places_, place_of(*entry) + 1);
        if (filled_kind_ == Kind::kDirect) {
            if (places_ > kMostPlaces * count) change_index(Kind::kExact, *entry);
        } else if (std::has_single_bit(entry_count()) && places_ <= kFewPlaces * count) {
            change_index(Kind::kDirect, *entry);
        }
    }
    kind_ = filled_kind_;
    put(entry);
}

void Table::change_index(Kind kind, const Entry& added) {
    filled_kind_ = kind;
    direct_ = {};
    exact_.clear();
    for (Entry* entry : entries_.all())
        if (entry != &added) put(entry);
}

void Table::put(Entry* entry) {
    if (filled_kind_ == Kind::kDirect) {
        const std::size_t at = place_of(*entry);
        if (at >= direct_.size()) direct_.resize(at + 1);
        direct_[at] = entry;
    } else if (filled_kind_ == Kind::kExact) {
        exact_.insert(entry);
    } else {
        tuples_.insert(entry);
    }
}

Entry& Table::find(const std::vector<MatchField>& match, int priority) {
    Entry* found = find_same(parse(match, priority));
    if (found == nullptr) throw NotFound("table '" + name + "': no such entry");
    return *found;
}

void Table::erase(const Entry& gone) {
    Entry* entry = entries_.all()[gone.position];
    if (kind_ == Kind::kDirect) {
        direct_[place_of(*entry)] = nullptr;
    } else if (kind_ == Kind::kExact) {
        exact_.erase(entry);
    } else {
        tuples_.erase(entry);
    }
    if (entry_count() == 1) {
        kind_ = Kind::kEmpty;
        places_ = 0;
    }
    entries_.erase(entry);  // the order of insertion is restored from the serial numbers
}

void Table::clear() {
    entries_.clear();
    empty(first_range_);
}

std::vector<const Entry*> Table::take_idle(Nanos now) {
    std::vector<const Entry*> idle;
    if (!idle_timeout) return idle;
    for (const Entry* entry : entries_.all()) {
        EntryWatch& watch = *entry->watch;
        if (watch.idle_timeout == 0 || watch.idle_told || now - watch.last_hit < watch.idle_timeout) continue;
        watch.idle_told = true;
        idle.push_back(entry);
    }
    return idle;
}

void Table::restart_ages(Nanos now) {
    if (!idle_timeout) return;
    for (const Entry* entry : entries_.all()) {
        entry->watch->last_hit = now;
        entry->watch->idle_told = false;
    }
}

std::vector<const Entry*> Table::entries() const {
    std::vector<const Entry*> all(entries_.all().begin(), entries_.all().end());
    std::sort(all.begin(), all.end(), [](const Entry* a, const Entry* b) { return a->serial < b->serial; });
    return all;
}

}  // namespace csaud::sw
