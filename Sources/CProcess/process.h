// Functions of the C library that Swift cannot call, because they take a variable number of
// arguments.

#ifndef HOLDFAST_CPROCESS_H
#define HOLDFAST_CPROCESS_H

#ifdef __linux__
#include <sys/prctl.h>

// Keeps the memory of this process out of core files, and from other processes of the same user
// (PR_SET_DUMPABLE). Returns 0, or -1 with 'errno'.
static inline int cprocess_hideMemory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
#else
static inline int cprocess_hideMemory(void) { return 0; }
#endif

#endif
