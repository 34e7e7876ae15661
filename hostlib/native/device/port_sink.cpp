#include "port_sink.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "packet_filter.hpp"
#include "sockets.hpp"

namespace csaud::device {

FileDescriptor open_sink(std::uint32_t ipv4, std::uint16_t port) {
    FileDescriptor fd = open_socket(SOCK_DGRAM, 0, "open a UDP socket");
    attach_drop_all_filter(fd);
    set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1, "set SO_REUSEPORT");
    const sockaddr_in local = make_address(ipv4, port);
    // Somebody else holds the port: then it is reachable, which is all that was wanted.
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0 && errno != EADDRINUSE)
        throw_errno("bind to " + to_text(ipv4) + " port " + std::to_string(port));
    return fd;
}

}  // namespace csaud::device
