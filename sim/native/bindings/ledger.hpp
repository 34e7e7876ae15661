// The ledger of a simulation and the figures of its links, as Python has them.
#pragma once

#include <string>
#include <vector>

#include "columns.hpp"
#include "csaud_sim/hosts/ledger.hpp"
#include "csaud_sim/network/network.hpp"

namespace csaud::sim::python {

inline nb::dict figures_of(const Ledger& ledger, const Network& network) {
    const CopyFigures& figures = ledger.copies.figures();
    nb::dict values;
    values["data_bytes"] = figures.data_bytes;
    values["retransmitted_bytes"] = figures.retransmitted_bytes;
    values["spurious_bytes"] = figures.spurious_bytes;
    values["duplicate_bytes"] = figures.duplicate_bytes;
    values["control_bytes"] = figures.control_bytes;
    values["reassembly_bytes"] = figures.reassembly_bytes;
    values["parity_lost"] = figures.parity_lost;
    values["link_lost"] = network.data_lost();
    return values;
}

inline nb::dict messages_of(const Messages& all) {
    const std::vector<Message>& messages = all.over();
    nb::dict columns;
    columns["src"] = column<std::uint16_t>(messages, [](const Message& m) { return m.src; });
    columns["dst"] = column<std::uint16_t>(messages, [](const Message& m) { return m.dst; });
    columns["comm"] = column<std::uint16_t>(messages, [](const Message& m) { return m.comm; });
    columns["collective"] = column<std::uint32_t>(messages, [](const Message& m) { return m.collective; });
    columns["bytes"] = column<std::uint64_t>(messages, [](const Message& m) { return m.bytes; });
    columns["posted_ns"] = column<std::int64_t>(messages, [](const Message& m) { return m.posted; });
    columns["arrived_ns"] = column<std::int64_t>(messages, [](const Message& m) { return m.arrived; });
    return columns;
}

// Of each of `links`, whose figures `of` gives.
template <class Links, class Of>
void add_figures(nb::dict& columns, const Links& links, Of of) {
    columns["frames"] = column<std::uint64_t>(links, [of](const auto& l) { return of(l).frames; });
    columns["bytes"] = column<std::uint64_t>(links, [of](const auto& l) { return of(l).bytes; });
    columns["data"] = column<std::uint64_t>(links, [of](const auto& l) { return of(l).data; });
    columns["busy_ns"] = column<std::int64_t>(links, [of](const auto& l) { return of(l).busy; });
    for (const auto& [name, share] :
         {std::pair{"queue_p50_ns", 0.5}, {"queue_p99_ns", 0.99}, {"queue_max_ns", 1.0}})
        columns[name] = column<std::uint64_t>(
            links, [of, share](const auto& l) { return of(l).waits.percentile(share); });
}

// What ports of switches sent; ports that sent nothing are left out.
inline nb::dict links_of(const Network& network) {
    std::vector<const Channel*> links;
    nb::list from, to;
    for (const auto& channel : network.channels()) {
        if (channel->from() == nullptr || channel->figures().frames == 0) continue;
        links.push_back(channel.get());
        from.append(channel->from()->config().name);
        to.append(channel->to() == nullptr ? std::string() : channel->to()->config().name);
    }
    nb::dict columns;
    columns["switch"] = from;
    columns["to"] = to;
    columns["port"] = column<std::uint32_t>(links, [](const Channel* c) { return c->port().id; });
    add_figures(columns, links, [](const Channel* c) -> const LinkFigures& { return c->figures(); });
    return columns;
}

}  // namespace csaud::sim::python
