// Sending through an AF_XDP socket: frames are written into memory that the kernel knows (umem), and a system
// call a batch hands them to the interface, past the kernel's IP, its queueing and its packet filters.
#pragma once

#include <linux/if_xdp.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device.hpp"
#include "file_descriptor.hpp"
#include "mac_address.hpp"
#include "mapping.hpp"

namespace csaud::device::xdp {

struct EthernetAddresses {
    MacAddress destination{}, source{};
};

// One of the four rings of an AF_XDP socket.
class Ring {
  public:
    Ring() = default;
    Ring(const FileDescriptor& fd, off_t page_offset, const xdp_ring_offset& offsets, std::uint32_t entries,
         std::size_t entry_bytes);

    std::uint32_t produced() const;
    std::uint32_t consumed() const;
    void set_produced(std::uint32_t count);
    void set_consumed(std::uint32_t count);
    template <class Entry>
    Entry& at(std::uint32_t index) {
        return reinterpret_cast<Entry*>(entries_)[index & mask_];
    }

  private:
    Mapping memory_;
    std::byte* entries_ = nullptr;
    std::uint32_t* producer_ = nullptr;
    std::uint32_t* consumer_ = nullptr;
    std::uint32_t mask_ = 0;
};

class SendRing {
  public:
    // Frames up to `frame_bytes`, at most two pages' worth. Throws std::system_error: EBUSY where all queues
    // of the interface have such a socket.
    SendRing(int interface_index, unsigned queues, std::size_t frame_bytes);

    // Whether there is room for one more frame. Looks for frames that the kernel is done with.
    bool room();
    void put(const TxPacket& packet, const EthernetAddresses& addresses);
    // Hands over what was put; `errors` is raised by one for each frame that the interface refused for good.
    // False: the kernel has not taken all of it, and wants to be asked again.
    bool flush(std::uint64_t& errors);

    // Becomes writable when flush() is worth another try.
    int watch() const { return fd_.get(); }

  private:
    void bind(int interface_index, unsigned queues);
    void reclaim();

    FileDescriptor fd_;
    Mapping frames_;
    Ring tx_;
    Ring completed_;
    std::vector<std::uint64_t> free_;
    std::uint32_t put_ = 0;     // descriptors written
    std::uint32_t handed_ = 0;  // of these, taken by the kernel
    std::uint32_t reclaimed_ = 0;
};

}  // namespace csaud::device::xdp
