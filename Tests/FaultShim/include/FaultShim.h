// Faults beneath a program's file operations, by count: the Nth call fails, writes less, or is the
// program's last.
//
// Linked into an executable, the definitions in FaultShim.c stand before the C library's for
// everything in the process, the system's SQLite included: the dynamic linker looks in the
// executable first. So nothing has to be preloaded. Only files below one folder are touched, and
// none until a plan is armed. Elsewhere than on Linux with glibc every function here does nothing.
#ifndef FAULT_SHIM_H
#define FAULT_SHIM_H

#include <stdint.h>

enum fault_mode {
    /// Calls are counted and do what they do.
    FAULT_COUNT = 0,
    /// The call fails with an error, and has done nothing. Calls that never fail with this error
    /// are not counted.
    FAULT_ERROR = 1,
    /// A write writes half of its bytes and says so; those that follow within the plan fail with
    /// the error.
    FAULT_SHORT = 2,
    /// The process is killed before the call.
    FAULT_KILL = 3,
    /// The process is killed when a write has written half of its bytes, and before any other call.
    FAULT_TORN_KILL = 4,
    /// The power fails before the call: of what was written since each file's last sync any part
    /// may be lost, in units of 512 bytes, and files whose folder was not synced since they were
    /// made may be missing. The process ends with `FAULT_CUT_STATUS`.
    FAULT_CUT = 5,
};

enum { FAULT_CUT_STATUS = 77 };

struct fault_plan {
    enum fault_mode mode;
    /// ENOSPC, EIO, EROFS or EMFILE: each strikes those calls that can fail with it.
    int error;
    /// The first call that is struck, counted from 1.
    int64_t first;
    /// How many calls are struck in a row.
    int64_t count;
    /// What is lost when the power fails.
    uint64_t seed;
};

/// Whether this platform can do it.
int fault_is_available(void);

/// Names the folder below which calls count. Before any file in it is opened, and once.
///
/// - Parameter keeps_writes: notes what every write replaces, for `FAULT_CUT`.
void fault_watch(const char *folder, int keeps_writes);

/// Begins to count.
void fault_arm(struct fault_plan plan);

/// Ends counting.
void fault_disarm(void);

/// Calls counted since the last `fault_arm`.
int64_t fault_calls(void);

/// Calls struck since the last `fault_arm`.
int64_t fault_strikes(void);

/// The name of the call that was struck last; "none" before.
const char *fault_last_call(void);

#endif
