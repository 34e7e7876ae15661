// One rank of collectives by MPI, for comparison: mpi_worker KIND BYTES ITERATIONS [KIND BYTES ITERATIONS ...].
// Rank 0 prints a JSON list as collective_worker.py does. Plain C, so that it needs nothing but mpicc.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void once(const char* kind, float* whole, float* other, int count, int part) {
    if (strcmp(kind, "all-reduce") == 0)
        MPI_Allreduce(MPI_IN_PLACE, whole, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(kind, "reduce-scatter") == 0)
        MPI_Reduce_scatter_block(whole, other, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(kind, "all-gather") == 0)
        MPI_Allgather(other, part, MPI_FLOAT, whole, part, MPI_FLOAT, MPI_COMM_WORLD);
    else if (strcmp(kind, "all-to-all") == 0)
        MPI_Alltoall(whole, part, MPI_FLOAT, other, part, MPI_FLOAT, MPI_COMM_WORLD);
    else
        MPI_Bcast(whole, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) printf("[");
    for (int i = 1; i + 2 < argc; i += 3) {
        const char* kind = argv[i];
        const long bytes = atol(argv[i + 1]);
        const int iterations = atoi(argv[i + 2]);
        const int part = bytes / 4 / size > 0 ? (int)(bytes / 4 / size) : 1;
        const int count = bytes / 4 > 0 ? (int)(bytes / 4) : 1;
        const size_t room = (size_t)(count > part * size ? count : part * size);
        float* whole = calloc(room, sizeof(float));
        float* other = calloc(room, sizeof(float));
        double* times = calloc((size_t)iterations, sizeof(double));
        for (int n = 0; n < 1 + iterations / 10; ++n) once(kind, whole, other, count, part);
        MPI_Barrier(MPI_COMM_WORLD);
        const double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int n = 0; n < iterations; ++n) {
            const double begin = seconds(CLOCK_MONOTONIC);
            once(kind, whole, other, count, part);
            times[n] = seconds(CLOCK_MONOTONIC) - begin;
        }
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - before, all = 0;
        MPI_Allreduce(&cpu, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        qsort(times, (size_t)iterations, sizeof(double), ascending);
        if (rank == 0)
            printf("%s{\"us\": %.3f, \"cpu\": %.9f}", i > 1 ? ", " : "", times[iterations / 2] * 1e6,
                   all / iterations);
        free(whole);
        free(other);
        free(times);
    }
    if (rank == 0) printf("]\n");
    MPI_Finalize();
    return 0;
}
