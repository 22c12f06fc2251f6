/* Runs the main queue on the main thread. Preloaded into a program that callgrind counts: in
   libdispatch's own dispatch_main the main thread exits while others go on, and valgrind does not
   outlive that. */
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

/* libdispatch has them for run loops, such as CoreFoundation's. */
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *);

__attribute__((noreturn)) void dispatch_main(void) {
    struct pollfd queue = {.fd = _dispatch_get_main_queue_handle_4CF(), .events = POLLIN};
    uint64_t count;
    for (;;) {
        if (poll(&queue, 1, -1) == 1 && read(queue.fd, &count, sizeof count) == sizeof count)
            _dispatch_main_queue_callback_4CF(0);
    }
}
