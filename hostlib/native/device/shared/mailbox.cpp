#include "mailbox.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sockets.hpp"

namespace csaud::device::shared {
namespace {

constexpr std::size_t kMostFds = 4;  // that a message may bring; more than one is nobody's of ours

// Room for who sent a message, and for memory.
struct alignas(cmsghdr) Ancillary {
    std::array<std::byte, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kMostFds * sizeof(int))> bytes{};
};

struct Sender {
    bool same_user = false;
    std::vector<FileDescriptor> fds;
};

Sender read_ancillary(msghdr& message) {
    Sender sender;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS) {
            ucred who{};
            std::memcpy(&who, CMSG_DATA(part), sizeof who);
            sender.same_user = who.uid == ::getuid();
        } else if (part->cmsg_type == SCM_RIGHTS) {
            for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int)) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
                sender.fds.emplace_back(fd);
            }
        }
    }
    return sender;
}

msghdr addressed(const MailboxName& to) {
    msghdr message{};
    message.msg_name = const_cast<sockaddr_un*>(&to.address());  // sendmsg only reads it
    message.msg_namelen = to.length();
    return message;
}

}  // namespace

MailboxName::MailboxName(const std::string& address, std::uint32_t qpn) {
    // The leading zero byte makes it abstract.
    const std::string text = std::string(1, '\0') + "csaud/qp/" + address + "/" + std::to_string(qpn);
    if (text.size() > sizeof address_.sun_path)
        throw std::invalid_argument("an address that is longer than any");
    address_.sun_family = AF_UNIX;
    std::ranges::copy(text, address_.sun_path);
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
}

Mailbox::Mailbox(FileDescriptor socket) : socket_(std::move(socket)) {
    set_option(socket_, SOL_SOCKET, SO_PASSCRED, 1, "set SO_PASSCRED");
}

bool Mailbox::send(const MailboxName& to, const QueuePair& from, const FileDescriptor& memory) const {
    msghdr message = addressed(to);
    QueuePair body = from;
    iovec piece{&body, sizeof body};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> room{};
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    const int fd = memory.get();
    part->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
    return ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

void Mailbox::wake(const MailboxName& sleeper) const {
    // An empty message. Where there is no room for it, others have woken it.
    const msghdr message = addressed(sleeper);
    ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Mailbox::receive(std::vector<Parcel>& parcels) {
    for (;;) {
        Parcel parcel;
        iovec piece{&parcel.from, sizeof parcel.from};
        Ancillary room;
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = room.bytes.data();
        message.msg_controllen = room.bytes.size();
        const ssize_t bytes = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) return;
        Sender sender = read_ancillary(message);
        if (bytes != sizeof parcel.from || !sender.same_user || sender.fds.size() != 1) continue;
        parcel.memory = std::move(sender.fds.front());
        parcels.push_back(std::move(parcel));
    }
}

}  // namespace csaud::device::shared
