// Packets of one process for another one of the same host, in memory that both have: a ring of slots with one
// writer and one reader, without a lock, so that neither waits for the other, whatever becomes of it. What
// finds no room is lost and counted, as where a socket's queue is full.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "csaud_host/base/cache_line.hpp"
#include "device.hpp"
#include "file_descriptor.hpp"
#include "mapping.hpp"

namespace csaud::device::shared {

// What the memory begins with; slots follow, each a length of 4 bytes and a packet. Counts of packets since
// the beginning; a packet's slot is its number modulo `slots`.
struct RingHeader {
    std::uint64_t magic;
    std::uint32_t slots;       // a power of two
    std::uint32_t slot_bytes;  // a multiple of a cache line
    alignas(kCacheLine) std::atomic<std::uint64_t> written;
    std::atomic<std::uint64_t> dropped;
    alignas(kCacheLine) std::atomic<std::uint64_t> read;
    std::atomic<std::uint32_t> open;                        // somebody reads
    alignas(kCacheLine) std::atomic<std::uint32_t> asleep;  // the reader wants to be woken
};

// All calls by one thread at a time.
class RingWriter {
  public:
    // For packets of up to `packet_bytes`; as many as fit in `bytes`, at least two and at most `packets`
    // (each rounded down to a power of two). Throws std::system_error where there is no memory to share.
    RingWriter(std::size_t packet_bytes, std::size_t packets, std::size_t bytes);

    // What a reader opens: its size cannot be changed any more. Not needed when the reader has it.
    const FileDescriptor& memory() const { return memory_; }
    void close_memory() { memory_ = {}; }

    // Whether somebody reads it: not before it was handed over and taken.
    bool open() const { return header().open.load(std::memory_order_relaxed) != 0; }
    bool holds(const TxPacket& packet) const { return kLength + packet.size() <= slot_bytes_; }
    // Of one that it holds. Where there is no room it is lost.
    void put(const TxPacket& packet);
    // Lets the reader see what was put; true: it sleeps, and is to be woken.
    bool publish();

  private:
    static constexpr std::size_t kLength = sizeof(std::uint32_t);

    RingHeader& header() const { return *reinterpret_cast<RingHeader*>(mapping_.data()); }

    std::uint32_t slots_;
    std::uint32_t slot_bytes_;
    FileDescriptor memory_;
    Mapping mapping_;
    std::uint64_t written_ = 0;
    std::uint64_t published_ = 0;
    std::uint64_t read_ = 0;  // as last seen
};

// All calls but sleep(), wake() and dropped() by one thread at a time.
class RingReader {
  public:
    // Throws std::invalid_argument where the memory is not a whole ring, std::system_error where it cannot be
    // mapped.
    explicit RingReader(const FileDescriptor& memory);
    ~RingReader() { header().open.store(0, std::memory_order_relaxed); }
    RingReader(const RingReader&) = delete;
    RingReader& operator=(const RingReader&) = delete;

    // Appends up to `most` packets, which live until the next call; true: there are more.
    bool take(std::vector<Packet>& packets, std::size_t most);

    // Says that whoever writes has to wake this process from now on; true: there is something already.
    bool sleep();
    void wake() { header().asleep.store(0, std::memory_order_relaxed); }
    std::uint64_t dropped() const { return header().dropped.load(std::memory_order_relaxed); }

  private:
    RingHeader& header() const { return *reinterpret_cast<RingHeader*>(mapping_.data()); }

    Mapping mapping_;
    std::uint32_t slots_ = 0;  // as the header had them at first: another process can write to it
    std::uint32_t slot_bytes_ = 0;
    std::atomic<std::uint64_t> taken_ = 0;
};

}  // namespace csaud::device::shared
