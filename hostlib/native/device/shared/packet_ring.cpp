#include "packet_ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>

#include "csaud_host/base/cache_line.hpp"
#include "sockets.hpp"

namespace csaud::device::shared {
namespace {

constexpr std::uint64_t kMagic = 0x31474e4952445543;  // "CUDRING1"
constexpr std::size_t kHeader = in_cache_lines(sizeof(RingHeader));
constexpr std::uint32_t kMostSlotBytes = 1 << 16;
constexpr std::uint64_t kPublishEvery = 8;  // packets: the reader begins meanwhile

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(RingHeader) == 4 * kCacheLine);

// Memory whose size is fixed for ever: who maps it cannot be hurt by another one who cuts it short.
FileDescriptor allocate(std::size_t bytes) {
    FileDescriptor fd(::memfd_create("csaud-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) throw_errno("make memory to share");
    // Now, with an error where there is none left, instead of a signal when it is first written.
    if (::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0) throw_errno("get memory to share");
    if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        throw_errno("seal memory to share");
    return fd;
}

Mapping map(const FileDescriptor& fd, std::size_t bytes) {
    return {bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0, "map shared memory"};
}

std::uint32_t slots_for(std::size_t packets, std::size_t in_bytes, std::size_t slot_bytes) {
    const std::size_t fitting = std::min(packets, in_bytes / slot_bytes);
    return static_cast<std::uint32_t>(std::bit_floor(std::max<std::size_t>(fitting, 2)));
}

}  // namespace

RingWriter::RingWriter(std::size_t packet_bytes, std::size_t packets, std::size_t bytes)
    : slots_(slots_for(packets, bytes, in_cache_lines(kLength + packet_bytes))),
      slot_bytes_(static_cast<std::uint32_t>(in_cache_lines(kLength + packet_bytes))),
      memory_(allocate(kHeader + std::size_t{slots_} * slot_bytes_)),
      mapping_(map(memory_, kHeader + std::size_t{slots_} * slot_bytes_)) {
    RingHeader* made = new (mapping_.data()) RingHeader{};
    made->magic = kMagic;
    made->slots = slots_;
    made->slot_bytes = slot_bytes_;
}

void RingWriter::put(const TxPacket& packet) {
    if (written_ - read_ == slots_) {
        read_ = header().read.load(std::memory_order_acquire);
        // A reader that says nonsense loses what is its own.
        if (written_ - read_ >= slots_) {
            read_ = written_ - slots_;
            header().dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    std::byte* slot = mapping_.data() + kHeader + (written_ & (slots_ - 1)) * slot_bytes_;
    const auto length = static_cast<std::uint32_t>(packet.size());
    std::memcpy(slot, &length, kLength);
    slot += kLength;
    std::memcpy(slot, packet.head.data(), packet.head_len);
    slot += packet.head_len;
    if (!packet.payload.empty()) std::memcpy(slot, packet.payload.data(), packet.payload.size());
    std::memcpy(slot + packet.payload.size(), packet.tail.data(), packet.tail_len);
    if (++written_ - published_ >= kPublishEvery) {
        header().written.store(written_, std::memory_order_release);
        published_ = written_;
    }
}

bool RingWriter::publish() {
    // Of one order for all: either this sees that the reader sleeps, or the reader sees what was written
    // (RingReader::sleep).
    header().written.store(written_, std::memory_order_seq_cst);
    published_ = written_;
    return header().asleep.load(std::memory_order_seq_cst) != 0 &&
           header().asleep.exchange(0, std::memory_order_relaxed) != 0;
}

RingReader::RingReader(const FileDescriptor& memory) {
    struct stat status {};
    if (::fstat(memory.get(), &status) != 0) throw_errno("look at shared memory");
    const auto bytes = static_cast<std::size_t>(status.st_size);
    const int seals = ::fcntl(memory.get(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || bytes < kHeader)
        throw std::invalid_argument("not a ring of packets: its size may change");
    mapping_ = map(memory, bytes);
    slots_ = header().slots;
    slot_bytes_ = header().slot_bytes;
    if (header().magic != kMagic || !std::has_single_bit(slots_) || slot_bytes_ < kCacheLine ||
        slot_bytes_ > kMostSlotBytes || slot_bytes_ % kCacheLine != 0 ||
        bytes != kHeader + std::size_t{slots_} * slot_bytes_)
        throw std::invalid_argument("not a ring of packets");
    taken_ = header().read.load(std::memory_order_relaxed);
    header().open.store(1, std::memory_order_relaxed);
}

bool RingReader::take(std::vector<Packet>& packets, std::size_t most) {
    // Those of the last call are not looked at any more.
    std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    header().read.store(taken, std::memory_order_release);
    const std::uint64_t written = header().written.load(std::memory_order_acquire);
    const std::uint64_t there = std::min<std::uint64_t>(written - taken, slots_);
    const std::uint64_t count = std::min<std::uint64_t>(there, most);
    for (std::uint64_t i = 0; i < count; ++i, ++taken) {
        const std::byte* slot = mapping_.data() + kHeader + (taken & (slots_ - 1)) * slot_bytes_;
        std::uint32_t length = 0;
        std::memcpy(&length, slot, sizeof length);
        packets.emplace_back(slot + sizeof length,
                             std::min<std::size_t>(length, slot_bytes_ - sizeof length));
    }
    taken_.store(taken, std::memory_order_relaxed);
    return there > count;
}

bool RingReader::sleep() {
    header().asleep.store(1, std::memory_order_seq_cst);
    return header().written.load(std::memory_order_seq_cst) != taken_.load(std::memory_order_relaxed);
}

}  // namespace csaud::device::shared
