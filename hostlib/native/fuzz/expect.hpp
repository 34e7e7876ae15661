// A property that a fuzzer checks: broken, it ends the process, which libFuzzer reports with the input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CSAUD_EXPECT(condition)                                                          \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                \
        }                                                                                \
    } while (false)
