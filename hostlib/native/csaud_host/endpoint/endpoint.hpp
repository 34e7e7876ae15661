// One rank's protocol endpoint: packets, posts and the time go in; packets, completions and the next deadline
// come out. No I/O, no clock, no thread, no randomness. Not thread-safe: the caller serialises.
//
// A caller's turn: hand in what arrived (on_packet), then on_timer if next_deadline() has come, then next_tx
// until it says false, then next_completion until it says false. Draining arrivals before on_timer matters:
// what waits unread in a socket looks like loss to a timer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/completion.hpp"
#include "csaud_host/contract/config.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/contract/stats.hpp"
#include "csaud_host/paths/path_states.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

// One IPv4 packet for a device: three pieces to gather, the payload not copied. The payload stays valid until
// the completion of its send is taken with next_completion; send (or copy) it before that.
struct TxPacket {
    std::array<std::byte, 320> head;  // IPv4 + UDP + BTH + DETH + CSA [+ control part and bitmap]
    std::uint16_t head_len = 0;
    std::span<const std::byte> payload;
    std::array<std::byte, 16> tail;  // [tag +] pad + iCRC
    std::uint8_t tail_len = 0;
    std::uint32_t dst_ipv4 = 0;  // host byte order
    std::uint32_t dst_qpn = 0;   // for devices that build BTH themselves
    std::uint16_t dst_rank = 0;
    std::uint16_t path = 0;

    std::size_t size() const noexcept { return head_len + payload.size() + tail_len; }
};

class EndpointImpl;

class Endpoint {
  public:
    // Throws std::invalid_argument naming the setting that is impossible.
    explicit Endpoint(const EndpointConfig&);
    ~Endpoint();
    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;

    // Address of another rank; before anything is posted for it. ipv4 in host byte order.
    void set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn);

    // Posts a message (at most max_message_bytes()); the buffer must live, unchanged, until its completion.
    // Returns the completion's id. Throws std::invalid_argument for an impossible or repeated name or size.
    std::uint64_t post_send(const MessageName&, std::uint16_t dst, std::span<const std::byte>, const Hints&,
                            Nanos now);
    // Posts a receive of exactly buffer.size() bytes, before or after the data comes.
    std::uint64_t post_recv(const MessageName&, std::uint16_t src, std::span<std::byte>, const Hints&,
                            Nanos now);

    // One packet as received, from its IPv4 header on (trailing bytes beyond the IP length are ignored).
    void on_packet(std::span<const std::byte> ipv4_packet, Nanos now);

    // The same of packets that came together, in order; `before(i)` is called right before packet i is taken.
    // Where they are of many peers, what later ones need of memory is fetched meanwhile.
    template <class Before>
    void on_packets(std::span<const std::span<const std::byte>> packets, Nanos now, Before&& before) {
        const auto take = [&](const std::span<const std::byte>& packet) {
            before(static_cast<std::size_t>(&packet - packets.data()));
            on_packet(packet, now);
        };
        if (!on_batch(packets.size())) {
            for (const auto& packet : packets) take(packet);
            return;
        }
        for (std::size_t i = 0; i < packets.size(); ++i) {
            foresee(packets, i);
            take(packets[i]);
        }
    }

    // Fills the next packet to send; false: nothing to send now (window, pacing).
    bool next_tx(TxPacket&, Nanos now);

    // What next_tx gave so far has left the device by now. Optional: it tells a burst that its own process
    // held up (and that therefore looks old) from one that is lost.
    void sent(Nanos now);

    void on_timer(Nanos now);
    // When on_timer or next_tx has work next; kNever: only a packet or a post will give it some. May be
    // early, and after a whole turn `now` again, or before it: what is due then has its place in the next
    // turn.
    Nanos next_deadline() const;

    bool next_completion(Completion&);

    // Packets to no peer take this path any more, or may again: the controller knows it for bad.
    void deny_path(std::uint16_t path, bool denied);
    // What is thought of a path to a peer.
    PathState path_state(std::uint16_t rank, std::uint16_t path) const;

    // Ends everything unfinished with Status::aborted, here and at every peer. `note` says why, to people: at
    // most wire::kMaxNoteBytes of it are sent.
    void abort(Nanos now, std::string_view note = {});
    // Tells another rank a note, with a PROBE of the peer; a lost one is not repeated. At most
    // wire::kMaxNoteBytes of it are sent.
    void tell(std::uint16_t rank, std::string_view note);
    // The latest note of each rank that told one since this was last asked.
    std::map<std::uint16_t, std::string> take_notes();

    bool aborted() const;
    // What came with the ABORT that ended this endpoint, or went with its own; may be empty.
    const std::string& abort_note() const;

    // No unfinished message, nothing queued, and no packet for the linger time: what was sent has settled.
    bool quiescent(Nanos now) const;

    // When `rank` was last heard (0: never), for error messages.
    Nanos last_contact(std::uint16_t rank) const;

    // What is not over, in no order: posted, or come and not expected. Takes a look at each; not for the fast
    // path.
    std::vector<PendingMessage> pending() const;

    const Stats& stats() const;
    MemoryUse memory() const;
    const EndpointConfig& config() const;

    std::size_t payload_per_packet() const;
    std::size_t max_message_bytes() const;  // 512 packets

  private:
    bool on_batch(std::size_t packets);
    void foresee(std::span<const std::span<const std::byte>> packets, std::size_t i);

    std::unique_ptr<EndpointImpl> impl_;
};

}  // namespace csaud
