// The progress of an endpoint on a device, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "held_buffers.hpp"
#include "held_execution.hpp"
#include "progress.hpp"
#include "stream.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

// How long a wait leaves Python's lock released before it looks for signals (Ctrl-C).
constexpr Nanos kSignalCheck = 50 * kMillisecond;
constexpr double kForEver = 1e9;  // seconds

Nanos from_seconds(double seconds) {
    return static_cast<Nanos>(std::clamp(seconds, 0.0, 1e9) * 1e9);
}

// The progress thread with the buffers of what is posted. Called with Python's lock held.
class PyProgress {
  public:
    PyProgress(const EndpointConfig& config, std::shared_ptr<device::Device> dev, std::size_t batch,
               double spin_s)
        : rank_(config.rank),
          epoch_(config.epoch),
          progress_(config, std::move(dev), batch, from_seconds(spin_s)) {}

    ~PyProgress() { stop(); }
    PyProgress(const PyProgress&) = delete;
    PyProgress& operator=(const PyProgress&) = delete;

    device::Progress& native() { return progress_; }

    void stop() {
        {
            const nb::gil_scoped_release release;
            progress_.stop();
        }
        buffers_.clear();
        executions_.clear();
    }

    void start(const std::shared_ptr<HeldExecution>& execution) {
        begin(execution, [&] {
            const nb::gil_scoped_release release;
            pin_all(*execution);
            progress_.start(execution->native());
        });
    }

    bool run(const std::shared_ptr<HeldExecution>& execution, double timeout_s) {
        bool over = false;
        begin(execution, [&] {
            bool started = false;
            over = repeat_until(timeout_s, [&](Nanos slice) {
                if (started) return progress_.wait(execution->native(), slice);
                pin_all(*execution);
                started = true;
                return progress_.run(execution->native(), slice);
            });
        });
        if (over) let_go(*execution);
        return over;
    }

    bool wait_for(HeldExecution& execution, double timeout_s) {
        const bool over =
            repeat_until(timeout_s, [&](Nanos slice) { return progress_.wait(execution.native(), slice); });
        if (over) let_go(execution);
        return over;
    }

    void watch_any(const std::vector<std::shared_ptr<HeldExecution>>& executions, double timeout_s) {
        const auto wanted = natives(executions);
        const nb::gil_scoped_release release;
        progress_.watch_any(wanted, from_seconds(timeout_s));
    }

    void recall() {
        const nb::gil_scoped_release release;
        progress_.recall();
    }

    bool wait_any(const std::vector<std::shared_ptr<HeldExecution>>& executions, double timeout_s) {
        const auto wanted = natives(executions);
        const bool over =
            repeat_until(timeout_s, [&](Nanos slice) { return progress_.wait_any(wanted, slice); });
        for (const auto& execution : executions) {
            if (execution->native().over()) let_go(*execution);
        }
        return over;
    }

    HeldBuffer pin(nb::handle buffer) {
        HeldBuffer held(buffer, false);
        const nb::gil_scoped_release release;
        held.keep(progress_.pin(held.whole()));
        return held;
    }

    std::vector<std::pair<std::uint64_t, std::uint32_t>> awaited(const HeldExecution& execution) {
        const nb::gil_scoped_release release;
        std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
        for (const auto& [id, operation] : progress_.awaited(execution.native()))
            found.emplace_back(id, operation);
        return found;
    }

    std::vector<Nanos> flow_times() {
        const nb::gil_scoped_release release;
        return progress_.flow_times();
    }

    std::uint64_t post(bool is_send, std::uint16_t peer, std::uint16_t comm, std::uint32_t coll_seq,
                       std::uint16_t step, std::uint16_t chunk, nb::handle buffer, std::size_t offset,
                       std::size_t length, const Hints& hints) {
        HeldBuffer held(buffer, !is_send);
        const auto bytes = held.part(offset, length);
        const MessageName name{comm, epoch_, coll_seq, step, is_send ? rank_ : peer, chunk};
        const std::uint64_t id = [&] {
            const nb::gil_scoped_release release;
            held.keep(progress_.pin(held.whole()));
            return is_send ? progress_.post_send(name, peer, bytes, hints)
                           : progress_.post_recv(name, peer, bytes, hints);
        }();
        buffers_.hold(id, std::move(held));
        return id;
    }

    std::vector<Completion> wait(double timeout_s) {
        std::vector<Completion> completions;
        repeat_until(timeout_s, [&](Nanos slice) { return progress_.wait(completions, slice); });
        for (const Completion& completion : completions) buffers_.release(completion.id);
        return completions;
    }

