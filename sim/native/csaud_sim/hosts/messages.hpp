// What messages of collectives took, from the post of the send until the receive was complete.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collectives/endpoint_port.hpp"
#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

struct Message {
    std::uint16_t src = 0, dst = 0;
    std::uint16_t comm = 0;
    std::uint32_t collective = 0;  // number within the communicator
    std::uint64_t bytes = 0;
    Nanos posted = 0;
    Nanos arrived = 0;
};

class Messages {
  public:
    void posted(const MessageName& name, std::uint16_t dst, std::uint64_t bytes, Nanos now) {
        open_[{name, dst}] = {name.src_rank, dst, name.comm, name.coll_seq, bytes, now, 0};
    }
    void arrived(const MessageName& name, std::uint16_t dst, Nanos now) {
        const auto found = open_.find({name, dst});
        if (found == open_.end()) return;
        Message message = found->second;
        open_.erase(found);
        message.arrived = now;
        over_.push_back(message);
    }
    // In the order of their arrivals.
    const std::vector<Message>& over() const { return over_; }

  private:
    struct Key {
        MessageName name;
        std::uint16_t dst = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept {
            return static_cast<std::size_t>(hash_value(key.name) ^ key.dst * 0x9E3779B97F4A7C15ULL);
        }
    };

    std::unordered_map<Key, Message, Hash> open_;
    std::vector<Message> over_;
};

// An endpoint as the executor's port, with its sends noted.
class NotingPort final : public collectives::Port {
  public:
    NotingPort(Endpoint& endpoint, const Engine& engine, Messages* messages)
        : port_(endpoint), engine_(engine), messages_(messages) {}

    std::uint64_t post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                            const Hints& hints, Nanos now) override {
        if (messages_ != nullptr) messages_->posted(name, dst, buffer.size(), engine_.now());
        return port_.post_send(name, dst, buffer, hints, now);
    }
    std::uint64_t post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                            const Hints& hints, Nanos now) override {
        return port_.post_recv(name, src, buffer, hints, now);
    }

  private:
    collectives::EndpointPort port_;
    const Engine& engine_;
    Messages* messages_;
};

}  // namespace csaud::sim
