// System calls that Swift cannot make, because the C functions take a variable number of arguments
// or are hidden.
//
// It includes no header that declares structs. They would belong to this module then, and files
// that use them would have to import it.

#ifndef HOLDFAST_CPROCESS_H
#define HOLDFAST_CPROCESS_H

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>

extern long syscall(long number, ...);

// Keeps the memory of this process out of core files, and from other processes of the same user
// (PR_SET_DUMPABLE). Returns 0, or -1 with 'errno'.
static inline int cprocess_hideMemory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// Moves this process to a network namespace in which nothing is up, and, if 'withUser' is not 0, to
// a user namespace that maps no user yet. The process must have one thread. Returns 0, or -1 with
// 'errno'. unshare(2)
static inline int cprocess_leaveNetwork(int withUser) {
    long network = 0x40000000, user = 0x10000000;
    return (int)syscall(SYS_unshare, withUser ? network | user : network);
}

// Brings the loopback interface of this process's network namespace up, and listens on a free port
// of 127.0.0.1. Returns the descriptor, or -1 with 'errno'. netdevice(7)
static inline int cprocess_listenOnLoopback(void) {
    // 'struct ifreq' and 'struct sockaddr_in'
    struct { char name[16]; short flags; char rest[22]; } interface = {"lo", 0, ""};
    struct { unsigned short family; unsigned char port[2], host[4], rest[8]; } address =
        {2, {0, 0}, {127, 0, 0, 1}, {0}};
    int descriptor = (int)syscall(SYS_socket, 2, 1, 0);
    if (descriptor < 0) { return -1; }
    // SIOCGIFFLAGS and SIOCSIFFLAGS
    if (syscall(SYS_ioctl, descriptor, 0x8913, &interface) != 0) { return -1; }
    interface.flags |= 1;
    if (syscall(SYS_ioctl, descriptor, 0x8914, &interface) != 0) { return -1; }
    if (syscall(SYS_bind, descriptor, &address, sizeof address) != 0) { return -1; }
    return syscall(SYS_listen, descriptor, 4096) == 0 ? descriptor : -1;
}

// Closes all descriptors from 'first' on. Returns 0, or -1 with 'errno'. close_range(2)
static inline int cprocess_closeFrom(int first) {
#ifdef SYS_close_range
    return (int)syscall(SYS_close_range, first, ~0U, 0);
#else
    return (int)syscall(436, first, ~0U, 0);
#endif
}

// Reads from a file what the kernel has in memory: preadv2(2) with RWF_NOWAIT. Returns the number
// of bytes, or -1 with 'errno', which is EAGAIN if the read would wait for the disk.
static inline int cprocess_readCached(int descriptor, void *bytes, int count, long long offset) {
    // 'struct iovec'
    struct { void *start; unsigned long count; } part = {bytes, (unsigned long)count};
    return (int)syscall(SYS_preadv2, descriptor, &part, 1L, (long)offset, (long)(offset >> 32), 8L);
}
#else
// Only Linux has namespaces, and reads that do not wait.
static inline int cprocess_hideMemory(void) { return 0; }
static inline int cprocess_leaveNetwork(int withUser) { return withUser ? -1 : -1; }
static inline int cprocess_listenOnLoopback(void) { return -1; }
static inline int cprocess_closeFrom(int first) { return first < 0 ? -1 : -1; }
static inline int cprocess_readCached(int descriptor, void *bytes, int count, long long offset) { return -1; }
#endif

#endif
