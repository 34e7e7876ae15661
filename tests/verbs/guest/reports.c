/* In front of libibverbs (CSAUD_LIBIBVERBS): a device that reports what a test asks for. The file that REPORT_FILE
 * names holds the number of an enum ibv_event_type, and is taken by the next look for reports. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ibv_async_event made;

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) {
    const char *name = getenv("REPORT_FILE");
    FILE *file = name != NULL ? fopen(name, "r") : NULL;
    if (file == NULL) {
        int (*real)(struct ibv_context *, struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_get_async_event");
        return real(context, event);
    }
    int number = 0;
    const int read = fscanf(file, "%d", &number);
    fclose(file);
    unlink(name);
    if (read != 1) abort();
    memset(&made, 0, sizeof made);
    made.event_type = number;
    *event = made;
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event) {
    void (*real)(struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_ack_async_event");
    if (memcmp(event, &made, sizeof made) != 0) real(event);
}
