// How processes of one host hand memory to each other and wake each other: the UNIX socket that claims a QP
// number (`qpn_claim.hpp`), whose name says whose it is.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <vector>

#include "file_descriptor.hpp"

namespace csaud::device::shared {

// A queue pair as the core knows it: 32-bit address, QP number.
struct QueuePair {
    std::uint32_t ipv4 = 0;
    std::uint32_t qpn = 0;
    bool operator==(const QueuePair&) const = default;
};

// Memory with packets from a queue pair.
struct Parcel {
    QueuePair from;
    FileDescriptor memory;
};

// The name of the mailbox of a QP number at an address.
class MailboxName {
  public:
    // Throws std::invalid_argument where the address is longer than any.
    MailboxName(const std::string& address, std::uint32_t qpn);

    const sockaddr_un& address() const { return address_; }
    socklen_t length() const { return length_; }

  private:
    sockaddr_un address_{};
    socklen_t length_ = 0;
};

// Nothing blocks. wake() from any thread.
class Mailbox {
  public:
    // `socket`: a copy of what claims the QP number, and stays open as long. Throws std::system_error.
    explicit Mailbox(FileDescriptor socket);

    // False: it was not taken; again later.
    bool send(const MailboxName& to, const QueuePair& from, const FileDescriptor& memory) const;
    void wake(const MailboxName& sleeper) const;

    // Appends what came from processes of this user, and forgets wakes.
    void receive(std::vector<Parcel>& parcels);

    int watch() const { return socket_.get(); }

  private:
    FileDescriptor socket_;
};

}  // namespace csaud::device::shared
