#include "setup.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "csaud_switch/control/control.hpp"
#include "frames.hpp"

namespace csaud::sw::bench {

namespace {

constexpr std::uint32_t kBucketsOfAGroup = 64;
constexpr std::uint32_t kNetwork = 0x0A000000;  // 10.0.0.0/8

Bytes bytes_of(std::uint64_t value, std::size_t size) {
    Bytes out(size);
    for (std::size_t i = size; i-- > 0; value >>= 8) out[i] = static_cast<std::uint8_t>(value);
    return out;
}

MatchField exact(std::uint64_t value, std::size_t size) {
    return {MatchField::Kind::kExact, bytes_of(value, size), {}, 0};
}

MatchField ternary(std::uint64_t value, std::uint64_t mask, std::size_t size) {
    if (mask == 0) return {};
    return {MatchField::Kind::kTernary, bytes_of(value & mask, size), bytes_of(mask, size), 0};
}

EntrySpec entry(std::vector<MatchField> match, const std::string& action, std::vector<Bytes> parameters,
                int priority = 0) {
    EntrySpec spec{std::move(match), priority, {}};
    spec.action.name = "CsaudIngress." + action;
    spec.action.parameters = std::move(parameters);
    return spec;
}

std::uint32_t groups_of(const Fill& fill) {
    return std::max<std::uint32_t>(1, (fill.buckets + kBucketsOfAGroup - 1) / kBucketsOfAGroup);
}

struct Route {
    std::uint32_t prefix;
    int length;
    std::uint32_t group;
};

// Prefixes of /16 to /32, all different; only /24 where they are no more than what groups need.
std::vector<Route> routes_of(const Fill& fill, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::uint32_t groups = groups_of(fill);
    const std::uint32_t count = std::max(fill.routes, groups);
    std::set<std::pair<std::uint32_t, int>> taken;
    std::vector<Route> routes;
    while (routes.size() < count) {
        const int length = fill.routes > groups ? 16 + static_cast<int>(random() % 17) : 24;
        const std::uint32_t mask = ~std::uint32_t{0} << (32 - length);
        const std::uint32_t prefix = (kNetwork | static_cast<std::uint32_t>(random() & 0xFFFFFF)) & mask;
        if (!taken.emplace(prefix, length).second) continue;
        routes.push_back({prefix, length, 1 + static_cast<std::uint32_t>(routes.size()) % groups});
    }
    return routes;
}

struct Policy {
    std::uint16_t comm, comm_mask;
    std::uint8_t cls, cls_mask;
    std::uint8_t asked, asked_mask;
    int priority;
};

std::vector<Policy> policies_of(const Fill& fill, std::uint64_t seed) {
    std::mt19937_64 random(seed + 1);
    std::vector<Policy> masks;
    std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
    while (masks.size() < fill.masks) {
        Policy policy{};
        policy.comm_mask = static_cast<std::uint16_t>(masks.empty() ? 0xFFFF : random() | random());
        policy.cls_mask = static_cast<std::uint8_t>(random() % 8);
        policy.asked_mask = static_cast<std::uint8_t>(random() % 16);
        if (seen.emplace(policy.comm_mask, policy.cls_mask, policy.asked_mask).second)
            masks.push_back(policy);
    }
    std::set<std::tuple<unsigned, unsigned, unsigned, std::size_t>> taken;
    std::vector<Policy> policies;
    while (policies.size() < fill.policies) {
        const std::size_t which = random() % masks.size();
        Policy policy = masks[which];
        policy.comm = static_cast<std::uint16_t>(random() & policy.comm_mask);
        policy.cls = static_cast<std::uint8_t>(random() & policy.cls_mask);
        policy.asked = static_cast<std::uint8_t>(random() & policy.asked_mask);
        policy.priority = 1 + static_cast<int>(random() % 10'000);
        if (taken.emplace(policy.comm, policy.cls, policy.asked, which).second) policies.push_back(policy);
    }
    return policies;
}

std::vector<Bytes> spray_parameters(const std::string& spray) {
    const Bytes seed{7};
    if (spray == "flowlet") return {seed, {100}};
    if (spray == "ecmp" || spray == "entropy" || spray == "random" || spray == "least_queue") return {seed};
    return {};
}

}  // namespace

std::string describe(const Fill& fill, std::uint64_t seed) {
    nlohmann::json document;
    document["groups"] = groups_of(fill);
    document["buckets"] = fill.buckets;
    document["buckets_of_a_group"] = kBucketsOfAGroup;
    document["routes"] = nlohmann::json::array();
    for (const Route& route : routes_of(fill, seed))
        document["routes"].push_back({route.prefix, route.length, route.group});
    document["policies"] = nlohmann::json::array();
    for (const Policy& policy : policies_of(fill, seed))
        document["policies"].push_back({policy.asked & policy.asked_mask, policy.asked_mask,
                                        policy.cls & policy.cls_mask, policy.cls_mask,
                                        policy.comm & policy.comm_mask, policy.comm_mask, policy.priority});
    return document.dump();
}

std::string with_sizes(const std::string& bmv2_json, const Fill& fill) {
    auto document = nlohmann::json::parse(bmv2_json);
    const std::uint32_t needed = std::max({fill.routes, fill.policies, fill.buckets, groups_of(fill)});
    for (auto& pipeline : document["pipelines"])
        for (auto& table : pipeline["tables"])
            if (!table.contains("entries") || table["entries"].empty())
                table["max_size"] = std::max<std::uint32_t>(table.value("max_size", 1024U), needed);
    return document.dump();
}

void configure(Switch& target, const Fill& fill, std::uint64_t seed) {
    Control control(target);
    const std::string profile = "CsaudIngress.spray.path_selector";
    GroupSpec group{1, {}, 0};
    for (PortId port = 1; port <= kPaths; ++port) {
        ActionSpec forward;
        forward.name = "CsaudIngress.spray.forward";
        forward.parameters = {{static_cast<std::uint8_t>(port)}};
        control.member_insert(profile, port, forward);
        group.members.push_back({port, 1, port});
    }
    control.group_insert(profile, group);
    for (std::uint32_t number = 1; number <= groups_of(fill); ++number) {
        EntrySpec paths{{exact(number, 2)}, 0, {}};
        paths.action.kind = Binding::Kind::kGroup;
        paths.action.id = 1;
        control.table_insert("CsaudIngress.spray.paths", paths);
    }
    for (const Route& route : routes_of(fill, seed))
        control.table_insert(
            "CsaudIngress.route.ipv4_lpm",
            entry({MatchField{MatchField::Kind::kLpm, bytes_of(route.prefix, 4), {}, route.length}},
                  "route.set_group", {bytes_of(route.group, 2)}));
    for (const Policy& policy : policies_of(fill, seed))
        control.table_insert("CsaudIngress.spray.policy",
                             entry({{},
                                    {},
                                    ternary(policy.asked, policy.asked_mask, 1),
                                    ternary(policy.cls, policy.cls_mask, 1),
                                    ternary(policy.comm, policy.comm_mask, 2)},
                                   "spray." + fill.spray, spray_parameters(fill.spray), policy.priority));
    for (std::uint32_t i = 0; i < fill.buckets; ++i)
        control.table_insert("CsaudIngress.spray.buckets",
                             entry({exact(1 + i / kBucketsOfAGroup, 2), exact(i % kBucketsOfAGroup, 1)},
                                   "spray.set_index", {bytes_of(i % kPaths, 2)}));
}

std::vector<std::vector<std::uint8_t>> packets(const Fill& fill, std::size_t count, std::size_t bytes,
                                               std::uint64_t seed) {
    std::mt19937_64 random(seed + 2);
    const std::vector<Route> routes = routes_of(fill, seed);
    const std::vector<Policy> policies = policies_of(fill, seed);
    std::vector<std::vector<std::uint8_t>> frames;
    for (std::size_t i = 0; i < count; ++i) {
        const Route& route = routes[random() % routes.size()];
        const Policy& policy = policies[random() % policies.size()];
        const auto host =
            static_cast<std::uint32_t>(random() & ((std::uint64_t{1} << (32 - route.length)) - 1));
        CsaFields fields;
        fields.path = static_cast<std::uint16_t>(random());
        fields.comm = static_cast<std::uint16_t>(policy.comm | (random() & ~policy.comm_mask));
        fields.cls = static_cast<std::uint8_t>(policy.cls | (random() & ~policy.cls_mask & 7U));
        fields.asked = static_cast<std::uint8_t>(policy.asked | (random() & ~policy.asked_mask & 15U));
        frames.push_back(data_frame(bytes, route.prefix | host, fields));
    }
    return frames;
}

}  // namespace csaud::sw::bench
