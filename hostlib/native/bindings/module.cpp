// The Python module csaud._core.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Native part of csaud: protocol core, devices, progress thread.";
#ifdef NDEBUG
    // A thread that still has something of ours when the process ends is its user's business.
    nanobind::set_leak_warnings(false);
#endif
    csaud::bindings::bind_core(m);
    csaud::bindings::bind_arrays(m);
    csaud::bindings::bind_collectives(m);
    csaud::bindings::bind_device(m);
    csaud::bindings::bind_progress(m);
    csaud::bindings::bind_verbs(m);
}
