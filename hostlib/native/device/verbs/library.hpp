// libibverbs, found at run time: the package neither links it nor needs it where no RDMA device is used.
//
// The variable CSAUD_LIBIBVERBS names another file than the system's.
//
// Its header is needed to build this, its library to run it. Posting and polling are no functions of the
// library at all: the header calls the device's provider through a table in the context.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

namespace csaud::device::verbs {

struct Library {
    decltype(&::ibv_get_device_list) get_device_list;
    decltype(&::ibv_free_device_list) free_device_list;
    decltype(&::ibv_get_device_name) get_device_name;
    decltype(&::ibv_open_device) open_device;
    decltype(&::ibv_close_device) close_device;
    decltype(&::ibv_query_device) query_device;
    int (*query_port)(ibv_context*, std::uint8_t, ibv_port_attr*);  // the header hides it behind a macro
    decltype(&::_ibv_query_gid_table) query_gid_table;              // since rdma-core 32
    decltype(&::ibv_alloc_pd) alloc_pd;
    decltype(&::ibv_dealloc_pd) dealloc_pd;
    ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int);
    decltype(&::ibv_dereg_mr) dereg_mr;
    decltype(&::ibv_create_comp_channel) create_comp_channel;
    decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
    decltype(&::ibv_create_cq) create_cq;
    decltype(&::ibv_destroy_cq) destroy_cq;
    decltype(&::ibv_get_cq_event) get_cq_event;
    decltype(&::ibv_ack_cq_events) ack_cq_events;
    decltype(&::ibv_get_async_event) get_async_event;
    decltype(&::ibv_ack_async_event) ack_async_event;
    decltype(&::ibv_create_qp) create_qp;
    decltype(&::ibv_modify_qp) modify_qp;
    decltype(&::ibv_query_qp) query_qp;
    decltype(&::ibv_destroy_qp) destroy_qp;
    decltype(&::ibv_create_ah) create_ah;
    decltype(&::ibv_destroy_ah) destroy_ah;
};

// Loaded by the first call. Throws std::runtime_error, which says what is missing.
const Library& library();

// Throws std::system_error: `what`, the device's name in it, failed with this errno.
[[noreturn]] void throw_error(int error, const std::string& what);

// Objects of the library that are destroyed with their owner.
template <auto Destroy>
struct Destroyer {
    template <class T>
    void operator()(T* object) const {
        (library().*Destroy)(object);
    }
};
using Context = std::unique_ptr<ibv_context, Destroyer<&Library::close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroyer<&Library::dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Destroyer<&Library::dereg_mr>>;
using AddressHandle = std::unique_ptr<ibv_ah, Destroyer<&Library::destroy_ah>>;
using Pair = std::unique_ptr<ibv_qp, Destroyer<&Library::destroy_qp>>;

// Opens the device of this name. Throws std::system_error where there is none or it cannot be opened.
Context open(const std::string& name);

// An open device, and the domain that all of our objects on it belong to. Kept by whoever keeps one of them.
struct Domain {
    explicit Domain(const std::string& device);

    Context context;
    ProtectionDomain pd;
};

}  // namespace csaud::device::verbs
