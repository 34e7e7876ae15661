#include "send_ring.hpp"

#include <linux/if_ether.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "clock.hpp"
#include "csaud_host/base/byte_order.hpp"
#include "sockets.hpp"

namespace csaud::device::xdp {
namespace {

// linux/if_xdp.h of Linux 6.6, newer than the headers that distributions build with.
constexpr std::uint16_t kUseFragments = 1U << 4;  // XDP_USE_SG
constexpr std::uint32_t kContinued = 1U << 0;     // XDP_PKT_CONTD

constexpr std::uint32_t kFrames = 1024;
constexpr std::uint32_t kDescriptors = 2 * kFrames;
constexpr std::uint32_t kUnusedRing = 2;  // nothing is received here, but the kernel wants the ring
// The kernel takes no chunk that is longer than a page; what is longer goes in two, which lie one behind the
// other, since chunks may begin anywhere (unaligned mode).
constexpr std::size_t kChunk = 4096;
constexpr std::size_t kStride = kChunk + 512;  // no power of two: frames would share the cache's sets
// Deep enough for several batches.
constexpr int kSendBuffer = 4 << 20;
constexpr Nanos kQueuePatience = 500 * kMillisecond;
constexpr int kQueuePauseMs = 5;

FileDescriptor open_xdp_socket() {
    FileDescriptor fd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd) throw_errno("open an AF_XDP socket");
    return fd;
}

}  // namespace

Ring::Ring(const FileDescriptor& fd, off_t page_offset, const xdp_ring_offset& offsets, std::uint32_t entries,
           std::size_t entry_bytes)
    : memory_(offsets.desc + entries * entry_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
              fd.get(), page_offset, "map a ring of an AF_XDP socket"),
      entries_(memory_.data() + offsets.desc),
      producer_(reinterpret_cast<std::uint32_t*>(memory_.data() + offsets.producer)),
      consumer_(reinterpret_cast<std::uint32_t*>(memory_.data() + offsets.consumer)),
      mask_(entries - 1) {}

std::uint32_t Ring::produced() const {
    return std::atomic_ref<std::uint32_t>(*producer_).load(std::memory_order_acquire);
}
std::uint32_t Ring::consumed() const {
    return std::atomic_ref<std::uint32_t>(*consumer_).load(std::memory_order_acquire);
}
void Ring::set_produced(std::uint32_t count) {
    std::atomic_ref<std::uint32_t>(*producer_).store(count, std::memory_order_release);
}
void Ring::set_consumed(std::uint32_t count) {
    std::atomic_ref<std::uint32_t>(*consumer_).store(count, std::memory_order_release);
}

SendRing::SendRing(int interface_index, unsigned queues, std::size_t frame_bytes)
    : fd_(open_xdp_socket()),
      frames_(kFrames * kStride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0,
              "allocate frames") {
    if (frame_bytes > kStride) {
        errno = EMSGSIZE;
        throw_errno("frames of " + std::to_string(frame_bytes) + " bytes");
    }
    xdp_umem_reg memory{};
    memory.addr = reinterpret_cast<std::uintptr_t>(frames_.data());
    memory.len = frames_.size();
    memory.chunk_size = kChunk;
    memory.flags = XDP_UMEM_UNALIGNED_CHUNK_FLAG;
    if (::setsockopt(fd_.get(), SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) != 0)
        throw_errno("register the frames of an AF_XDP socket");
    for (const auto& [ring, entries] :
         {std::pair{XDP_UMEM_FILL_RING, kUnusedRing}, std::pair{XDP_UMEM_COMPLETION_RING, kDescriptors},
          std::pair{XDP_TX_RING, kDescriptors}})
        set_option(fd_, SOL_XDP, ring, static_cast<int>(entries), "make a ring of an AF_XDP socket");
    xdp_mmap_offsets offsets{};
    socklen_t size = sizeof offsets;
    if (::getsockopt(fd_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) != 0)
        throw_errno("find the rings of an AF_XDP socket");
    tx_ = Ring(fd_, XDP_PGOFF_TX_RING, offsets.tx, kDescriptors, sizeof(xdp_desc));
    completed_ = Ring(fd_, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING), offsets.cr, kDescriptors,
                      sizeof(std::uint64_t));
    set_option(fd_, SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer, "set SO_SNDBUFFORCE");
    bind(interface_index, queues);
    free_.reserve(kFrames);
    for (std::uint32_t frame = kFrames; frame > 0; --frame) free_.push_back((frame - 1) * kStride);
}

