// Binds csaud_sim/plain and csaud_sim/baselines.
#pragma once

#include <nanobind/nanobind.h>

#include "csaud_sim/baselines/transport.hpp"

namespace csaud::sim::plain {

void bind(nanobind::module_& m);

}  // namespace csaud::sim::plain

namespace csaud::sim::baselines {

void bind(nanobind::module_& m);
void bind_endpoint(nanobind::module_& m);
nanobind::dict stats_of(const Books& books);

}  // namespace csaud::sim::baselines
