#include "csaud_switch/base/packet.hpp"

#include <algorithm>
#include <cstring>

#include "csaud_switch/base/bits.hpp"

namespace csaud::sw {

void Packet::reset(PortId port) {
    ingress_length = length;
    program_length = length;
    truncate_to = kNoTruncation;
    ingress_port = port;
    egress_port = 0;
    priority = 0;
    exit = false;
    asserted = false;
    finished = false;
    clone_request = 0;
    clone_fields = 0;
    resubmit = 0;
    recirculate = 0;
    digest = 0;
    passes = 0;
}

PacketPool::~PacketPool() {
    for (Packet* head : free_) {
        while (head != nullptr) {
            std::unique_ptr<Packet> owned(head);
            head = owned->next;
        }
    }
}

Packet* PacketPool::take(std::uint32_t frame_bytes) {
    std::uint8_t size_class = 0;
    while (kClasses[size_class] < frame_bytes && size_class + 1U < kClasses.size()) ++size_class;
    Packet* packet = free_[size_class];
    if (packet != nullptr) {
        free_[size_class] = packet->next;
    } else {
        auto owned = std::make_unique<Packet>();
        const std::size_t bytes = kHeadroom + kClasses[size_class] + kSlack;
        owned->buffer = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
        std::memset(owned->buffer.get(), 0, bytes);
        owned->size_class = size_class;
        owned->capacity = kClasses[size_class];
        packet = owned.release();
    }
    ++outstanding_;
    packet->next = nullptr;
    packet->start = kHeadroom;
    packet->length = frame_bytes;
    return packet;
}

void PacketPool::give(Packet* packet) {
    --outstanding_;
    workspaces_.take_kept_from(*packet);
    packet->next = free_[packet->size_class];
    free_[packet->size_class] = packet;
}

bool PacketPool::settle(Packet& packet) {
    const std::uint32_t length = packet.length;
    if (length > kMaxFrame) return false;
    if (length <= packet.capacity) {
        std::memmove(packet.buffer.get() + kHeadroom, packet.data(), length);
    } else {
        Packet* larger = take(length);
        std::memcpy(larger->data(), packet.data(), length);
        std::swap(packet.buffer, larger->buffer);
        std::swap(packet.size_class, larger->size_class);
        std::swap(packet.capacity, larger->capacity);
        give(larger);
    }
    packet.start = kHeadroom;
    return true;
}

Packet* PacketPool::copy(const Packet& original) {
    Packet* packet = take(original.capacity);
    const std::uint32_t end = original.start + original.length;
    std::memcpy(packet->buffer.get(), original.buffer.get(), end);
    packet->start = original.start;
    packet->length = original.length;
    packet->ingress_length = original.ingress_length;
    packet->program_length = original.program_length;
    packet->truncate_to = kNoTruncation;  // as on the reference: a copy is whole
    packet->ingress_port = original.ingress_port;
    packet->egress_port = original.egress_port;
    packet->priority = original.priority;
    packet->exit = false;
    packet->asserted = false;
    packet->clone_request = 0;
    packet->clone_fields = 0;
    packet->resubmit = 0;
    packet->recirculate = 0;
    packet->digest = 0;
    packet->passes = original.passes;
    workspaces_.give_to(*packet);
    packet->slots = original.slots;
    packet->headers = original.headers;
    return packet;
}

}  // namespace csaud::sw