// To the first queue that nobody has. The queue of a socket that was closed becomes free a moment later.
void SendRing::bind(int interface_index, unsigned queues) {
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_ifindex = static_cast<std::uint32_t>(interface_index);
    // Copying, which works on any interface and touches no NIC's queues.
    address.sxdp_flags = static_cast<std::uint16_t>(XDP_COPY | XDP_USE_NEED_WAKEUP | kUseFragments);
    for (const Nanos until = monotonic_now() + kQueuePatience;;) {
        for (address.sxdp_queue_id = 0; address.sxdp_queue_id < queues; ++address.sxdp_queue_id) {
            if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
            if (errno != EBUSY) break;
        }
        if (errno == EINVAL) throw_errno("bind an AF_XDP socket to the interface (Linux 6.6 or newer)");
        if (errno != EBUSY || monotonic_now() >= until) throw_errno("bind an AF_XDP socket to the interface");
        ::poll(nullptr, 0, kQueuePauseMs);
    }
}

void SendRing::reclaim() {
    const std::uint32_t produced = completed_.produced();
    if (reclaimed_ == produced) return;
    while (reclaimed_ != produced) {
        // The second chunk of a long frame comes back by itself; the first one stands for the frame.
        const auto at = completed_.at<std::uint64_t>(reclaimed_++);
        if (at % kStride == 0) free_.push_back(at);
    }
    completed_.set_consumed(reclaimed_);
}

bool SendRing::room() {
    if (free_.empty()) reclaim();
    return !free_.empty() && put_ - handed_ + 2 <= kDescriptors;
}

void SendRing::put(const TxPacket& packet, const EthernetAddresses& addresses) {
    const std::uint64_t at = free_.back();
    free_.pop_back();
    std::byte* const frame = frames_.data() + at;
    std::byte* end = frame;
    const auto append = [&end](const void* data, std::size_t bytes) {
        std::memcpy(end, data, bytes);
        end += bytes;
    };
    append(addresses.destination.data(), ETH_ALEN);
    append(addresses.source.data(), ETH_ALEN);
    put16(end, ETH_P_IP);
    end += 2;
    append(packet.head.data(), packet.head_len);
    if (!packet.payload.empty()) append(packet.payload.data(), packet.payload.size());
    append(packet.tail.data(), packet.tail_len);
    const auto bytes = static_cast<std::uint32_t>(end - frame);
    const std::uint32_t first = std::min<std::uint32_t>(bytes, kChunk);
    tx_.at<xdp_desc>(put_++) = {at, first, bytes > first ? kContinued : 0};
    if (bytes > first) tx_.at<xdp_desc>(put_++) = {at + first, bytes - first, 0};
}

bool SendRing::flush(std::uint64_t& errors) {
    tx_.set_produced(put_);
    for (std::uint32_t refused = 0; handed_ != put_ && refused < kDescriptors;) {
        const std::uint32_t before = handed_;
        const int error = ::sendto(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 ? errno : 0;
        handed_ = tx_.consumed();
        if (error == EBUSY) {  // the interface dropped the frame that it was given last
            ++errors;
            ++refused;
            continue;
        }
        const bool again = error == 0 || error == EAGAIN || error == EINTR;
        if (!again || handed_ == before) break;
    }
    reclaim();
    return handed_ == put_;
}

}  // namespace csaud::device::xdp
