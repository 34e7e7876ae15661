#include "workload.hpp"

#include <algorithm>

namespace csaud::testing {
namespace {

// When a rank's steps end after its begin, as csaud.collectives.timing learns it.
struct StepTime {
    Nanos mean = 0;
    Nanos deviation = 0;

    void learn(Nanos took) noexcept {
        const Nanos error = took - mean;
        if (mean == 0) {
            mean = took;
            deviation = took / 2;
            return;
        }
        mean += error / 8;
        deviation += ((error < 0 ? -error : error) - deviation) / 4;
    }
};

class Run {
  public:
    Run(const Workload& load, const EndpointConfig& config, const LinkModel& link, const Chance& chance)
        : load_(load), net_(load.ranks, config, link, chance) {
        net_.keep_last_packets(false);
        net_.on_completion([this](std::uint16_t rank, const Completion& c) { completed(rank, c); });
        bytes_ = load.packets * net_.endpoint(0).payload_per_packet();
        urgent_bytes_ = load.urgent_packets * net_.endpoint(0).payload_per_packet();
        posted_.resize(std::size_t{load.ranks} * rows());
        times_.resize(std::size_t{load.ranks} * steps());
        ends_.resize(times_.size());
    }

    WorkloadResult all() {
        result_.finished = true;
        for (unsigned i = 0; i < load_.iterations && result_.finished; ++i) iteration(i);
        for (std::uint16_t r = 0; r < load_.ranks; ++r) {
            const Stats& s = net_.endpoint(r).stats();
#define CSAUD_ADD(name, help) result_.totals.name += s.name;
            CSAUD_STATS(CSAUD_ADD)
#undef CSAUD_ADD
        }
        result_.counts = net_.counts();
        result_.sends_open = sends_open_;
        return std::move(result_);
    }

  private:
    std::uint16_t steps() const noexcept {
        return ring() ? static_cast<std::uint16_t>(2 * (load_.ranks - 1)) : 1;
    }
    bool ring() const noexcept {
        return load_.pattern == Pattern::ring || load_.pattern == Pattern::urgent;
    }
    bool bulk() const noexcept {
        return load_.pattern == Pattern::urgent;
    }
    // Messages that a rank may send: by step in a ring, by destination otherwise.
    std::size_t rows() const noexcept {
        return ring() ? steps() : load_.ranks;
    }
    std::uint16_t after(std::uint16_t rank, unsigned n = 1) const noexcept {
        return static_cast<std::uint16_t>((rank + n) % load_.ranks);
    }

    void iteration(unsigned number) {
        measured_ = number >= load_.warm_up;
        coll_seq_ = number + 1;
        const Nanos began = began_ = net_.now();
        open_ = 0;
        for (std::uint16_t r = 0; r < load_.ranks; ++r) receives(r);
        for (std::uint16_t r = 0; r < load_.ranks; ++r) sends(r);
        ended_ = 0;
        while (open_ != 0 && net_.now() < began + load_.limit) net_.run_until(net_.now() + kSlice);
        if (open_ != 0) result_.finished = false;
        if (measured_) result_.completions.push_back(ended_ - began);
        for (std::size_t i = 0; i < times_.size(); ++i) times_[i].learn(ends_[i] - began);
        net_.run_until(net_.now() + load_.pause);
    }

    void receives(std::uint16_t rank) {
        switch (load_.pattern) {
            case Pattern::urgent:
                for (std::uint16_t n = 1; n < load_.ranks; ++n) receive_bulk(rank, after(rank, n));
                [[fallthrough]];
            case Pattern::ring:
                for (std::uint16_t s = 0; s < steps(); ++s) receive(rank, after(rank, load_.ranks - 1U), s);
                break;
            case Pattern::all_to_all:
                for (std::uint16_t n = 1; n < load_.ranks; ++n) receive(rank, after(rank, n), 0);
                break;
            case Pattern::incast:
                for (std::uint16_t n = 1; rank == 0 && n < load_.ranks; ++n) receive(0, n, 0);
        }
    }

