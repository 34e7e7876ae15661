#include "qpn_claim.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "mailbox.hpp"
#include "sockets.hpp"

namespace csaud::device {

std::optional<FileDescriptor> claim_qpn(const std::string& address, std::uint32_t qpn) {
    const shared::MailboxName name(address, qpn);
    FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) throw_errno("open a UNIX socket");
    const auto* bound = reinterpret_cast<const sockaddr*>(&name.address());
    if (::bind(fd.get(), bound, name.length()) == 0) return fd;
    if (errno == EADDRINUSE) return std::nullopt;
    throw_errno("claim QP number " + std::to_string(qpn));
}

}  // namespace csaud::device
