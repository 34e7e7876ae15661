// The Python module csaud_testnet.
#include "testnet.hpp"

namespace nb = nanobind;

NB_MODULE(csaud_testnet, m) {
    m.doc() =
        "Endpoints on a virtual network that does to packets what it is told, and small parts of the core.";
    nb::module_::import_("csaud._core");
    csaud::bindings::bind_network(m);
    csaud::bindings::bind_executor(m);
    csaud::bindings::bind_parts(m);
    csaud::bindings::bind_onlink(m);
}