    void sends(std::uint16_t rank) {
        switch (load_.pattern) {
            case Pattern::urgent:
                for (std::uint16_t n = 1; n < load_.ranks; ++n) send_bulk(rank, after(rank, n));
                [[fallthrough]];
            case Pattern::ring:
                return send(rank, after(rank), 0);
            case Pattern::all_to_all:
                for (unsigned n = 1; n < load_.ranks; ++n) send(rank, after(rank, n), 0);
                return;
            case Pattern::incast:
                if (rank != 0) send(rank, 0, 0);
        }
    }

    MessageName name(std::uint16_t step) const noexcept {
        MessageName n;
        n.coll_seq = coll_seq_;
        n.step = step;
        return n;
    }
    Hints hints(std::uint16_t rank, std::uint16_t step) const noexcept {
        const StepTime* time = &times_[std::size_t{rank} * steps() + step];
        Hints h;
        h.fan_in = load_.pattern == Pattern::incast ? static_cast<std::uint16_t>(load_.ranks - 1) : 1;
        h.chain = static_cast<std::uint16_t>(steps() - 1 - step);
        if (bulk()) h.cls = 0;
        if (time->mean == 0) return h;  // the first run
        h.due = began_ + time->mean + 4 * time->deviation;
        if (step == 0) return h;
        h.expected_start = began_ + time[-1].mean;
        h.jitter = time[-1].deviation;
        return h;
    }
    Nanos& posted_at(std::uint16_t src, std::uint16_t dst, std::uint16_t step) {
        return posted_[src * rows() + (ring() ? step : dst)];
    }

    MessageName bulk_name() const noexcept {
        MessageName n = name(0);
        n.comm = kBulk;
        return n;
    }
    void receive_bulk(std::uint16_t rank, std::uint16_t src) {
        ++open_;
        net_.post_recv(rank, src, bulk_name(), bytes_, {});
    }
    void send_bulk(std::uint16_t rank, std::uint16_t dst) {
        count_send();
        net_.post_send(rank, dst, bulk_name(), std::vector<std::byte>(bytes_), {});
    }
    std::size_t bytes() const noexcept {
        return bulk() ? urgent_bytes_ : bytes_;
    }
    void count_send() noexcept {
        ++result_.sends;
        ++sends_open_;
    }

    void receive(std::uint16_t rank, std::uint16_t src, std::uint16_t step) {
        ++open_;
        net_.post_recv(rank, src, name(step), bytes(), hints(rank, step));
    }
    void send(std::uint16_t rank, std::uint16_t dst, std::uint16_t step) {
        posted_at(rank, dst, step) = net_.now();
        count_send();
        net_.post_send(rank, dst, name(step), std::vector<std::byte>(bytes()), hints(rank, step));
    }

    void completed(std::uint16_t rank, const Completion& c) {
        net_.forget(rank, c.id);
        if (c.kind != CompletionKind::recv) {
            --sends_open_;
            return;
        }
        --open_;
        if (c.name.comm == kBulk) return;
        ended_ = c.finished_ns;
        const std::uint16_t step = c.name.step;
        ends_[std::size_t{rank} * steps() + step] = c.finished_ns;
        if (measured_) result_.flows.push_back(c.finished_ns - posted_at(c.name.src_rank, rank, step));
        if (ring() && step + 1 < steps()) send(rank, after(rank), static_cast<std::uint16_t>(step + 1));
    }

    static constexpr Nanos kSlice = 10 * kMicrosecond;
    static constexpr std::uint16_t kBulk = 1;  // communicator

    Workload load_;
    VirtualNetwork net_;
    WorkloadResult result_;
    std::vector<Nanos> posted_;
    std::vector<StepTime> times_;   // by rank and step
    std::vector<Nanos> ends_;       // the same, of this iteration
    std::size_t bytes_ = 0;         // of a message
    std::size_t urgent_bytes_ = 0;  // of one of the ring beside others
    std::uint64_t sends_open_ = 0;
    std::size_t open_ = 0;  // receives
    std::uint32_t coll_seq_ = 0;
    Nanos began_ = 0;
    Nanos ended_ = 0;
    bool measured_ = false;
};

}  // namespace

WorkloadResult run(const Workload& load, const EndpointConfig& config, const LinkModel& link,
                   const Chance& chance) {
    return Run(load, config, link, chance).all();
}

}  // namespace csaud::testing
