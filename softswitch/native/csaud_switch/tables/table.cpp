#include "csaud_switch/tables/table.hpp"

#include <algorithm>
#include <array>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

void Table::prepare() {
    key_words = 0;
    sources_.clear();
    exact_words_.clear();
    other_words_.clear();
    std::size_t prefixes = 0;
    bool others = false;
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
        KeyField& field = keys[i];
        field.word = key_words;
        for (std::uint32_t w = 0; w < words_for(field.source.width); ++w) {
            (field.kind == MatchKind::kExact ? exact_words_ : other_words_).push_back(key_words + w);
            sources_.push_back({field.source.slot + w, static_cast<std::uint64_t>(field.mask >> (64 * w))});
        }
        key_words += words_for(field.source.width);
        if (field.kind == MatchKind::kLpm) {
            ++prefixes;
            lpm_key_ = i;
        } else if (field.kind != MatchKind::kExact) {
            others = true;
        }
        if (field.kind == MatchKind::kRange) {
            has_range_ = true;
            if (field.source.width > 64)
                throw ProgramError("table '" + name + "': range key '" + field.name +
                                   "' of more than 64 bits");
        }
    }
    if (key_words > kMaxKeyWords)
        throw ProgramError("table '" + name + "': key of more than " + std::to_string(kMaxKeyWords) +
                           " words");
    kind_ = others || prefixes > 1 ? Kind::kPriority : (prefixes == 1 ? Kind::kLpm : Kind::kExact);
    exact_ = WordIndex<Entry>(key_words);
    bucket_index_ = WordIndex<Bucket>(static_cast<std::uint32_t>(exact_words_.size()));
}

Entry* Table::lookup(const std::uint64_t* slots) const {
    if (entries_.empty()) return nullptr;
    std::array<std::uint64_t, kMaxKeyWords> key;
    for (std::uint32_t i = 0; i < key_words; ++i) key[i] = slots[sources_[i].slot] & sources_[i].mask;
    switch (kind_) {
        case Kind::kExact:
            return exact_.find(key.data());
        case Kind::kLpm: {
            std::array<std::uint64_t, kMaxKeyWords> masked;
            for (const auto& prefix : prefixes_) {
                for (std::uint32_t i = 0; i < key_words; ++i) masked[i] = key[i] & prefix->mask[i];
                if (Entry* entry = prefix->index.find(masked.data())) return entry;
            }
            return nullptr;
        }
        case Kind::kPriority: {
            std::array<std::uint64_t, kMaxKeyWords> exact;
            for (std::size_t i = 0; i < exact_words_.size(); ++i) exact[i] = key[exact_words_[i]];
            const Bucket* bucket = bucket_index_.find(exact.data());
            if (bucket == nullptr) return nullptr;
            for (Entry* entry : bucket->entries)
                if (matches(*entry, key.data())) return entry;
            return nullptr;
        }
    }
    return nullptr;
}

bool Table::matches(const Entry& entry, const std::uint64_t* key) const {
    if (has_range_) {
        for (const KeyField& field : keys) {
            if (field.kind == MatchKind::kRange) {
                const std::uint64_t value = key[field.word];
                if (value < entry.key[field.word] || value > entry.mask[field.word]) return false;
                continue;
            }
            for (std::uint32_t w = field.word; w < field.word + words_for(field.source.width); ++w)
                if ((key[w] & entry.mask[w]) != entry.key[w]) return false;
        }
        return true;
    }
    for (const std::uint32_t w : other_words_)
        if ((key[w] & entry.mask[w]) != entry.key[w]) return false;
    return true;
}

std::vector<std::uint64_t> Table::exact_part(const std::uint64_t* key) const {
    std::vector<std::uint64_t> part;
    for (const std::uint32_t w : exact_words_) part.push_back(key[w]);
    return part;
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
            entry.prefix = prefix;
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
    for (std::size_t i = 0; i < keys.size(); ++i) parse_field(keys[i], match[i], entry);
    return entry;
}

Entry* Table::find_same(const Entry& wanted) const {
    switch (kind_) {
        case Kind::kExact:
            return exact_.find(wanted.key.data());
        case Kind::kLpm:
            for (const auto& prefix : prefixes_)
                if (prefix->length == wanted.prefix) return prefix->index.find(wanted.key.data());
            return nullptr;
        case Kind::kPriority: {
            const Bucket* bucket = bucket_index_.find(exact_part(wanted.key.data()).data());
            if (bucket == nullptr) return nullptr;
            for (Entry* entry : bucket->entries)
                if (entry->priority == wanted.priority && entry->key == wanted.key &&
                    entry->mask == wanted.mask)
                    return entry;
            return nullptr;
        }
    }
    return nullptr;
}

