#include "library.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace csaud::device::verbs {
namespace {

std::string file() {
    const char* given = std::getenv("CSAUD_LIBIBVERBS");
    return given != nullptr && *given != '\0' ? given : "libibverbs.so.1";
}

class Loader {
  public:
    Loader() : file_(file()), handle_(::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) throw std::runtime_error(std::string("libibverbs: ") + ::dlerror());
    }

    template <class Function>
    void find(Function& function, const char* name) const {
        function = reinterpret_cast<Function>(::dlsym(handle_, name));
        if (function == nullptr) throw std::runtime_error(file_ + " has no " + name);
    }

  private:
    std::string file_;
    void* handle_;  // stays open: the library keeps threads and providers of its own
};

Library load() {
    const Loader loader;
    Library l{};
    loader.find(l.get_device_list, "ibv_get_device_list");
    loader.find(l.free_device_list, "ibv_free_device_list");
    loader.find(l.get_device_name, "ibv_get_device_name");
    loader.find(l.open_device, "ibv_open_device");
    loader.find(l.close_device, "ibv_close_device");
    loader.find(l.query_device, "ibv_query_device");
    loader.find(l.query_port, "ibv_query_port");
    loader.find(l.query_gid_table, "_ibv_query_gid_table");
    loader.find(l.alloc_pd, "ibv_alloc_pd");
    loader.find(l.dealloc_pd, "ibv_dealloc_pd");
    loader.find(l.reg_mr, "ibv_reg_mr");
    loader.find(l.dereg_mr, "ibv_dereg_mr");
    loader.find(l.create_comp_channel, "ibv_create_comp_channel");
    loader.find(l.destroy_comp_channel, "ibv_destroy_comp_channel");
    loader.find(l.create_cq, "ibv_create_cq");
    loader.find(l.destroy_cq, "ibv_destroy_cq");
    loader.find(l.get_cq_event, "ibv_get_cq_event");
    loader.find(l.ack_cq_events, "ibv_ack_cq_events");
    loader.find(l.get_async_event, "ibv_get_async_event");
    loader.find(l.ack_async_event, "ibv_ack_async_event");
    loader.find(l.create_qp, "ibv_create_qp");
    loader.find(l.modify_qp, "ibv_modify_qp");
    loader.find(l.query_qp, "ibv_query_qp");
    loader.find(l.destroy_qp, "ibv_destroy_qp");
    loader.find(l.create_ah, "ibv_create_ah");
    loader.find(l.destroy_ah, "ibv_destroy_ah");
    return l;
}

}  // namespace

const Library& library() {
    static const Library loaded = load();  // a failure is tried again by the next call
    return loaded;
}

void throw_error(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

Context open(const std::string& name) {
    const Library& l = library();
    int count = 0;
    ibv_device** list = l.get_device_list(&count);
    if (list == nullptr) throw_error(errno, "list the RDMA devices");
    ibv_context* context = nullptr;
    int error = ENODEV;
    for (int i = 0; i < count; ++i) {
        if (name != l.get_device_name(list[i])) continue;
        context = l.open_device(list[i]);
        error = errno;
    }
    l.free_device_list(list);
    if (context == nullptr) throw_error(error, "open RDMA device " + name);
    return Context(context);
}

Domain::Domain(const std::string& device) : context(open(device)), pd(library().alloc_pd(context.get())) {
    if (!pd) throw_error(errno, "allocate a protection domain on " + device);
}

}  // namespace csaud::device::verbs
