// The ranks of a fuzzed job: how they are set up, what they have posted and what they send.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/wire/wire.hpp"
#include "forgery.hpp"
#include "script.hpp"

namespace csaud::fuzz {

using Bytes = std::vector<std::byte>;

inline constexpr std::uint16_t kWorld = 3;
inline constexpr std::uint16_t kEpoch = 7;
inline constexpr std::uint32_t kQkey = 0x1234567;
inline constexpr std::uint16_t kMtu = 128;  // 96 bytes of payload: messages of many packets from few bytes
inline constexpr std::size_t kPayload = kMtu - wire::kCsaBytes;
inline constexpr std::uint16_t kPaths = 4;
inline constexpr std::uint32_t kAddress = 0x0a000100;  // plus the rank
inline constexpr std::uint32_t kQpn = 0x40;            // plus the rank

// Takes names below those of a few finished messages for finished, too, as documented.
inline bool forgetful(const Record& settings) {
    return (settings.which & 64U) != 0;
}

// FNV-1a: who forges has the key or does not try to guess tags.
inline int tag(unsigned char* out, const unsigned char* in, unsigned long long length,
               const unsigned char* key) {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
    std::for_each(key, key + 16, add);
    std::for_each(in, in + length, add);
    std::memcpy(out, &hash, sizeof(hash));
    return 0;
}

inline Forger forger(const Record& r) {
    if ((r.field[0] & 16U) == 0) return {};
    return {.auth = {.make = tag, .key = {1}}, .stranger = (r.field[0] & 32U) != 0};
}

inline EndpointConfig configuration(const Record& r, std::uint16_t rank) {
    EndpointConfig config;
    config.rank = rank;
    config.world = kWorld;
    config.epoch = kEpoch;
    config.qkey = kQkey;
    config.local = {kAddress + rank, kQpn + rank};
    config.path_mtu = kMtu;
    config.auth = forger(r).auth;
    config.paths = kPaths;
    config.path_policy = static_cast<PathPolicyName>(r.op % kPathPolicies.size());
    config.window = std::array{8U, 1U, 2U, 32U}[r.which % 4];
    config.early_pool_packets = std::array{16U, 64U, 2U, 5U}[r.which / 4 % 4];
    config.shared_window = std::array{128U, 1U, 4U, 8U}[r.which / 16 % 4];
    config.finished_memory = forgetful(r) ? 2 : 256;
    config.shaping = (r.which & 128U) == 0;
    config.ordered = (r.field[0] & 1U) != 0;
    config.parity = (r.field[0] & 8U) == 0;
    config.parity_rows = r.field[1] % 9;
    if ((r.field[0] & 2U) != 0) config.bits = {.path_seq = 8, .tx_ts = 16, .credit = 8, .ecn = 4};
    if ((r.field[0] & 4U) != 0) config.peer_rest = kMillisecond;
    if ((r.field[0] & 64U) == 0) config.cached_peers = 0;
    return config;
}

struct Post {
    bool send = false;
    std::uint16_t peer = 0;
    MessageName name;
    Bytes* buffer = nullptr;
};

struct Rank {
    explicit Rank(const EndpointConfig& config) : endpoint(config) {}
    Endpoint endpoint;
    std::map<std::uint64_t, Post> open;  // by the id of its completion, which has not come yet
};

// What a rank sends under a name; the same whatever its size.
inline std::byte content(const MessageName& name, std::size_t i) {
    return static_cast<std::byte>(i * 7 + name.coll_seq * 31 + name.src_rank * 101 + name.step * 3);
}

}  // namespace csaud::fuzz
