#include "receive_ring.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "bpf_calls.hpp"
#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::device::xdp {
namespace {

constexpr std::size_t kRecordHeader = 8;
constexpr std::size_t kRecordAlign = 8;
constexpr std::size_t kFewestRecords = 2;
constexpr std::size_t kLargestRing = std::size_t{1} << 30;

std::size_t page_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t ring_bytes(std::size_t asked, std::size_t record) {
    const std::size_t least = std::max(page_bytes(), std::bit_ceil(kFewestRecords * record));
    return std::clamp(std::bit_floor(asked), least, kLargestRing);
}

// Memory that the kernel writes or reads meanwhile.
template <class Word>
std::atomic_ref<Word> shared(std::byte* at) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at));
}

// Ethernet pads short frames; how long the packet is stands in its header.
Packet without_padding(Packet packet) {
    const std::size_t length = get16(packet.data() + 2);
    return length >= wire::kIpv4Bytes && length < packet.size() ? packet.first(length) : packet;
}

}  // namespace

ReceiveRing::ReceiveRing(const IngressFilter& filter, int interface_index, std::size_t bytes,
                         std::size_t batch)
    : mask_(ring_bytes(bytes, largest_record(filter.packet_bytes)) - 1),
      packet_bytes_(filter.packet_bytes),
      batch_(batch) {
    const std::size_t page = page_bytes();
    ring_ = create_ring_buffer(static_cast<std::uint32_t>(mask_ + 1));
    control_ = create_shared_value(sizeof(IngressControl));
    consumer_page_ =
        Mapping(page, PROT_READ | PROT_WRITE, MAP_SHARED, ring_.get(), 0, "map a BPF ring buffer");
    records_ = Mapping(page + 2 * (mask_ + 1), PROT_READ, MAP_SHARED | MAP_POPULATE, ring_.get(),
                       static_cast<off_t>(page), "map a BPF ring buffer");
    ring_begin_ = records_.data() + page;
    control_page_ = Mapping(page, PROT_READ | PROT_WRITE, MAP_SHARED, control_.get(), 0, "map a BPF array");
    shared<std::uint64_t>(control_page_.data()).store(kQuiet);
    packets_.reserve(batch);
    program_ = load_ingress_program(make_ingress_program(filter, ring_.get(), control_.get()));
    link_ = link_ingress(program_, interface_index);
}

Received ReceiveRing::receive() {
    packets_.clear();
    // What was handed out before is looked at no more.
    const auto consumer = shared<std::uint64_t>(consumer_page_.data());
    if (consumer.load(std::memory_order_relaxed) != consumed_)
        consumer.store(consumed_, std::memory_order_release);
    const std::uint64_t produced = shared<std::uint64_t>(records_.data()).load(std::memory_order_acquire);
    while (consumed_ != produced && packets_.size() < batch_) {
        std::byte* const record = ring_begin_ + (consumed_ & mask_);
        const std::uint32_t state = shared<std::uint32_t>(record).load(std::memory_order_acquire);
        if ((state & BPF_RINGBUF_BUSY_BIT) != 0) break;  // reserved by a processor that still copies
        std::byte* const data = record + kRecordHeader;
        const auto length = static_cast<std::size_t>(reinterpret_cast<const RecordHeader*>(data)->length);
        packets_.push_back(without_padding({data + sizeof(RecordHeader), std::min(length, packet_bytes_)}));
        consumed_ += (kRecordHeader + state + kRecordAlign - 1) / kRecordAlign * kRecordAlign;
    }
    return {packets_, packets_.size() == batch_};
}

int ReceiveRing::watch() const {
    shared<std::uint64_t>(control_page_.data() + offsetof(IngressControl, wake)).store(kWake);
    return ring_.get();
}

std::uint64_t ReceiveRing::dropped() const {
    return shared<std::uint64_t>(control_page_.data() + offsetof(IngressControl, dropped)).load();
}

}  // namespace csaud::device::xdp
