/* The wall clock of a program that is compared: the milliseconds in a file, so that two programs
 * live at the same time, and seconds pass when the comparison says so. Preloaded; the monotonic
 * clock, by which timers run, stays. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const volatile int64_t *milliseconds;
static int (*original)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_clock(void) {
    original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("COMPARE_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) milliseconds = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock != CLOCK_REALTIME || !milliseconds) return original(clock, now);
    int64_t value = *milliseconds;
    now->tv_sec = value / 1000;
    now->tv_nsec = value % 1000 * 1000000;
    return 0;
}
