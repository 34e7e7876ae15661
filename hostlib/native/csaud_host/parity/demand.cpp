#include "csaud_host/parity/demand.hpp"

#include <algorithm>
#include <cmath>

#include "csaud_host/parity/galois.hpp"

namespace csaud {

std::size_t parity_rows_for(double packets, double rate, double burst, double residue) noexcept {
    const double bursts = packets * rate / burst;
    double exactly = std::exp(-bursts);  // Poisson: so many bursts strike a message
    double within = exactly;
    double most = 0;
    while (1 - within > residue && most * burst < static_cast<double>(kMostParityRows)) {
        ++most;
        exactly *= bursts / most;
        within += exactly;
    }
    const double rows = std::ceil(most * burst);  // of any size: bursts are made of what peers say
    return rows < static_cast<double>(kMostParityRows) ? static_cast<std::size_t>(rows) : kMostParityRows;
}

unsigned copies_for(double rate, double residue) noexcept {
    constexpr unsigned kMost = 4;
    unsigned copies = 1;
    for (double all_lost = rate; all_lost > residue && copies < kMost; all_lost *= rate) ++copies;
    return copies;
}

}  // namespace csaud
