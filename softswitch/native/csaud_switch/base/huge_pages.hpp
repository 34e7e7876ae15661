// Memory for large tables: in pages of 2 MiB where the system has them, because a lookup that lands anywhere
// in many megabytes otherwise waits for the processor's page tables as well as for the memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace csaud::sw {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

inline void* take_memory(std::size_t bytes, std::size_t alignment) {
    if (bytes < kHugePage / 2) return ::operator new (bytes, std::align_val_t{alignment});
    const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* made = std::aligned_alloc(kHugePage, whole);
    if (made == nullptr) throw std::bad_alloc();
    ::madvise(made, whole, MADV_HUGEPAGE);  // no matter if it cannot: then in small pages
    return made;
}

inline void give_memory(void* memory, std::size_t bytes, std::size_t alignment) {
    if (bytes < kHugePage / 2) {
        ::operator delete (memory, std::align_val_t{alignment});
    } else {
        std::free(memory);
    }
}

// For containers.
template <typename T>
struct HugeAllocator {
    using value_type = T;
    HugeAllocator() = default;
    template <typename U>
    HugeAllocator(const HugeAllocator<U>&) {}  // NOLINT: all are the same

    T* allocate(std::size_t count) { return static_cast<T*>(take_memory(count * sizeof(T), alignof(T))); }
    void deallocate(T* memory, std::size_t count) { give_memory(memory, count * sizeof(T), alignof(T)); }
    template <typename U>
    bool operator==(const HugeAllocator<U>&) const {
        return true;
    }
};

}  // namespace csaud::sw