void Table::index(Entry* entry) {
    switch (kind_) {
        case Kind::kExact:
            exact_.insert(entry);
            break;
        case Kind::kLpm: {
            auto at = prefixes_.begin();
            while (at != prefixes_.end() && (*at)->length > entry->prefix) ++at;
            if (at == prefixes_.end() || (*at)->length != entry->prefix)
                at = prefixes_.insert(at, std::make_unique<Prefix>(Prefix{entry->prefix, entry->mask,
                                                                          WordIndex<Entry>(key_words)}));
            (*at)->index.insert(entry);
            break;
        }
        case Kind::kPriority: {
            std::vector<std::uint64_t> part = exact_part(entry->key.data());
            Bucket* bucket = bucket_index_.find(part.data());
            if (bucket == nullptr) {
                buckets_.push_back(std::make_unique<Bucket>(Bucket{std::move(part), {}}));
                bucket = buckets_.back().get();
                bucket_index_.insert(bucket);
            }
            const auto at =
                std::upper_bound(bucket->entries.begin(), bucket->entries.end(), entry,
                                 [](const Entry* a, const Entry* b) { return a->priority > b->priority; });
            bucket->entries.insert(at, entry);
            break;
        }
    }
}

void Table::unindex(const Entry* entry) {
    switch (kind_) {
        case Kind::kExact:
            exact_.erase(entry);
            break;
        case Kind::kLpm:
            std::erase_if(prefixes_, [entry](const std::unique_ptr<Prefix>& prefix) {
                if (prefix->length != entry->prefix) return false;
                prefix->index.erase(entry);
                return prefix->index.size() == 0;
            });
            break;
        case Kind::kPriority: {
            Bucket* bucket = bucket_index_.find(exact_part(entry->key.data()).data());
            std::erase(bucket->entries, entry);
            if (!bucket->entries.empty()) break;
            bucket_index_.erase(bucket);
            std::erase_if(buckets_, [bucket](const std::unique_ptr<Bucket>& b) { return b.get() == bucket; });
            break;
        }
    }
}

Entry& Table::insert(const std::vector<MatchField>& match, int priority, Binding binding, bool constant) {
    Entry parsed = parse(match, priority);
    if (find_same(parsed) != nullptr) throw AlreadyExists("table '" + name + "': this entry already exists");
    if (entries_.size() >= size)
        throw ResourceExhausted("table '" + name + "' holds " + std::to_string(size) + " entries at most");
    parsed.serial = next_serial_++;
    parsed.constant = constant;
    parsed.binding = std::move(binding);
    if (watches_hits()) parsed.watch = std::make_unique<EntryWatch>();
    entries_.push_back(std::make_unique<Entry>(std::move(parsed)));
    index(entries_.back().get());
    return *entries_.back();
}

Entry& Table::find(const std::vector<MatchField>& match, int priority) {
    Entry* found = find_same(parse(match, priority));
    if (found == nullptr) throw NotFound("table '" + name + "': no such entry");
    return *found;
}

void Table::erase(const Entry& entry) {
    unindex(&entry);
    // Order of insertion is restored from the serial numbers when entries are listed.
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&entry](const std::unique_ptr<Entry>& e) { return e.get() == &entry; });
    std::swap(*at, entries_.back());
    entries_.pop_back();
}

void Table::clear() {
    entries_.clear();
    prefixes_.clear();
    buckets_.clear();
    exact_ = WordIndex<Entry>(key_words);
    bucket_index_ = WordIndex<Bucket>(static_cast<std::uint32_t>(exact_words_.size()));
}

std::vector<const Entry*> Table::take_idle(Nanos now) {
    std::vector<const Entry*> idle;
    if (!idle_timeout) return idle;
    for (const auto& entry : entries_) {
        EntryWatch& watch = *entry->watch;
        if (watch.idle_timeout == 0 || watch.idle_told || now - watch.last_hit < watch.idle_timeout) continue;
        watch.idle_told = true;
        idle.push_back(entry.get());
    }
    return idle;
}

std::vector<const Entry*> Table::entries() const {
    std::vector<const Entry*> all;
    for (const auto& entry : entries_) all.push_back(entry.get());
    std::sort(all.begin(), all.end(), [](const Entry* a, const Entry* b) { return a->serial < b->serial; });
    return all;
}

}  // namespace csaud::sw
