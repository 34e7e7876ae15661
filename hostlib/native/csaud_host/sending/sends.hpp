// The sends that are under way, with a record of each packet's newest copy, and the names of those that are
// over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csaud_host/base/index_map.hpp"
#include "csaud_host/base/pool.hpp"
#include "csaud_host/base/time.hpp"
#include "csaud_host/contract/completion.hpp"
#include "csaud_host/contract/memory.hpp"
#include "csaud_host/contract/pending_message.hpp"
#include "csaud_host/messages/finished.hpp"
#include "csaud_host/messages/send_message.hpp"
#include "csaud_host/peers/context.hpp"
#include "csaud_host/peers/liveness.hpp"

namespace csaud {

class Sends {
  public:
    Sends(Context& c, Liveness& l)
        : ctx_(c), liveness_(l), by_key_(KeyOf{&all_}), acknowledged_(c.config.finished_memory) {}

    // kNone: there is none, or it is over.
    std::uint32_t find(const MessageName& name, std::uint16_t dst) const noexcept {
        return by_key_.find(Key{name, dst});
    }
    SendMessage* find(Handle h) noexcept { return all_.find(h); }
    // Ask only for names that are not found.
    bool acknowledged(const MessageName& name, std::uint16_t dst) const noexcept {
        return acknowledged_.contains(sent_to(name, dst));
    }
    SendMessage& operator[](std::uint32_t i) noexcept { return all_[i]; }
    Handle handle(std::uint32_t i) const noexcept { return all_.handle(i); }
    // Of a packet that was sent.
    PacketRecord& record(const SendMessage& m, std::size_t idx) noexcept {
        return records_.at(m.records, idx);
    }

    std::uint32_t open(const MessageName&, std::uint16_t dst, std::span<const std::byte>, const Hints&,
                       Nanos now);
    // The first packet of it goes.
    void begin(std::uint32_t index, Peer&);
    void note_acknowledged(const SendMessage& m) { acknowledged_.add(sent_to(m.name, m.dst)); }
    // It is over: its caller is told.
    void close(std::uint32_t index, Peer&, Status, std::uint16_t rank, Nanos now);

    // Copies that the receiver had no room for are under way again, or no concern any more.
    static void under_way_again(SendMessage& m, Peer& peer) noexcept {
        peer.window.sent_again(m.refused);
        m.refused = 0;
    }

    std::size_t unfinished() const noexcept { return all_.in_use(); }
    template <class F>
    void for_each(F&& f) {
        for (std::uint32_t i = 0; i < all_.capacity(); ++i) {
            if (all_[i].id != 0) f(i);
        }
    }
    void list(std::vector<PendingMessage>&) const;
    void report(MemoryUse& use) const noexcept {
        use.sends = all_.bytes() + by_key_.bytes();
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
        const Pool<SendMessage>* all;
        Key operator()(std::uint32_t i) const noexcept { return {(*all)[i].name, (*all)[i].dst}; }
    };
    static MessageName sent_to(MessageName name, std::uint16_t dst) noexcept {
        name.src_rank = dst;
        return name;
    }

    Context& ctx_;
    Liveness& liveness_;
    Pool<SendMessage> all_;
    RecordPool records_;
    IndexMap<KeyOf> by_key_;
    FinishedMessages acknowledged_;  // names with the destination for a source, which is ourselves
};

}  // namespace csaud