    // Native messages for a measurement; the completion that failed, if any, ends them.
    nb::tuple stream(perf::Role role, std::uint16_t peer, std::uint16_t comm, std::uint32_t first,
                     std::size_t bytes, std::uint32_t messages, unsigned depth, nb::handle buffer) {
        HeldBuffer held(buffer, true);
        if (depth == 0) throw std::invalid_argument("depth: at least 1");
        const std::size_t places =
            (role == perf::Role::send ? 0U : depth) + (role == perf::Role::receive ? 0U : 1U);
        const auto part = held.part(0, places * bytes);
        perf::Stream stream(progress_, {role, rank_, peer, epoch_, comm, first, bytes, messages, depth},
                            part);
        repeat_until(kForEver, [&](Nanos slice) { return stream.run(slice); });
        return nb::make_tuple(stream.times(), stream.elapsed(), stream.failed());
    }

    bool wait_quiescent(double timeout_s) {
        return repeat_until(timeout_s, [&](Nanos slice) { return progress_.wait_quiescent(slice); });
    }

    nb::dict stats() {
        const Stats stats = [this] {
            const nb::gil_scoped_release release;
            return progress_.stats();
        }();
        nb::dict result;
        stats.for_each([&](const char* name, std::uint64_t value) { result[name] = value; });
        const device::DeviceCounters counters = progress_.device_counters();
        result["tx_blocked"] = counters.tx_blocked;
        result["tx_copied"] = counters.tx_copied;
        result["device_reports"] = counters.device_reports;
        result["device_restarts"] = counters.device_restarts;
        stats.for_each_path([&](const char* name, const auto& values) { result[name] = nb::cast(values); });
        return result;
    }

    nb::bytes abort_note() {
        const std::string note = [this] {
            const nb::gil_scoped_release release;
            return progress_.abort_note();
        }();
        return nb::bytes(note.data(), note.size());
    }

    std::vector<PendingMessage> pending() {
        const nb::gil_scoped_release release;
        auto all = progress_.pending();
        std::erase_if(all, [](const PendingMessage& m) { return !m.posted; });
        return all;
    }

    void tell(std::uint16_t rank, const nb::bytes& note) {
        const std::string text(note.c_str(), note.size());
        const nb::gil_scoped_release release;
        progress_.tell(rank, text);
    }

    nb::dict take_notes() {
        const auto notes = [this] {
            const nb::gil_scoped_release release;
            return progress_.take_notes();
        }();
        nb::dict result;
        for (const auto& [rank, note] : notes) result[nb::int_(rank)] = nb::bytes(note.data(), note.size());
        return result;
    }

    std::optional<double> silence(std::uint16_t rank) {
        const nb::gil_scoped_release release;
        const std::optional<Nanos> nanos = progress_.silence(rank);
        if (!nanos) return std::nullopt;
        return static_cast<double>(*nanos) * 1e-9;
    }

  private:
    // `start` starts it; its buffers are held until it has settled.
    template <class Start>
    void begin(const std::shared_ptr<HeldExecution>& execution, Start start) {
        using State = collectives::Execution::State;
        if (execution->native().state() != State::ready)
            throw std::invalid_argument("an execution runs once");
        std::erase_if(executions_, [](const auto& earlier) { return earlier->release(); });
        executions_.push_back(execution);
        try {
            start();
        } catch (...) {
            if (execution->native().state() == State::ready) std::erase(executions_, execution);
            throw;
        }
    }

    static std::vector<const collectives::Execution*> natives(
        const std::vector<std::shared_ptr<HeldExecution>>& executions) {
        std::vector<const collectives::Execution*> found;
        for (const auto& execution : executions) found.push_back(&execution->native());
        return found;
    }

    void pin_all(HeldExecution& execution) {
        for (HeldBuffer& buffer : execution.buffers()) buffer.keep(progress_.pin(buffer.whole()));
    }

    void let_go(HeldExecution& execution) {
        if (execution.release())
            std::erase_if(executions_, [&](const auto& held) { return held.get() == &execution; });
    }

    // Calls `wait(slice)` without Python's lock until it returns true, the time is over, or a signal raises.
    template <class Wait>
    bool repeat_until(double timeout_s, Wait wait) {
        for (Nanos left = from_seconds(timeout_s);; left -= kSignalCheck) {
            const bool done = [&] {
                const nb::gil_scoped_release release;
                return wait(std::clamp<Nanos>(left, 0, kSignalCheck));
            }();
            if (done) return true;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (left <= kSignalCheck) return false;
        }
    }

    const std::uint16_t rank_;
    const std::uint16_t epoch_;
    HeldBuffers buffers_;
    std::vector<std::shared_ptr<HeldExecution>> executions_;  // that may not have settled; with the GIL only
    device::Progress progress_;
};

}  // namespace

