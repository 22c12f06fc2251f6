// Faults in a program's file operations, by count: the Nth call fails, writes less, or is the
// program's last.
//
// In an executable, the definitions in FaultShim.c precede those of the C library for the whole
// process, including the system's SQLite, because the dynamic linker searches the executable first.
// So nothing has to be preloaded. Only files below one folder are affected, and none until a plan
// is armed. Except on Linux with glibc, every function here does nothing.
#ifndef FAULT_SHIM_H
#define FAULT_SHIM_H

#include <stdint.h>

enum fault_mode {
    /// Calls are counted, and work as usual.
    FAULT_COUNT = 0,
    /// The call fails with an error and does nothing. Calls that never fail with this error are not
    /// counted.
    FAULT_ERROR = 1,
    /// A write writes half of its bytes and returns their number. Later writes within the plan fail
    /// with the error.
    FAULT_SHORT = 2,
    /// The process is killed before the call.
    FAULT_KILL = 3,
    /// The process is killed after a write of half its bytes, and before any other kind of call.
    FAULT_TORN_KILL = 4,
    /// The power fails before the call. Any part of the bytes written since each file's last sync
    /// may be lost, in units of 512 bytes. Files whose folder was not synced since they were
    /// created may be missing. The process ends with `FAULT_CUT_STATUS`.
    FAULT_CUT = 5,
};

enum { FAULT_CUT_STATUS = 77 };

struct fault_plan {
    enum fault_mode mode;
    /// ENOSPC, EIO, EROFS or EMFILE: each strikes those calls that can fail with it.
    int error;
    /// The first call that is struck, counted from 1.
    int64_t first;
    /// The number of calls that are struck in a row.
    int64_t count;
    /// Decides what is lost when the power fails.
    uint64_t seed;
};

/// Returns whether this platform supports faults.
int fault_is_available(void);

/// Sets the folder below which calls are counted. It is called once, before a file in it is opened.
///
/// - Parameter keeps_writes: whether to keep the bytes that every write replaces, for `FAULT_CUT`.
void fault_watch(const char *folder, int keeps_writes);

/// Starts counting and striking.
void fault_arm(struct fault_plan plan);

/// Stops counting and striking.
void fault_disarm(void);

/// Returns the calls counted since the last `fault_arm`.
int64_t fault_calls(void);

/// Returns the calls struck since the last `fault_arm`.
int64_t fault_strikes(void);

/// Returns the name of the call that was struck last, or "none".
const char *fault_last_call(void);

#endif
