#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "FaultShim.h"

#ifdef __linux__
#include <features.h>
#endif

#if defined(__linux__) && defined(__GLIBC__)

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// The kind of a call, which decides the errors it can fail with.
enum call {
    CALL_READ = 1,
    CALL_WRITE = 2,
    CALL_SYNC = 4,
    CALL_TRUNCATE = 8,
    CALL_OPEN_TO_READ = 16,
    CALL_OPEN_TO_WRITE = 32,
    CALL_LIST = 64,
    CALL_CHANGE_FOLDER = 128,
    CALL_EXAMINE = 256,
    CALL_LOCK = 512,
    CALL_MAP = 1024,
};

enum { DESCRIPTORS = 65536, SECTOR = 512 };

static char watched[4096];
static size_t watched_length;
static int keeps_writes;
static _Atomic unsigned char is_watched[DESCRIPTORS];

static struct fault_plan plan;
static atomic_int is_armed;
static _Atomic int64_t calls, strikes;
static char last_call[128] = "none";

// The C library's own function.
#define REAL(name, result, ...)                                                                                        \
    static result (*real_##name)(__VA_ARGS__);                                                                         \
    if (!real_##name) real_##name = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

int fault_is_available(void) { return 1; }

void fault_watch(const char *folder, int keeps) {
    watched_length = strlen(folder);
    if (watched_length >= sizeof watched) abort();
    memcpy(watched, folder, watched_length + 1);
    keeps_writes = keeps;
}

void fault_arm(struct fault_plan next) {
    plan = next;
    calls = 0;
    strikes = 0;
    strcpy(last_call, "none");
    atomic_store(&is_armed, 1);
}

void fault_disarm(void) { atomic_store(&is_armed, 0); }
int64_t fault_calls(void) { return calls; }
int64_t fault_strikes(void) { return strikes; }
const char *fault_last_call(void) { return last_call; }

static int is_below(const char *path) {
    return watched_length > 0 && path && strncmp(path, watched, watched_length) == 0
        && (path[watched_length] == '/' || path[watched_length] == 0);
}

static int is_one(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS && atomic_load(&is_watched[descriptor]);
}

static int can_fail(enum call call, int error) {
    switch (error) {
    case EMFILE: return call & (CALL_OPEN_TO_READ | CALL_OPEN_TO_WRITE | CALL_LIST);
    case ENOSPC: return call & (CALL_WRITE | CALL_SYNC | CALL_TRUNCATE | CALL_OPEN_TO_WRITE | CALL_CHANGE_FOLDER);
    case EROFS: return call & (CALL_WRITE | CALL_SYNC | CALL_TRUNCATE | CALL_OPEN_TO_WRITE | CALL_CHANGE_FOLDER);
    default: return 1;
    }
}

// MARK: The power cut

// One write, and the bytes that it replaced.
struct record {
    struct record *earlier;
    // The file's inode, and a descriptor of our own. It is never closed, because closing it would
    // release SQLite's locks.
    ino_t inode;
    int descriptor;
    off_t offset, length_before, length_after;
    size_t count, count_before;
    // A truncation has no content.
    unsigned char *content, *before;
};

// A file whose folder was not synced since the file was created.
struct made {
    struct made *earlier;
    char path[4096];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct record *records;
static struct made *made;
static struct {
    ino_t inode;
    int descriptor;
} own[256];

static uint64_t chance(void) {
    plan.seed += 0x9E3779B97F4A7C15u;
    uint64_t mixed = plan.seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

static int plain_open(const char *path, int flags, mode_t mode) {
    REAL(open, int, const char *, int, ...);
    return real_open(path, flags, mode);
}
static ssize_t plain_pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite64, ssize_t, int, const void *, size_t, off_t);
    return real_pwrite64(descriptor, bytes, count, offset);
}
static ssize_t plain_pread(int descriptor, void *bytes, size_t count, off_t offset) {
    REAL(pread64, ssize_t, int, void *, size_t, off_t);
    return real_pread64(descriptor, bytes, count, offset);
}
static int plain_ftruncate(int descriptor, off_t length) {
    REAL(ftruncate64, int, int, off_t);
    return real_ftruncate64(descriptor, length);
}
static int plain_fstat(int descriptor, struct stat *status) {
    REAL(fstat, int, int, struct stat *);
    return real_fstat(descriptor, status);
}
static int plain_unlink(const char *path) {
    REAL(unlink, int, const char *);
    return real_unlink(path);
}

// Returns a descriptor that stays open when SQLite closes its own.
static int own_descriptor(int descriptor, ino_t inode) {
    for (int index = 0; index < 256; index++) {
        if (own[index].inode == inode) return own[index].descriptor;
        if (own[index].inode) continue;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        own[index].descriptor = plain_open(path, O_RDWR | O_CLOEXEC, 0);
        if (own[index].descriptor < 0) abort();
        own[index].inode = inode;
        return own[index].descriptor;
    }
    abort();
}

// Records a write before it happens. The caller holds the guard.
static void note(int descriptor, off_t offset, const void *content, size_t count) {
    struct stat status;
    if (plain_fstat(descriptor, &status) != 0) abort();
    struct record *record = calloc(1, sizeof *record);
    if (!record) abort();
    record->inode = status.st_ino;
    record->descriptor = own_descriptor(descriptor, status.st_ino);
    record->offset = offset;
    record->count = count;
    record->length_before = status.st_size;
    record->length_after = content ? (offset + (off_t)count > status.st_size ? offset + (off_t)count : status.st_size)
                                   : offset;
    size_t lost = content ? count : (offset < status.st_size ? (size_t)(status.st_size - offset) : 0);
    record->before = malloc(lost + 1);
    if (!record->before) abort();
    ssize_t read = plain_pread(record->descriptor, record->before, lost, offset);
    record->count_before = read > 0 ? (size_t)read : 0;
    if (content) {
        record->content = malloc(count + 1);
        if (!record->content) abort();
        memcpy(record->content, content, count);
    }
    record->earlier = records;
    records = record;
}

// Drops the records of a file, because it was synced. The caller holds the guard.
static void synced(int descriptor) {
    struct stat status;
    if (plain_fstat(descriptor, &status) != 0) abort();
    struct record **link = &records;
    while (*link) {
        struct record *record = *link;
        if (record->inode != status.st_ino) {
            link = &record->earlier;
            continue;
        }
        *link = record->earlier;
        free(record->before);
        free(record->content);
        free(record);
    }
    if ((status.st_mode & S_IFMT) != S_IFDIR) return;
    while (made) {
        struct made *next = made->earlier;
        free(made);
        made = next;
    }
}

// Another thread may read a mapped file while it is truncated: it stops until the process ends.
static void stand_still(int number) {
    (void)number;
    for (;;) pause();
}

// Cuts the power. The caller holds the guard, which is never released.
static void cut(void) {
    signal(SIGBUS, stand_still);
    // Undoes all unsynced writes, the last one first; then repeats some of them, in order.
    struct record *forward = NULL;
    for (struct record *record = records; record;) {
        struct record *next = record->earlier;
        if (record->count_before) plain_pwrite(record->descriptor, record->before, record->count_before, record->offset);
        plain_ftruncate(record->descriptor, record->length_before);
        record->earlier = forward;
        forward = record;
        record = next;
    }
    // Repeats none, all up to some write, or any of them.
    uint64_t manner = chance() % 4;
    int goes_on = 1;
    for (struct record *record = forward; record; record = record->earlier) {
        uint64_t fate = chance() % 8;
        if (manner == 0 || !goes_on) continue;
        if (manner == 1) {
            if (fate == 0) goes_on = 0;
        } else if (fate < 2) {
            continue;
        }
        if (!record->content) {
            plain_ftruncate(record->descriptor, record->offset);
            continue;
        }
        int is_torn = manner == 1 ? !goes_on : fate < 5;
        for (size_t start = 0; start < record->count;) {
            size_t end = ((size_t)record->offset + start) / SECTOR * SECTOR + SECTOR - (size_t)record->offset;
            if (end > record->count) end = record->count;
            if (!is_torn || chance() % 2)
                plain_pwrite(record->descriptor, record->content + start, end - start, record->offset + (off_t)start);
            start = end;
        }
    }
    for (struct made *file = made; file; file = file->earlier) {
        if (chance() % 2) plain_unlink(file->path);
    }
    _exit(FAULT_CUT_STATUS);
}

static int keeps(int descriptor) { return keeps_writes && is_one(descriptor); }

// MARK: The count

enum verdict { GOES_ON, FAILS, IS_SHORT };

// Names the struck call and its file, for messages.
static void name_last_call(const char *name, const char *path, int descriptor) {
    char link[64], target[4096];
    if (!path) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        path = target;
    }
    const char *slash = strrchr(path, '/');
    snprintf(last_call, sizeof last_call, "%s %.64s", name, slash ? slash + 1 : path);
}

// Counts a call and decides its result; `errno` is set if it fails.
static enum verdict judge(enum call call, const char *name, const char *path, int descriptor) {
    if (!atomic_load(&is_armed)) return GOES_ON;
    if ((plan.mode == FAULT_ERROR || plan.mode == FAULT_SHORT) && !can_fail(call, plan.error)) return GOES_ON;
    if (plan.mode == FAULT_SHORT && call != CALL_WRITE) return GOES_ON;
    int64_t number = ++calls;
    if (number < plan.first || number >= plan.first + plan.count) return GOES_ON;
    if (plan.mode == FAULT_COUNT) return GOES_ON;
    strikes++;
    name_last_call(name, path, descriptor);
    switch (plan.mode) {
    case FAULT_SHORT:
        if (number == plan.first) return IS_SHORT;
        errno = plan.error;
        return FAILS;
    case FAULT_TORN_KILL:
        if (call == CALL_WRITE) return IS_SHORT;
        kill(getpid(), SIGKILL);
        return GOES_ON;
    case FAULT_KILL:
        kill(getpid(), SIGKILL);
        return GOES_ON;
    case FAULT_CUT:
        pthread_mutex_lock(&guard);
        cut();
        return GOES_ON;
    default:
        errno = plan.error;
        return FAILS;
    }
}

// MARK: The calls

static int open_to(int (*next)(const char *, int, ...), const char *name, const char *path, int flags, mode_t mode) {
    if (!is_below(path)) return next(path, flags, mode);
    int writes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY;
    if (judge(writes ? CALL_OPEN_TO_WRITE : CALL_OPEN_TO_READ, name, path, -1) == FAILS) return -1;
    if (keeps_writes) pthread_mutex_lock(&guard);
    int is_new = keeps_writes && (flags & O_CREAT) && access(path, F_OK) != 0;
    int descriptor = next(path, flags, mode);
    int number = errno;
    if (descriptor >= 0 && descriptor < DESCRIPTORS) {
        atomic_store(&is_watched[descriptor], 1);
        if (keeps_writes && (flags & O_TRUNC)) synced(descriptor);
        if (is_new) {
            struct made *file = calloc(1, sizeof *file);
            if (!file) abort();
            snprintf(file->path, sizeof file->path, "%s", path);
            file->earlier = made;
            made = file;
        }
    }
    if (keeps_writes) pthread_mutex_unlock(&guard);
    errno = number;
    return descriptor;
}

#define MODE(flags, mode)                                                                                              \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list words;                                                                                                 \
        va_start(words, flags);                                                                                        \
        mode = va_arg(words, mode_t);                                                                                  \
        va_end(words);                                                                                                 \
    }

