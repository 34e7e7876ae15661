// An executor whose messages a test delivers itself, in any order and at any time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "collectives/executor.hpp"
#include "held_execution.hpp"
#include "testnet.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

struct Posted {
    std::uint64_t id = 0;
    bool is_send = false;
    MessageName name;
    std::uint16_t peer = 0;
    Hints hints;
    std::span<std::byte> buffer;  // a send's is only read
};

// Keeps what is posted until a test takes it.
class Board final : public collectives::Port {
  public:
    std::uint64_t post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                            const Hints& hints, Nanos) override {
        return add({0, true, name, dst, hints, {const_cast<std::byte*>(buffer.data()), buffer.size()}});
    }
    std::uint64_t post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                            const Hints& hints, Nanos) override {
        return add({0, false, name, src, hints, buffer});
    }
    std::vector<Posted> take() { return std::exchange(posted_, {}); }

  private:
    std::uint64_t add(Posted posted) {
        posted.id = ++last_;
        posted_.push_back(posted);
        return last_;
    }

    std::vector<Posted> posted_;
    std::uint64_t last_ = 0;
};

class TestExecutor {
  public:
    TestExecutor(std::uint16_t rank, std::uint16_t epoch) : executor_(rank, epoch) {}

    void start(std::shared_ptr<HeldExecution> execution, Nanos now) {
        executions_.push_back(execution);
        executor_.start(execution->native(), board_, now);
    }

    // Nothing is reduced before work().
    bool complete(std::uint64_t id, bool is_send, Status status, std::uint16_t rank, Nanos now) {
        Completion completion;
        completion.id = id;
        completion.kind = is_send ? CompletionKind::send : CompletionKind::recv;
        completion.status = status;
        completion.rank = rank;
        return executor_.on_completion(completion, board_, now);
    }

    // One piece of what is to be reduced; false: there is none.
    bool work(Nanos now) {
        const auto piece = executor_.next_piece();
        if (!piece) return false;
        piece->work();
        executor_.on_piece(board_, now);
        return true;
    }

    std::vector<Posted> take() { return board_.take(); }

  private:
    Board board_;
    collectives::Executor executor_;
    std::vector<std::shared_ptr<HeldExecution>> executions_;
};

}  // namespace

void bind_executor(nb::module_& m) {
    nb::class_<Posted>(m, "Posted", "A message that an executor posted.")
        .def_ro("id", &Posted::id)
        .def_ro("is_send", &Posted::is_send)
        .def_ro("peer", &Posted::peer)
        .def_ro("hints", &Posted::hints)
        .def_prop_ro("comm", [](const Posted& p) { return p.name.comm; })
        .def_prop_ro("coll_seq", [](const Posted& p) { return p.name.coll_seq; })
        .def_prop_ro("step", [](const Posted& p) { return p.name.step; })
        .def_prop_ro("chunk", [](const Posted& p) { return p.name.chunk; })
        .def_prop_ro("bytes", [](const Posted& p) { return p.buffer.size(); })
        .def(
            "read", [](const Posted& p) { return to_bytes(p.buffer); }, "What it sends.")
        .def(
            "write",
            [](const Posted& p, const nb::bytes& payload) {
                if (payload.size() != p.buffer.size()) throw std::invalid_argument("write: another size");
                if (!p.buffer.empty()) std::memcpy(p.buffer.data(), payload.c_str(), payload.size());
            },
            "payload"_a, "What it receives.");
    nb::class_<TestExecutor>(m, "Executor", "Runs executions over messages that its owner delivers.")
        .def(nb::init<std::uint16_t, std::uint16_t>(), "rank"_a, "epoch"_a = 0)
        .def("start", &TestExecutor::start, "execution"_a, "now"_a)
        .def("complete", &TestExecutor::complete, "id"_a, "is_send"_a, "status"_a, "rank"_a, "now"_a,
             "A transfer is over; False: it is of no execution.")
        .def("work", &TestExecutor::work, "now"_a, "Reduces a piece; False: there is none.")
        .def("take", &TestExecutor::take, "What was posted since the last call, in order.");
}

}  // namespace csaud::bindings
