// The one UD queue pair of a process, however many its peers, and the completion queues under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "completion_queues.hpp"
#include "library.hpp"

namespace csaud::device::verbs {

struct QueuePairConfig {
    std::string device;  // as in /sys/class/infiniband
    std::uint8_t port = 1;
    std::size_t sends = 512;  // work requests; fewer where the device has fewer
    std::size_t receives = 4096;
};

class QueuePair {
  public:
    // In state RESET. Throws std::system_error or std::runtime_error.
    explicit QueuePair(const QueuePairConfig&);

    // INIT: receives can be posted, none completes yet.
    void initialise(std::uint32_t qkey);
    // RTS: receives and sends.
    void start();
    // The device touches no memory of ours any more.
    void close() { pair_.reset(); }
    // ERR: every request that is posted completes, as flushed.
    void flush();
    // Whether it is in a state that takes sends.
    bool sends_now() const;
    // RESET: as it was made.
    void reset();

    std::uint32_t number() const { return pair_->qp_num; }
    const std::string& device() const { return config_.device; }
    std::uint8_t port() const { return config_.port; }
    std::size_t sends() const { return config_.sends; }
    std::size_t receives() const { return config_.receives; }
    std::size_t inline_bytes() const { return inline_bytes_; }
    std::size_t address_handles() const { return static_cast<std::size_t>(limits_.max_ah); }

    const std::shared_ptr<Domain>& domain() const { return domain_; }
    ibv_qp* get() const { return pair_.get(); }
    Channel& channel() { return channel_; }
    int event_descriptor() const { return channel_.descriptor(); }
    CompletionQueue& send_completions() { return send_completions_; }
    CompletionQueue& receive_completions() { return receive_completions_; }

  private:
    void create();
    void modify(ibv_qp_attr& attributes, int mask, const char* state);

    std::shared_ptr<Domain> domain_;
    ibv_device_attr limits_;
    QueuePairConfig config_;
    Channel channel_;
    CompletionQueue send_completions_;
    CompletionQueue receive_completions_;
    std::size_t inline_bytes_ = 0;
    Pair pair_;
};

}  // namespace csaud::device::verbs
