// Collectives on the virtual network.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "held_execution.hpp"
#include "testnet.hpp"
#include "virtual_job.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

class Job {
  public:
    Job(std::uint16_t world, const EndpointConfig& config, const testing::LinkModel& link,
        const testing::Chance& chance)
        : native_(world, config, link, chance) {}

    void start(std::uint16_t rank, std::shared_ptr<HeldExecution> execution) {
        std::erase_if(executions_, [](const auto& earlier) { return earlier->release(); });
        executions_.push_back(execution);
        native_.start(rank, execution->native());
    }

    testing::VirtualJob& native() { return native_; }

  private:
    std::vector<std::shared_ptr<HeldExecution>> executions_;  // that may not have settled
    testing::VirtualJob native_;
};

}  // namespace

void bind_job(nb::module_& m) {
    nb::class_<Job>(m, "Job", "Ranks on a virtual network that run collectives; times in nanoseconds.")
        .def(nb::init<std::uint16_t, const EndpointConfig&, const testing::LinkModel&,
                      const testing::Chance&>(),
             "world"_a, "config"_a, "link"_a, "chance"_a)
        .def("start", &Job::start, "rank"_a, "execution"_a)
        .def(
            "run",
            [](Job& job, Nanos until) {
                const nb::gil_scoped_release release;
                return job.native().run(until);
            },
            "until"_a, "True once everything that ranks wait for has come; False at `until`.")
        .def(
            "take_arrivals",
            [](Job& job) {
                nb::list arrivals;
                for (const testing::Arrival& a : job.native().take_arrivals())
                    arrivals.append(nb::make_tuple(a.comm, a.posted, a.arrived));
                return arrivals;
            },
            "(communicator, when its send was posted, when it was complete) of each message since the last "
            "call.")
        .def_prop_ro("sends", [](Job& job) { return job.native().sends(); })
        .def_prop_ro(
            "sends_open", [](Job& job) { return job.native().sends_open(); },
            "Sends whose senders do not know yet that they arrived.")
        .def_prop_ro(
            "network", [](Job& job) -> testing::VirtualNetwork& { return job.native().network(); },
            nb::rv_policy::reference_internal);
}

}  // namespace csaud::bindings