void bind_progress(nb::module_& m) {
    nb::enum_<perf::Role>(m, "StreamRole", "What an end of Progress.stream does.")
        .value("send", perf::Role::send)
        .value("receive", perf::Role::receive)
        .value("ping", perf::Role::ping)
        .value("pong", perf::Role::pong);

    nb::class_<HeldBuffer>(m, "Pin", "Memory that is registered with the device for as long as this exists.");

    nb::class_<PyProgress>(m, "Progress",
                           "An endpoint, a device and the thread that runs them without Python.")
        .def(nb::init<const EndpointConfig&, std::shared_ptr<device::Device>, std::size_t, double>(),
             "config"_a, "device"_a, "batch"_a, "spin_s"_a = 0.0)
        .def(
            "set_peer",
            [](PyProgress& self, std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
                self.native().set_peer(rank, ipv4, qpn);
            },
            "rank"_a, "ipv4"_a, "qpn"_a)
        .def("start", [](PyProgress& self) { self.native().start(); })
        .def("stop", &PyProgress::stop,
             "Ends the thread and lets the device go; unfinished transfers stay so.")
        .def("post", &PyProgress::post, "is_send"_a, "peer"_a, "comm"_a, "coll_seq"_a, "step"_a, "chunk"_a,
             "buffer"_a, "offset"_a, "length"_a, "hints"_a,
             "Sends bytes [offset, offset + length) of a contiguous buffer to `peer`, or receives into them "
             "from "
             "it; returns the transfer's id.")
        .def("wait", &PyProgress::wait, "timeout_s"_a,
             "Completions since the last call, waiting for the first; empty when the time is over.")
        .def("pin", &PyProgress::pin, "buffer"_a,
             "Registers memory with the device until the result goes; transfers from it find that.")
        .def("start_execution", &PyProgress::start, "execution"_a,
             "Starts a collective; it goes on without Python.")
        .def("run", &PyProgress::run, "execution"_a, "timeout_s"_a,
             "Starts a collective and waits, as wait_for; False when the time is over.")
        .def("wait_for", &PyProgress::wait_for, "execution"_a, "timeout_s"_a,
             "Waits until it has ended or failed; False when the time is over.")
        .def("wait_any", &PyProgress::wait_any, "executions"_a, "timeout_s"_a,
             "Waits until one of them has ended or failed; False when the time is over.")
        .def("watch_any", &PyProgress::watch_any, "executions"_a, "timeout_s"_a,
             "Sleeps until one of them has ended or failed, recall() or the time is over; others drive, "
             "signals "
             "are not looked at.")
        .def("recall", &PyProgress::recall, "Ends the watch that goes on, or else the next one.")
        .def("awaited", &PyProgress::awaited, "execution"_a,
             "What it has posted that is not over: ids, and indices of the operations.")
        .def("flow_times", &PyProgress::flow_times,
             "ns from the first packet to the last one of the latest messages that executions received.")
        .def("stream", &PyProgress::stream, "role"_a, "peer"_a, "comm"_a, "first"_a, "bytes"_a, "messages"_a,
             "depth"_a, "buffer"_a,
             "Messages to or from `peer` without Python: (nanoseconds of each, of all, the completion that "
             "failed or None).")
        .def("wait_quiescent", &PyProgress::wait_quiescent, "timeout_s"_a,
             "Waits until all is acknowledged and quiet; False when the time is over.")
        .def(
            "abort",
            [](PyProgress& self, const std::string& note) {
                const nb::gil_scoped_release release;
                self.native().abort(note);
            },
            "note"_a = "", "Ends what is unfinished, here and at the peers, who are told the note.")
        .def("abort_note", &PyProgress::abort_note, "What came with the ABORT that ended this endpoint.")
        .def("pending", &PyProgress::pending, "What is posted and not over.")
        .def("tell", &PyProgress::tell, "rank"_a, "note"_a, "Sends a note to a rank; it may get lost.")
        .def("take_notes", &PyProgress::take_notes, "The latest note of each rank that told one, by rank.")
        .def(
            "deny_path",
            [](PyProgress& self, std::uint16_t path, bool denied) {
                const nb::gil_scoped_release release;
                self.native().deny_path(path, denied);
            },
            "path"_a, "denied"_a, "Send no DATA on a path; ValueError where there is no such path.")
        .def("stats", &PyProgress::stats,
             "Counters by name; those with _path in their name are lists by path id.")
        .def("silence", &PyProgress::silence, "rank"_a, "Seconds since a rank was last heard, None: never.")
        .def_prop_ro("max_message_bytes", [](PyProgress& self) { return self.native().max_message_bytes(); });
}

}  // namespace csaud::bindings
