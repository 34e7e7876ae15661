#include "virtual_job.hpp"

#include <stdexcept>

namespace csaud::testing {

// What is posted leaves with send(), once the executor has done all that it has to.
class VirtualJob::Port final : public collectives::Port {
  public:
    Port(VirtualJob& job, std::uint16_t rank) : job_(job), rank_(rank) {}

    std::uint64_t post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                            const Hints& hints, Nanos now) override {
        ++posted_;
        ++job_.sends_;
        ++job_.sends_open_;
        job_.posted_[key_of(name, dst)] = now;
        return job_.network_.endpoint(rank_).post_send(name, dst, buffer, hints, now);
    }
    std::uint64_t post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                            const Hints& hints, Nanos now) override {
        ++posted_;
        ++job_.awaited_;
        return job_.network_.endpoint(rank_).post_recv(name, src, buffer, hints, now);
    }

    void send() { job_.network_.serve(rank_, posted_); }

  private:
    VirtualJob& job_;
    std::uint16_t rank_;
    std::size_t posted_ = 0;
};

VirtualJob::VirtualJob(std::uint16_t world, const EndpointConfig& base, const LinkModel& link,
                       const Chance& chance)
    : network_(world, base, link, chance) {
    network_.keep_last_packets(false);
    network_.on_completion([this](std::uint16_t rank, const Completion& c) { completed(rank, c); });
    for (std::uint16_t rank = 0; rank < world; ++rank)
        executors_.push_back(std::make_unique<collectives::Executor>(rank, base.epoch));
}

VirtualJob::Key VirtualJob::key_of(const MessageName& name, std::uint16_t dst) {
    return {name.src_rank, dst, name.comm, name.coll_seq, name.step, name.chunk};
}

void VirtualJob::start(std::uint16_t rank, collectives::Execution& execution) {
    collectives::Executor& executor = *executors_.at(rank);
    Port port(*this, rank);
    executor.start(execution, port, network_.now());
    port.send();
}

// Reductions take no time.
void VirtualJob::completed(std::uint16_t rank, const Completion& c) {
    if (c.status != Status::ok)
        throw std::runtime_error(std::string("a transfer ended: ") + to_string(c.status));
    if (c.kind == CompletionKind::send) {
        --sends_open_;
    } else {
        --awaited_;
        const auto sent = posted_.find(key_of(c.name, rank));
        arrivals_.push_back({c.name.comm, sent->second, c.finished_ns});
        posted_.erase(sent);
    }
    collectives::Executor& executor = *executors_[rank];
    Port port(*this, rank);
    executor.on_completion(c, port, network_.now());
    while (const auto piece = executor.next_piece()) {
        piece->work();
        executor.on_piece(port, network_.now());
    }
    port.send();
}

bool VirtualJob::run(Nanos until) {
    // Far shorter than a collective, and long enough not to be noticed.
    constexpr Nanos kSlice = 10 * kMicrosecond;
    while (awaited_ != 0 && network_.now() < until) network_.run_until(network_.now() + kSlice);
    return awaited_ == 0;
}

}  // namespace csaud::testing
