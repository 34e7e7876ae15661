// The sending half of an endpoint: sends under the credit that receivers grant, keeps no timer per packet,
// and decides from what receivers report which copies to send again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "csaud_host/base/index_map.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/loss/retransmit_queue.hpp"
#include "csaud_host/messages/finished.hpp"
#include "csaud_host/messages/send_message.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"

namespace csaud {

class Sender {
  public:
    Sender(Context& c, Liveness& l)
        : ctx_(c),
          liveness_(l),
          rtx_by_{&c.stats.rtx_loss, &c.stats.rtx_gap, &c.stats.rtx_interval, &c.stats.rtx_probe},
          by_key_(KeyOf{&messages_}),
          acknowledged_(c.config.finished_memory),
          rtx_(c.config.repair_order) {}

    std::uint64_t post(const MessageName&, std::uint16_t dst, std::span<const std::byte>, const Hints&,
                       Nanos now);

    enum class Verdict : std::uint8_t { fits, bad_index, bad_loss };

    // Do an ACK or a STATE and what was sent fit together? If not, it must change nothing.
    Verdict judge(const wire::Decoded&);
    // The same of a LOSS that a switch bounced: a copy of ours that was for `dst`.
    Verdict judge_bounce(const wire::Decoded&, std::uint16_t dst);

    void on_ack(const wire::Decoded&, Nanos now);
    // late: how long the packet stood in queues, in nanoseconds.
    void on_state(const wire::Decoded&, Nanos late, Nanos now);
    void on_not_ready(const wire::Decoded&, Nanos now);
    void on_bounce(const wire::Decoded&, std::uint16_t dst, Nanos now);
    // There may be new credit, or room in the window.
    void on_room(Peer&, Nanos now);
    // Our turn to send to a rank to which many do.
    void on_turn(std::uint16_t rank, Nanos now);
    // The receiver has counted so many marks on a path.
    void on_ecn(Peer&, std::uint16_t path, std::uint16_t count);

    // A probe on a path was answered.
    void on_path_answer(Peer&, std::uint16_t path);
    void on_paths_timer(std::uint16_t rank, Nanos now);

    // All copies given out so far have left the device.
    void handed_over(Nanos now) noexcept;

    void on_timer(std::uint32_t index, Nanos now);

    void fail_all(Status, std::uint16_t rank, Nanos now);

    // The next DATA copy to send.
    struct Copy {
        const SendMessage* message = nullptr;
        std::uint16_t pkt_idx = 0;
        PacketRecord record;
        bool asks = false;     // for news of the window
        std::uint8_t cls = 4;  // of the copy: that of its message, and more urgent when sent again
    };
    bool next_copy(Copy&, Nanos now);
    bool has_copies() const noexcept { return !rtx_.empty() || !ready_.empty(); }

    std::size_t unfinished() const noexcept { return messages_.in_use(); }
    void list(std::vector<PendingMessage>&) const;
    void report(MemoryUse& use) const noexcept {
        use.sends = messages_.bytes() + by_key_.bytes();
        use.finished += acknowledged_.bytes();
        use.copies = records_.bytes();
    }

  private:
    // Where a message goes belongs to its name here: one source may send the same name to several.
    struct Key {
        MessageName name;
        std::uint16_t dst = 0;
        friend bool operator==(const Key&, const Key&) = default;
        friend std::uint64_t hash_value(const Key& k) noexcept {
            return hash_value(k.name) + k.dst * 0x9e3779b97f4a7c15ULL;
        }
    };

    struct KeyOf {
        const Pool<SendMessage>* messages;
        Key operator()(std::uint32_t i) const noexcept { return {(*messages)[i].name, (*messages)[i].dst}; }
    };

    // Copies with a tx_ts in [first, last] left at `left` only: the process was held up in between.
    struct HeldUp {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        Nanos begun = kNever;  // kNever: none
        Nanos left = 0;
    };

    SendMessage* find(const MessageName& name, std::uint16_t dst, std::uint32_t* index = nullptr);
    static MessageName sent_to(MessageName name, std::uint16_t dst) noexcept {
        name.src_rank = dst;
        return name;
    }
    bool fits(const SendMessage&, const wire::Decoded&) const noexcept;
    bool was_sent(const SendMessage&, std::uint16_t idx, std::uint8_t attempt) noexcept;
    void merge(SendMessage&, const wire::Decoded&, Nanos now);
    void dispute(SendMessage&, const Bitmap& reported, const Peer&, Nanos now);
    void all_arrived(const SendMessage&, Peer&);
    void probe_paths(Peer&, Nanos now);
    void finish(std::uint32_t index, Status, std::uint16_t rank, Nanos now);
    bool may_send(Peer&) noexcept;
    // The first message of which something never went; nullptr: there is none.
    SendMessage* first_pending(Peer&) noexcept;
    void make_ready(Peer&, Nanos now);
    void ask_at(std::uint32_t index, const Peer&, Nanos now);
    void queue(std::uint32_t index, std::uint16_t idx, Detector, PathFeedback, Nanos now);
    void resend_reported(std::uint32_t index, std::uint16_t idx, std::uint8_t attempt, Nanos now);
    void resend_gap(Peer&, const wire::Decoded&, Nanos now);
    unsigned resend_missing(std::uint32_t index, const Peer&, const wire::Decoded&, Nanos late, Nanos now);
    void answer_interval(const SendMessage*, const wire::Decoded&);
    void awaited(std::uint32_t index, Peer&, Nanos now);
    static void under_way_again(SendMessage&, Peer&) noexcept;
    Nanos age(const PacketRecord&, Nanos now) const noexcept;
    void stamp(SendMessage&, Peer&, PacketRecord&, Nanos now);
    Nanos probe_wait(const Peer&, unsigned rounds) const noexcept;
    static void answered(SendMessage&) noexcept;
    bool repairs_go_first(Nanos now) const noexcept;
    bool next_retransmission(Copy&, Nanos now);
    bool next_first(Copy&, Nanos now);

    Context& ctx_;
    Liveness& liveness_;
    std::uint64_t* rtx_by_[4];  // by Detector
    Pool<SendMessage> messages_;
    RecordPool records_;
    IndexMap<KeyOf> by_key_;
    FinishedMessages acknowledged_;  // names with the destination for a source, which is ourselves
    HeldUp held_up_;
    HeldUp giving_;  // copies given out, not yet known to have left
    RetransmitQueue rtx_;
    bool repaired_ = false;           // the last copy was a retransmission
    RingQueue<std::uint16_t> ready_;  // ranks with packets that never went and credit for them
};

}  // namespace csaud
