// Other libraries' arrays through DLPack, without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

// The memory of an array of another library, as bytes in an array of numpy's: one more dimension, of an
// element's bytes. It lives as long as that does.
template <class Given, class Byte>
nb::object bytes_of(Given&& given) {
    const auto element = static_cast<std::size_t>(given.itemsize());
    std::vector<std::size_t> shape;
    std::vector<std::int64_t> strides;
    for (std::size_t i = 0; i < given.ndim(); ++i) {
        shape.push_back(given.shape(i));
        strides.push_back(given.stride(i) * static_cast<std::int64_t>(element));
    }
    shape.push_back(element);
    strides.push_back(1);
    auto owned = std::make_unique<std::decay_t<Given>>(std::forward<Given>(given));
    auto* const data = const_cast<void*>(static_cast<const void*>(owned->data()));
    nb::capsule owner(owned.get(),
                      [](void* held) noexcept { delete static_cast<std::decay_t<Given>*>(held); });
    owned.release();
    return nb::cast(nb::ndarray<nb::numpy, Byte>(data, shape.size(), shape.data(), owner, strides.data()));
}

nb::tuple dlpack_memory(nb::handle object) {
    using Writable = nb::ndarray<nb::device::cpu>;
    using ReadOnly = nb::ndarray<nb::ro, nb::device::cpu>;
    const auto result = [](nb::object bytes, nb::dlpack::dtype type) {
        return nb::make_tuple(bytes, type.code, type.bits, type.lanes);
    };
    if (Writable given; nb::try_cast<Writable>(object, given, false)) {
        const nb::dlpack::dtype type = given.dtype();
        if (type.bits % 8 != 0 || type.lanes != 1) return result(nb::none(), type);
        return result(bytes_of<Writable, std::uint8_t>(std::move(given)), type);
    }
    if (ReadOnly given; nb::try_cast<ReadOnly>(object, given, false)) {
        const nb::dlpack::dtype type = given.dtype();
        if (type.bits % 8 != 0 || type.lanes != 1) return result(nb::none(), type);
        return result(bytes_of<ReadOnly, const std::uint8_t>(std::move(given)), type);
    }
    throw std::invalid_argument("it gives no memory of this machine's through DLPack");
}

}  // namespace

void bind_arrays(nb::module_& m) {
    m.def(
        "dlpack_memory", &dlpack_memory, "object"_a,
        "The memory of an object with __dlpack__, not copied: (array of numpy's of its bytes, with one more "
        "dimension of an element's; DLPack's type code, bits and lanes). No array where elements are not "
        "of whole bytes.");
}

}  // namespace csaud::bindings
