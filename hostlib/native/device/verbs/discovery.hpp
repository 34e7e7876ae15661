// What RDMA devices there are and what they can do, as libibverbs tells it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace csaud::device::verbs {

struct GidFacts {
    int index = 0;
    int type = 0;                            // enum ibv_gid_type: 0 InfiniBand, 1 RoCE v1, 2 RoCE v2
    std::array<std::uint8_t, 16> address{};  // IPv6, or IPv4 mapped into it
    std::string interface;                   // empty where there is none
};

struct PortFacts {
    int number = 1;
    bool active = false;
    bool ethernet = false;  // RoCE; otherwise InfiniBand
    int mtu = 0;            // path MTU in force, bytes
    int max_mtu = 0;
    std::vector<GidFacts> gids;
};

struct DeviceFacts {
    std::string name;
    std::string error;  // why it cannot be opened; then nothing below is known
    int max_qp = 0;
    int max_qp_wr = 0;
    int max_sge = 0;
    int max_cqe = 0;
    int max_ah = 0;
    int max_mr = 0;
    std::uint64_t max_mr_bytes = 0;
    std::vector<PortFacts> ports;
};

// Throws std::runtime_error where libibverbs is missing, std::system_error where it cannot list.
std::vector<DeviceFacts> find_devices();

}  // namespace csaud::device::verbs
