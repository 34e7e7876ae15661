// The send queue: packets of the core become linked work requests.
//
// A DATA packet is two pieces, its CSA header from a registered slot and its payload from where it lies. A
// control packet goes inline. Payload of memory that is not registered is copied into the slot. Slots are
// used in turn and come back with the completion of a later request: only some requests ask for one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "address_handles.hpp"
#include "device.hpp"
#include "memory_regions.hpp"
#include "queue_pair.hpp"

namespace csaud::device::verbs {

class SendQueue {
  public:
    // `packet_bytes`: the longest packet from the CSA header on; at most `batch` packets a post.
    SendQueue(QueuePair& pair, MemoryRegions& memory, AddressHandles& handles, std::size_t packet_bytes,
              std::size_t batch);

    // For a queue pair that sends, from now on or again: what was under way is over.
    void start(std::uint32_t qkey);
    Sent send(std::span<const TxPacket> packets);

    // Takes completions.
    void reclaim();

    // A request has failed. Nothing is sent then until the next start().
    bool failed() const { return failed_; }
    bool idle() const { return under_way() == 0; }

    std::uint64_t errors() const { return errors_; }
    std::uint64_t blocked() const { return blocked_; }
    std::uint64_t copied() const { return copied_; }

  private:
    static constexpr std::size_t kPieces = 2;

    struct Slot {
        std::shared_ptr<const Region> region;  // of the payload, until the device has read it
    };
    // What is being built into one post.
    struct Post {
        std::size_t requests = 0;
        std::size_t packets = 0;  // with those passed over
        bool pinned = false;
    };

    std::size_t under_way() const { return static_cast<std::size_t>(posted_ - completed_); }
    bool room();
    Post build(std::span<const TxPacket> packets);
    void fill(std::size_t index, const TxPacket& packet, ibv_ah* handle);
    std::size_t post(const Post& post);

    QueuePair& pair_;
    MemoryRegions& memory_;
    AddressHandles& handles_;
    std::uint32_t qkey_ = 0;
    std::size_t stride_;
    Slab slab_;
    std::vector<Slot> slots_;
    std::vector<ibv_send_wr> requests_;
    std::vector<std::array<ibv_sge, kPieces>> pieces_;
    std::vector<std::size_t> packet_of_;  // packet number of each request of the post
    std::vector<ibv_wc> completions_;
    std::uint64_t posted_ = 0;     // requests, ever; the number of the next one
    std::uint64_t completed_ = 0;  // of them
    std::uint64_t signalled_ = 0;  // number after the last one that asked for a completion
    bool failed_ = false;
    std::atomic<std::uint64_t> errors_ = 0;
    std::atomic<std::uint64_t> blocked_ = 0;
    std::atomic<std::uint64_t> copied_ = 0;
};

}  // namespace csaud::device::verbs
