#include "send_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "csaud_host/base/cache_line.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud::device::verbs {
namespace {

// A copy of so little costs less than a second piece.
constexpr std::size_t kCopied = 256;

Destination destination_of(const TxPacket& packet) {
    return {.address = packet.dst_ipv4,
            .path = packet.path,
            .tos = std::to_integer<std::uint8_t>(packet.head[1]),
            .ttl = std::to_integer<std::uint8_t>(packet.head[8])};
}

}  // namespace

SendQueue::SendQueue(QueuePair& pair, MemoryRegions& memory, AddressHandles& handles,
                     std::size_t packet_bytes, std::size_t batch)
    : pair_(pair),
      memory_(memory),
      handles_(handles),
      stride_(in_cache_lines(packet_bytes)),
      slab_(*pair.domain(), pair.sends() * stride_, false),
      slots_(pair.sends()),
      requests_(batch),
      pieces_(batch),
      packet_of_(batch),
      completions_(batch) {}

void SendQueue::start(std::uint32_t qkey) {
    qkey_ = qkey;
    for (Slot& slot : slots_) slot.region = nullptr;
    completed_ = signalled_ = posted_;
    failed_ = false;
}

Sent SendQueue::send(std::span<const TxPacket> packets) {
    Sent sent;
    reclaim();
    while (sent.taken < packets.size()) {
        if (!room()) {
            ++blocked_;
            sent.result = SendResult::blocked;
            break;
        }
        const Post built = build(packets.subspan(sent.taken));
        sent.taken += built.requests == 0 ? built.packets : post(built);
    }
    return sent;
}

// True where a request can be posted. Otherwise the next completion makes the channel readable.
bool SendQueue::room() {
    const auto free = [this] { return !failed_ && under_way() < slots_.size(); };
    if (free()) return true;
    reclaim();
    if (free() || failed_) return !failed_;
    pair_.send_completions().arm();
    reclaim();  // what completed before it was armed
    return free();
}

SendQueue::Post SendQueue::build(std::span<const TxPacket> packets) {
    Post result;
    const std::size_t most = std::min(requests_.size(), slots_.size() - under_way());
    std::shared_ptr<const Region> region;
    for (const TxPacket& packet : packets) {
        if (result.requests == most) break;
        ibv_ah* handle = handles_.get(destination_of(packet));
        if (handle == nullptr) {
            // Nobody knows the way to this peer: it will be missed, and this says why.
            ++errors_;
            ++result.packets;
            continue;
        }
        Slot& slot = slots_[(posted_ + result.requests) % slots_.size()];
        slot.region = nullptr;
        if (packet.payload.size() > kCopied) {
            if (!region || !region->holds(packet.payload)) region = memory_.find(packet.payload);
            slot.region = region;
        }
        result.pinned = result.pinned || slot.region;
        packet_of_[result.requests] = result.packets;
        fill(result.requests, packet, handle);
        ++result.requests;
        ++result.packets;
    }
    return result;
}

void SendQueue::fill(std::size_t index, const TxPacket& packet, ibv_ah* handle) {
    const std::uint64_t number = posted_ + index;
    const std::size_t place = number % slots_.size();
    std::byte* memory = slab_.data() + place * stride_;
    // From the CSA header on; what comes before it is the device's, and so are pad and iCRC behind it.
    std::size_t length = packet.head_len - wire::kCsaOffset;
    std::memcpy(memory, packet.head.data() + wire::kCsaOffset, length);
    const Region* region = slots_[place].region.get();
    if (region == nullptr && !packet.payload.empty()) {
        std::memcpy(memory + length, packet.payload.data(), packet.payload.size());
        length += packet.payload.size();
        if (packet.payload.size() > kCopied) ++copied_;
    }

    ibv_send_wr& request = requests_[index];
    request = {};
    request.wr_id = number;
    request.opcode = IBV_WR_SEND;
    request.sg_list = pieces_[index].data();
    request.num_sge = region == nullptr ? 1 : 2;
    if (region == nullptr && length <= pair_.inline_bytes()) request.send_flags |= IBV_SEND_INLINE;
    request.wr.ud.ah = handle;
    request.wr.ud.remote_qpn = packet.dst_qpn;
    request.wr.ud.remote_qkey = qkey_;
    pieces_[index][0] = {reinterpret_cast<std::uintptr_t>(memory), static_cast<std::uint32_t>(length),
                         slab_.key()};
    if (region == nullptr) return;
    pieces_[index][1] = {reinterpret_cast<std::uintptr_t>(packet.payload.data()),
                         static_cast<std::uint32_t>(packet.payload.size()), region->key()};
}

// Returns how many packets need not be handed over again.
std::size_t SendQueue::post(const Post& post) {
    for (std::size_t i = 0; i < post.requests; ++i)
        requests_[i].next = i + 1 < post.requests ? &requests_[i + 1] : nullptr;
    // Often enough that slots come back before all are used, and always where the application's memory is
    // used, so that it is let go of soon.
    const std::uint64_t end = posted_ + post.requests;
    if (post.pinned || end - signalled_ >= slots_.size() / 4) {
        requests_[post.requests - 1].send_flags |= IBV_SEND_SIGNALED;
        signalled_ = end;
    }
    ibv_send_wr* refused = nullptr;
    const int error = ::ibv_post_send(pair_.get(), requests_.data(), &refused);
    if (error == 0) {
        posted_ = end;
        return post.packets;
    }
    // Those before it are on their way. The completion that was asked for went with the last one: each of the
    // next posts asks again until a quarter of the slots is over.
    const auto taken = static_cast<std::size_t>(refused - requests_.data());
    posted_ += taken;
    signalled_ = completed_;
    ++errors_;
    // One that has failed without a completion would refuse everything from now on.
    failed_ = failed_ || !pair_.sends_now();
    return packet_of_[taken] + 1;
}

void SendQueue::reclaim() {
    for (;;) {
        const std::size_t count = pair_.send_completions().poll(completions_);
        for (const ibv_wc& completion : std::span(completions_).first(count)) {
            if (completion.wr_id < completed_) continue;  // of before the last start()
            for (; completed_ <= completion.wr_id; ++completed_)
                slots_[completed_ % slots_.size()].region = nullptr;
            if (completion.status == IBV_WC_SUCCESS) continue;
            ++errors_;
            failed_ = true;
        }
        if (count < completions_.size()) break;
    }
}

}  // namespace csaud::device::verbs