int open(const char *path, int flags, ...) {
    MODE(flags, mode);
    REAL(open, int, const char *, int, ...);
    return open_to(real_open, "open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags, mode);
    REAL(open64, int, const char *, int, ...);
    return open_to(real_open64, "open", path, flags, mode);
}

int close(int descriptor) {
    REAL(close, int, int);
    if (descriptor >= 0 && descriptor < DESCRIPTORS) atomic_store(&is_watched[descriptor], 0);
    return real_close(descriptor);
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
    switch (judge(CALL_WRITE, "write", NULL, descriptor)) {
    case FAILS: return -1;
    case IS_SHORT:
        plain_pwrite(descriptor, bytes, count / 2, offset);
        if (plan.mode == FAULT_TORN_KILL) kill(getpid(), SIGKILL);
        return (ssize_t)(count / 2);
    case GOES_ON: break;
    }
    if (!keeps(descriptor)) return plain_pwrite(descriptor, bytes, count, offset);
    pthread_mutex_lock(&guard);
    note(descriptor, offset, bytes, count);
    ssize_t written = plain_pwrite(descriptor, bytes, count, offset);
    pthread_mutex_unlock(&guard);
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (!is_one(descriptor)) return plain_pwrite(descriptor, bytes, count, offset);
    return write_at(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    if (!is_one(descriptor)) return plain_pwrite(descriptor, bytes, count, offset);
    return write_at(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    REAL(write, ssize_t, int, const void *, size_t);
    if (!is_one(descriptor)) return real_write(descriptor, bytes, count);
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    ssize_t written = write_at(descriptor, bytes, count, offset);
    if (written > 0) lseek(descriptor, offset + written, SEEK_SET);
    return written;
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    REAL(read, ssize_t, int, void *, size_t);
    if (is_one(descriptor) && judge(CALL_READ, "read", NULL, descriptor) == FAILS) return -1;
    return real_read(descriptor, bytes, count);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    if (is_one(descriptor) && judge(CALL_READ, "read", NULL, descriptor) == FAILS) return -1;
    return plain_pread(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    if (is_one(descriptor) && judge(CALL_READ, "read", NULL, descriptor) == FAILS) return -1;
    return plain_pread(descriptor, bytes, count, offset);
}

// Counts a sync without syncing: after a kill or a failure the kernel is still there, and only the
// shim's own power cut depends on syncs.
static int sync_one(int descriptor, const char *name, int (*next)(int)) {
    if (!is_one(descriptor)) return next(descriptor);
    if (judge(CALL_SYNC, name, NULL, descriptor) == FAILS) return -1;
    if (keeps_writes) {
        pthread_mutex_lock(&guard);
        synced(descriptor);
        pthread_mutex_unlock(&guard);
    }
    return 0;
}

int fsync(int descriptor) {
    REAL(fsync, int, int);
    return sync_one(descriptor, "fsync", real_fsync);
}

int fdatasync(int descriptor) {
    REAL(fdatasync, int, int);
    return sync_one(descriptor, "fdatasync", real_fdatasync);
}

static int truncate_to(int descriptor, off_t length) {
    if (is_one(descriptor) && judge(CALL_TRUNCATE, "ftruncate", NULL, descriptor) == FAILS) return -1;
    if (!keeps(descriptor)) return plain_ftruncate(descriptor, length);
    pthread_mutex_lock(&guard);
    note(descriptor, length, NULL, 0);
    int result = plain_ftruncate(descriptor, length);
    pthread_mutex_unlock(&guard);
    return result;
}

int ftruncate(int descriptor, off_t length) { return truncate_to(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return truncate_to(descriptor, length); }

int rename(const char *from, const char *to) {
    REAL(rename, int, const char *, const char *);
    if (is_below(to) && judge(CALL_CHANGE_FOLDER, "rename", to, -1) == FAILS) return -1;
    return real_rename(from, to);
}

int unlink(const char *path) {
    if (is_below(path) && judge(CALL_CHANGE_FOLDER, "unlink", path, -1) == FAILS) return -1;
    return plain_unlink(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir, int, const char *, mode_t);
    if (is_below(path) && judge(CALL_CHANGE_FOLDER, "mkdir", path, -1) == FAILS) return -1;
    return real_mkdir(path, mode);
}

int chmod(const char *path, mode_t mode) {
    REAL(chmod, int, const char *, mode_t);
    if (is_below(path) && judge(CALL_CHANGE_FOLDER, "chmod", path, -1) == FAILS) return -1;
    return real_chmod(path, mode);
}

DIR *opendir(const char *path) {
    REAL(opendir, DIR *, const char *);
    if (is_below(path) && judge(CALL_LIST, "opendir", path, -1) == FAILS) return NULL;
    return real_opendir(path);
}

#define EXAMINE(name, type)                                                                                            \
    int name(const char *path, struct type *status) {                                                                  \
        REAL(name, int, const char *, struct type *);                                                                  \
        if (is_below(path) && judge(CALL_EXAMINE, "stat", path, -1) == FAILS) return -1;                                         \
        return real_##name(path, status);                                                                              \
    }

EXAMINE(stat, stat)
EXAMINE(stat64, stat64)
EXAMINE(lstat, stat)
EXAMINE(lstat64, stat64)

int fstat(int descriptor, struct stat *status) {
    if (is_one(descriptor) && judge(CALL_EXAMINE, "fstat", NULL, descriptor) == FAILS) return -1;
    return plain_fstat(descriptor, status);
}

int fstat64(int descriptor, struct stat64 *status) {
    REAL(fstat64, int, int, struct stat64 *);
    if (is_one(descriptor) && judge(CALL_EXAMINE, "fstat", NULL, descriptor) == FAILS) return -1;
    return real_fstat64(descriptor, status);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    REAL(mmap, void *, void *, size_t, int, int, int, off_t);
    if (is_one(descriptor) && judge(CALL_MAP, "mmap", NULL, descriptor) == FAILS) return MAP_FAILED;
    return real_mmap(address, length, protection, flags, descriptor, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    REAL(mmap64, void *, void *, size_t, int, int, int, off64_t);
    if (is_one(descriptor) && judge(CALL_MAP, "mmap", NULL, descriptor) == FAILS) return MAP_FAILED;
    return real_mmap64(address, length, protection, flags, descriptor, offset);
}

// Every command's argument is a word or a pointer, and is passed as a pointer.
static int control(int (*next)(int, int, ...), int descriptor, int command, void *argument) {
    int locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;
    // Releasing a lock does not fail.
    if (locks && ((struct flock *)argument)->l_type == F_UNLCK) locks = 0;
    if (locks && is_one(descriptor) && judge(CALL_LOCK, "lock", NULL, descriptor) == FAILS) return -1;
    int result = next(descriptor, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && result >= 0 && result < DESCRIPTORS)
        atomic_store(&is_watched[result], is_one(descriptor));
    return result;
}

#define CONTROL(name)                                                                                                  \
    int name(int descriptor, int command, ...) {                                                                       \
        REAL(name, int, int, int, ...);                                                                                \
        va_list words;                                                                                                 \
        va_start(words, command);                                                                                      \
        void *argument = va_arg(words, void *);                                                                        \
        va_end(words);                                                                                                 \
        return control(real_##name, descriptor, command, argument);                                                    \
    }

CONTROL(fcntl)
CONTROL(fcntl64)

#else

int fault_is_available(void) { return 0; }
void fault_watch(const char *folder, int keeps_writes) { (void)folder, (void)keeps_writes; }
void fault_arm(struct fault_plan plan) { (void)plan; }
void fault_disarm(void) {}
int64_t fault_calls(void) { return 0; }
int64_t fault_strikes(void) { return 0; }
const char *fault_last_call(void) { return "none"; }

#endif
