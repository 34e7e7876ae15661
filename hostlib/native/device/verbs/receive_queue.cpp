#include "receive_queue.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/base/cache_line.hpp"
#include "csaud_host/wire/wire.hpp"
#include "ip_headers.hpp"

namespace csaud::device::verbs {
namespace {

constexpr std::size_t kFront = wire::kCsaOffset - kGrhBytes;
constexpr std::size_t kTail = 3 + wire::kIcrcBytes;  // pad and iCRC, which the device has taken off
constexpr std::size_t kPostedAtOnce = 256;

}  // namespace

ReceiveQueue::ReceiveQueue(QueuePair& pair, const AddressFamily& family, std::size_t packet_bytes,
                           std::size_t batch)
    : pair_(pair),
      family_(family),
      packet_bytes_(packet_bytes),
      stride_(in_cache_lines(kFront + kGrhBytes + packet_bytes + kTail)),
      slab_(*pair.domain(), pair.receives() * stride_, true),
      completions_(batch),
      requests_(std::max(batch, kPostedAtOnce)),
      pieces_(requests_.size()) {
    taken_.reserve(requests_.size());
}

void ReceiveQueue::start(std::uint32_t qkey) {
    qkey_ = qkey;
    taken_.clear();
    posted_ = 0;
    failed_ = false;
    for (std::uint64_t number = 0; number < pair_.receives(); ++number) {
        taken_.push_back(number);
        if (taken_.size() == requests_.size()) repost();
    }
    repost();
}

std::size_t ReceiveQueue::take(std::vector<Packet>& packets) {
    const std::size_t room = completions_.size() - std::min(completions_.size(), taken_.size());
    const std::span<ibv_wc> found = std::span(completions_).first(room);
    const std::size_t count = pair_.receive_completions().poll(found);
    posted_ -= std::min(posted_, count);
    for (const ibv_wc& completion : found.first(count)) {
        if (completion.status != IBV_WC_SUCCESS) {
            failed_ = true;
            continue;
        }
        taken_.push_back(completion.wr_id);
        packets.push_back(restore(completion));
    }
    return count;
}

// The device has checked addresses, queue pair, Q_Key and iCRC; what it took off is written anew, so that the
// core sees the packet as from any device.
Packet ReceiveQueue::restore(const ibv_wc& completion) const {
    std::byte* packet = slot(completion.wr_id);
    const std::size_t received = completion.byte_len;
    if (received < kGrhBytes) return {packet, 0};
    // Read before it is written over.
    std::optional<IpHeaders> headers = family_.headers_in(packet + kFront);
    if (!headers) return {packet, 0};
    const std::size_t body = received - kGrhBytes;
    const std::size_t pad = (0 - body) & 3;
    headers->length = wire::kCsaOffset + body + pad + wire::kIcrcBytes;
    write_ip_headers(packet, *headers);
    std::byte* bth = packet + wire::kIpv4Bytes + wire::kUdpBytes;
    put8(bth, wire::kOpcodeUdSendOnly);
    put8(bth + 1, static_cast<unsigned>(pad << 4));
    put16(bth + 2, 0xFFFF);
    put8(bth + 4, 0);
    put24(bth + 5, pair_.number());
    put32(bth + 8, 0);
    std::byte* deth = bth + wire::kBthBytes;
    put32(deth, qkey_);
    put32(deth + 4, completion.src_qp);
    return {packet, headers->length};
}

void ReceiveQueue::drain() {
    while (const std::size_t count = pair_.receive_completions().poll(completions_))
        posted_ -= std::min(posted_, count);
}

void ReceiveQueue::repost() {
    if (taken_.empty()) return;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        pieces_[i] = {reinterpret_cast<std::uintptr_t>(slot(taken_[i]) + kFront),
                      static_cast<std::uint32_t>(kGrhBytes + packet_bytes_), slab_.key()};
        requests_[i] = {};
        requests_[i].wr_id = taken_[i];
        requests_[i].sg_list = &pieces_[i];
        requests_[i].num_sge = 1;
        if (i != 0) requests_[i - 1].next = &requests_[i];
    }
    posted_ += taken_.size();
    taken_.clear();
    ibv_recv_wr* refused = nullptr;
    const int error = ::ibv_post_recv(pair_.get(), requests_.data(), &refused);
    if (error != 0) throw_error(error, "post receives on " + pair_.device());
}

}  // namespace csaud::device::verbs
