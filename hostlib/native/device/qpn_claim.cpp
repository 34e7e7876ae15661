#include "qpn_claim.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "sockets.hpp"

namespace csaud::device {

std::optional<FileDescriptor> claim_qpn(const std::string& address, std::uint32_t qpn) {
    FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) throw_errno("open a UNIX socket");
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    // The leading zero byte makes it abstract.
    const std::string text = std::string(1, '\0') + "csaud/qp/" + address + "/" + std::to_string(qpn);
    if (text.size() > sizeof name.sun_path) throw std::invalid_argument("an address that is longer than any");
    std::ranges::copy(text, name.sun_path);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0) return fd;
    if (errno == EADDRINUSE) return std::nullopt;
    throw_errno("claim QP number " + std::to_string(qpn));
}

}  // namespace csaud::device
