// The receive queue: buffers that the device fills, and what it leaves out put back in front of the packet.
//
// A receive of a UD queue pair is 40 bytes of GRH, which hold the IP header, and then what follows DETH. The
// core takes packets from the IPv4 header on. A slot therefore begins 8 bytes before the GRH: the
// 48 bytes that IPv4, UDP, BTH and DETH need lie just before the CSA header, and no payload moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "address_family.hpp"
#include "device.hpp"
#include "memory_regions.hpp"
#include "queue_pair.hpp"

namespace csaud::device::verbs {

class ReceiveQueue {
  public:
    // Buffers for packets of `packet_bytes` from the CSA header on; at most `batch` are taken at a time.
    ReceiveQueue(QueuePair& pair, const AddressFamily& family, std::size_t packet_bytes, std::size_t batch);

    // Posts all buffers; for a queue pair that has just been initialised, for the first time or again.
    void start(std::uint32_t qkey);

    // Appends up to a batch, less what was taken since the last repost(); returns how many. They live until
    // repost().
    std::size_t take(std::vector<Packet>& packets);

    // A receive has failed: the queue pair is in an error state.
    bool failed() const { return failed_; }
    bool idle() const { return posted_ == 0; }
    // Takes what has completed and throws it away.
    void drain();

    // Gives back the buffers of all that was taken.
    void repost();

  private:
    std::byte* slot(std::uint64_t number) const { return slab_.data() + number * stride_; }
    Packet restore(const ibv_wc& completion) const;

    QueuePair& pair_;
    const AddressFamily& family_;
    std::uint32_t qkey_ = 0;
    std::size_t packet_bytes_;
    std::size_t stride_;
    Slab slab_;
    std::vector<ibv_wc> completions_;
    std::vector<std::uint64_t> taken_;  // slots to post again
    std::size_t posted_ = 0;            // requests under way
    bool failed_ = false;
    std::vector<ibv_recv_wr> requests_;
    std::vector<ibv_sge> pieces_;
};

}  // namespace csaud::device::verbs
