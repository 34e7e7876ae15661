#include "csaud_switch/control/state.hpp"

#include <algorithm>
#include <cmath>

#include "csaud_switch/base/error.hpp"

namespace csaud::sw {

Count& StateControl::counter(const std::string& name, std::uint64_t index) {
    CounterArray& counter = program_.counter(name);
    if (!counter.table.empty())
        throw InvalidArgument("counter '" + name + "' is the direct counter of table '" + counter.table +
                              "'");
    if (index >= counter.cells.size())
        throw NotFound("counter '" + name + "' has no index " + std::to_string(index) + ", its size is " +
                       std::to_string(counter.cells.size()));
    return counter.cells[index];
}

Meter& StateControl::meter(const std::string& name, std::uint64_t index) {
    MeterArray& meter = program_.meter(name);
    if (!meter.table.empty())
        throw InvalidArgument("meter '" + name + "' is the direct meter of table '" + meter.table + "'");
    if (index >= meter.cells.size())
        throw NotFound("meter '" + name + "' has no index " + std::to_string(index) + ", its size is " +
                       std::to_string(meter.cells.size()));
    return meter.cells[index];
}

Meter& StateControl::direct_meter(const std::string& name, const std::vector<MatchField>& match,
                                  int priority) {
    Table& table = program_.table(name);
    if (!table.direct_meter) throw InvalidArgument("table '" + name + "' has no direct meter");
    return table.find(match, priority).watch->meter;
}

void StateControl::configure(Meter& meter, const std::optional<MeterRates>& rates) {
    if (rates) {
        if (!std::isfinite(rates->cir) || !std::isfinite(rates->pir) || rates->cir < 0 || rates->pir < 0)
            throw InvalidArgument("a meter's rates are numbers from 0 on");
        if (rates->cir > rates->pir)
            throw InvalidArgument("a meter's committed rate cannot be above its peak rate");
    }
    meter.configure(rates);
}

namespace {

void check_index(const RegisterArray& array, std::uint64_t index) {
    if (index >= array.size)
        throw NotFound("register '" + array.name + "' has no index " + std::to_string(index) +
                       ", its size is " + std::to_string(array.size));
}

}  // namespace

UWide StateControl::register_read(const std::string& name, std::uint64_t index) const {
    const RegisterArray& array = program_.register_array(name);
    check_index(array, index);
    const std::uint64_t* words = &array.words[index * words_for(array.width)];
    return array.width > 64 ? UWide{words[1]} << 64 | words[0] : UWide{words[0]};
}

void StateControl::register_write(const std::string& name, std::uint64_t index, UWide value) {
    RegisterArray& array = program_.register_array(name);
    check_index(array, index);
    if ((value & ~mask128(array.width)) != 0)
        throw InvalidArgument("register '" + name + "' has " + std::to_string(array.width) + " bits");
    std::uint64_t* words = &array.words[index * words_for(array.width)];
    words[0] = static_cast<std::uint64_t>(value);
    if (array.width > 64) words[1] = static_cast<std::uint64_t>(value >> 64);
}

Entry& StateControl::watched(const std::string& name, const std::vector<MatchField>& match, int priority) {
    Table& table = program_.table(name);
    if (!table.idle_timeout) throw FailedPrecondition("table '" + name + "' does not support idle timeouts");
    return table.find(match, priority);
}

void StateControl::table_set_idle_timeout(const std::string& table, const std::vector<MatchField>& match,
                                          int priority, Nanos timeout) {
    if (timeout < 0) throw InvalidArgument("table '" + table + "': an idle timeout cannot be negative");
    EntryWatch& watch = *watched(table, match, priority).watch;
    watch.idle_timeout = timeout;
    watch.last_hit = now_;
    watch.idle_told = false;
}

const EntryWatch& StateControl::idle_watch(const std::string& table, const std::vector<MatchField>& match,
                                           int priority) {
    return *watched(table, match, priority).watch;
}

std::vector<IdleEntry> StateControl::take_idle() {
    std::vector<IdleEntry> all;
    for (const auto& table : program_.tables)
        for (const Entry* entry : table->take_idle(now_))
            all.push_back({table->name, entry->match, entry->priority});
    return all;
}

namespace {

std::vector<std::uint64_t> parse_member(const ValueSet& set, const std::vector<Bytes>& member) {
    if (member.size() != set.widths.size())
        throw InvalidArgument("value set '" + set.name + "': " + std::to_string(member.size()) +
                              " values, expected " + std::to_string(set.widths.size()));
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < member.size(); ++i) {
        std::uint64_t parts[2] = {0, 0};
        parse_value(member[i], set.widths[i], "value set '" + set.name + "'", parts);
        words.push_back(parts[0]);
    }
    return words;
}

void check_size(const ValueSet& set, std::size_t count) {
    if (set.size > 0 && count > set.size)
        throw ResourceExhausted("value set '" + set.name + "' holds " + std::to_string(set.size) +
                                " members at most");
}

}  // namespace

std::vector<std::vector<Bytes>> StateControl::value_set_members(const std::string& name) const {
    const ValueSet& set = program_.value_set(name);
    std::vector<std::vector<Bytes>> all;
    for (const std::vector<std::uint64_t>& member : set.members) {
        std::vector<Bytes> values;
        for (std::size_t i = 0; i < member.size(); ++i)
            values.push_back(format_value(&member[i], set.widths[i]));
        all.push_back(std::move(values));
    }
    return all;
}

void StateControl::value_set_replace(const std::string& name,
                                     const std::vector<std::vector<Bytes>>& members) {
    ValueSet& set = program_.value_set(name);
    std::vector<std::vector<std::uint64_t>> parsed;
    for (const std::vector<Bytes>& member : members) parsed.push_back(parse_member(set, member));
    std::sort(parsed.begin(), parsed.end());
    parsed.erase(std::unique(parsed.begin(), parsed.end()), parsed.end());
    check_size(set, parsed.size());
    set.members = std::move(parsed);
}

void StateControl::value_set_insert(const std::string& name, const std::vector<Bytes>& member) {
    ValueSet& set = program_.value_set(name);
    std::vector<std::uint64_t> parsed = parse_member(set, member);
    const auto at = std::lower_bound(set.members.begin(), set.members.end(), parsed);
    if (at != set.members.end() && *at == parsed)
        throw AlreadyExists("value set '" + name + "' already has this member");
    check_size(set, set.members.size() + 1);
    set.members.insert(at, std::move(parsed));
}

void StateControl::value_set_delete(const std::string& name, const std::vector<Bytes>& member) {
    ValueSet& set = program_.value_set(name);
    const std::vector<std::uint64_t> parsed = parse_member(set, member);
    const auto at = std::lower_bound(set.members.begin(), set.members.end(), parsed);
    if (at == set.members.end() || *at != parsed)
        throw NotFound("value set '" + name + "' has no such member");
    set.members.erase(at);
}

void StateControl::digest_enable(const std::string& name, bool enabled) {
    program_.digest(name).enabled = enabled;
}

std::vector<DigestMessage> StateControl::take_digests() {
    std::vector<DigestMessage> all;
    for (const DigestSample& sample : switch_.take_digests()) {
        const Digest& digest = program_.digests[sample.digest];
        DigestMessage message{digest.name, {}, sample.time};
        std::size_t at = 0;
        for (const Digest::Element& element : digest.elements) {
            message.values.push_back(format_value(&sample.words[at], element.field.width));
            at += words_for(element.field.width);
        }
        all.push_back(std::move(message));
    }
    return all;
}

}  // namespace csaud::sw
