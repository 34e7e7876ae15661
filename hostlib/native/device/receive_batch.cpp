#include "receive_batch.hpp"

#include <algorithm>
#include <cerrno>

#include "csaud_host/base/cache_line.hpp"
#include "sockets.hpp"

namespace csaud::device {

template <typename Address>
BasicReceiveBatch<Address>::BasicReceiveBatch(std::size_t count, std::size_t bytes, std::size_t headroom)
    : headroom_(headroom),
      stride_(in_cache_lines(bytes + headroom)),
      storage_(count * stride_),
      pieces_(count),
      sources_(count),
      control_(headroom == 0 ? 0 : count),
      messages_(count) {
    for (std::size_t i = 0; i < count; ++i) {
        pieces_[i] = {storage_.data() + i * stride_ + headroom_, stride_ - headroom_};
        msghdr& header = messages_[i].msg_hdr;
        header.msg_name = &sources_[i];
        header.msg_iov = &pieces_[i];
        header.msg_iovlen = 1;
    }
}

template <typename Address>
std::size_t BasicReceiveBatch<Address>::receive(const FileDescriptor& fd) {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        msghdr& header = messages_[i].msg_hdr;
        header.msg_namelen = sizeof(Address);
        if (control_.empty()) continue;
        header.msg_control = control_[i].bytes.data();
        header.msg_controllen = control_[i].bytes.size();
    }
    for (;;) {
        const int count = ::recvmmsg(fd.get(), messages_.data(), static_cast<unsigned>(messages_.size()),
                                     MSG_DONTWAIT | MSG_TRUNC, nullptr);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
        if (errno != EINTR) throw_errno("receive packets");
    }
}

template <typename Address>
std::span<std::byte> BasicReceiveBatch<Address>::slot(std::size_t index) {
    const std::size_t kept = std::min(headroom_ + messages_[index].msg_len, stride_);
    return {storage_.data() + index * stride_, kept};
}

template class BasicReceiveBatch<sockaddr_in>;
template class BasicReceiveBatch<sockaddr_in6>;

}  // namespace csaud::device
