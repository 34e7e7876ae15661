// What a control plane does with what a program keeps beside its entries: counters, meters and registers,
// idle timeouts, value sets and digests by name, values as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "csaud_switch/control/control.hpp"

namespace csaud::sw {

struct IdleEntry {
    std::string table;
    std::vector<MatchField> match;
    int priority = 0;
};

struct DigestMessage {
    std::string name;
    std::vector<Bytes> values;  // of its elements, in order
    Nanos time = 0;
};

class StateControl {
  public:
    // now: what entries have been idle until.
    explicit StateControl(Switch& target, Nanos now = 0)
        : switch_(target), program_(target.program()), now_(now) {}

    Count& counter(const std::string& name, std::uint64_t index);

    Meter& meter(const std::string& name, std::uint64_t index);
    Meter& direct_meter(const std::string& table, const std::vector<MatchField>& match, int priority);
    static void configure(Meter& meter, const std::optional<MeterRates>& rates);

    UWide register_read(const std::string& name, std::uint64_t index) const;
    void register_write(const std::string& name, std::uint64_t index, UWide value);

    // Idle timeouts; FailedPrecondition on a table without them.
    void table_set_idle_timeout(const std::string& table, const std::vector<MatchField>& match, int priority,
                                Nanos timeout);
    const EntryWatch& idle_watch(const std::string& table, const std::vector<MatchField>& match,
                                 int priority);
    std::vector<IdleEntry> take_idle();

    std::vector<std::vector<Bytes>> value_set_members(const std::string& name) const;
    void value_set_replace(const std::string& name, const std::vector<std::vector<Bytes>>& members);
    void value_set_insert(const std::string& name, const std::vector<Bytes>& member);
    void value_set_delete(const std::string& name, const std::vector<Bytes>& member);

    void digest_enable(const std::string& name, bool enabled);
    std::vector<DigestMessage> take_digests();

  private:
    Entry& watched(const std::string& table, const std::vector<MatchField>& match, int priority);

    Switch& switch_;
    Program& program_;
    Nanos now_;
};

}  // namespace csaud::sw
