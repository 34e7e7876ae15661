#include "qpn_claim.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include "sockets.hpp"

namespace csaud::device {

std::optional<FileDescriptor> claim_qpn(std::uint32_t ipv4, std::uint32_t qpn) {
    FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) throw_errno("open a UNIX socket");
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    // The leading zero byte makes it abstract.
    const std::string text = std::string(1, '\0') + "csaud/qp/" + to_text(ipv4) + "/" + std::to_string(qpn);
    std::ranges::copy(text, name.sun_path);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0) return fd;
    if (errno == EADDRINUSE) return std::nullopt;
    throw_errno("claim QP number " + std::to_string(qpn));
}

}  // namespace csaud::device
