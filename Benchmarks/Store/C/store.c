// The peer of the store: the same work on the same rows through SQLite's own API. Each command
// prints one line of JSON.
//
//   store lookup DATABASE KIND READS BATCH SEED
//       reads metadata by key hash and bodies by number; BATCH reads a transaction, 0: none
//   store insert SOURCE DATABASE ROWS STEPS...
//       copies entries and chunks of SOURCE into a new database; ROWS a transaction, 0: all
//   store chunks DATABASE LENGTH STEPS...
//       writes a body of LENGTH bytes: 64 KiB a row, 4 MiB a transaction, a checkpoint every 16 MiB
//   store read DATABASE
//       reads every chunk of the database, in order
//
// STEPS are the files of the schema, in order.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fail(const char *what, sqlite3 *db) {
    fprintf(stderr, "error: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static double wall, processor;

static void start(void) {
    wall = seconds(CLOCK_MONOTONIC);
    processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void report(double count, double bytes) {
    double w = seconds(CLOCK_MONOTONIC) - wall, p = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    printf("{\"count\": %.0f, \"wall\": %f, \"processor\": %f, \"rate\": %f, \"processorRate\": %f, \"bytes\": %.0f}\n",
           count, w, p, count / w, count / p, bytes);
}

// The same random order in every run (SplitMix64).
static uint64_t seed;
static uint64_t next_random(void) {
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql, db);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(sql, db);
    return statement;
}

static sqlite3 *open_database(const char *path, int flags) {
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) fail(path, db);
    sqlite3_busy_timeout(db, 5000);
    return db;
}

// Opens the database like the store's writer; anything faster would not be the same work.
static sqlite3 *create_database(const char *path, char **steps, int count) {
    sqlite3 *db = open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    run(db, "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL");
    for (int i = 0; i < count; i++) {
        FILE *file = fopen(steps[i], "r");
        if (!file) fail(steps[i], NULL);
        static char sql[1 << 16];
        sql[fread(sql, 1, sizeof sql - 1, file)] = 0;
        fclose(file);
        run(db, sql);
    }
    run(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL;"
            "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cache_size = -16384");
    return db;
}

// MARK: Reading

typedef struct {
    int64_t key_hash, body_id;
} Place;

static int lookup(int argc, char **argv) {
    if (argc < 7) fail("lookup DATABASE KIND READS BATCH SEED", NULL);
    sqlite3 *db = open_database(argv[2], SQLITE_OPEN_READONLY);
    int kind = atoi(argv[3]), reads = atoi(argv[4]), batch = atoi(argv[5]);
    seed = strtoull(argv[6], NULL, 10);
    run(db, "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096");

    sqlite3_stmt *all = prepare(db, "SELECT key_hash, body_id FROM entry WHERE kind = ?1 AND body_length > 0");
    sqlite3_bind_int(all, 1, kind);
    size_t count = 0, capacity = 1 << 16;
    Place *places = malloc(capacity * sizeof *places);
    while (sqlite3_step(all) == SQLITE_ROW) {
        if (count == capacity) places = realloc(places, (capacity *= 2) * sizeof *places);
        places[count++] = (Place){sqlite3_column_int64(all, 0), sqlite3_column_int64(all, 1)};
    }
    sqlite3_finalize(all);
    if (count == 0) fail("there are no entries", NULL);
    Place *chosen = malloc(reads * sizeof *chosen);
    for (int i = 0; i < reads; i++) chosen[i] = places[next_random() % count];
    free(places);

    sqlite3_stmt *entry = prepare(db,
        "SELECT id, kind, key_hash, key, sequence, is_invalidated, is_usable_stale, is_pinned, stored_at, expires_at, "
        "last_used_at, body_id, body_length, head FROM entry WHERE key_hash = ?1 AND kind = ?2");
    sqlite3_stmt *chunk = prepare(db, "SELECT checksum, data FROM chunk WHERE id = ?1");
    sqlite3_stmt *begin = prepare(db, "BEGIN"), *commit = prepare(db, "COMMIT");
    sqlite3_bind_int(entry, 2, kind);
    static char buffer[1 << 17];
    volatile int64_t sum = 0;
    double bytes = 0;
    for (int round = 0; round < 2; round++) {
        // A tenth first, which is not timed.
        int n = round == 0 ? reads / 10 : reads;
        bytes = 0;
        start();
        for (int i = 0; i < n; i++) {
            if (batch > 0 && i % batch == 0) sqlite3_step(begin), sqlite3_reset(begin);
            sqlite3_bind_int64(entry, 1, chosen[i].key_hash);
            if (sqlite3_step(entry) != SQLITE_ROW) fail("an entry is not there", db);
            for (int column = 0; column < 14; column++) {
                if (column == 3 || column == 13) {
                    const void *data = sqlite3_column_blob(entry, column);
                    memcpy(buffer, data, sqlite3_column_bytes(entry, column));
                } else {
                    sum += sqlite3_column_int64(entry, column);
                }
            }
            sqlite3_reset(entry);
            sqlite3_bind_int64(chunk, 1, chosen[i].body_id << 16);
            if (sqlite3_step(chunk) != SQLITE_ROW) fail("a body is not there", db);
            sum += sqlite3_column_int64(chunk, 0);
            const void *data = sqlite3_column_blob(chunk, 1);
            int length = sqlite3_column_bytes(chunk, 1);
            memcpy(buffer, data, length);
            bytes += length;
            sqlite3_reset(chunk);
            if (batch > 0 && (i % batch == batch - 1 || i == n - 1)) sqlite3_step(commit), sqlite3_reset(commit);
        }
    }
    report(reads, bytes);
    return 0;
}

// MARK: Writing

typedef struct {
    sqlite3_value *values[32];
} Row;

static Row *load(sqlite3 *db, const char *table, int *columns, size_t *count) {
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY id", table);
    sqlite3_stmt *statement = prepare(db, sql);
    *columns = sqlite3_column_count(statement);
    size_t capacity = 1 << 10;
    Row *rows = malloc(capacity * sizeof *rows);
    *count = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        if (*count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
        for (int i = 0; i < *columns; i++) rows[*count].values[i] = sqlite3_value_dup(sqlite3_column_value(statement, i));
        (*count)++;
    }
    sqlite3_finalize(statement);
    return rows;
}

static sqlite3_stmt *inserting(sqlite3 *db, const char *table, int columns) {
    char sql[512];
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", table);
    for (int i = 1; i < columns; i++) length += snprintf(sql + length, sizeof sql - length, ", ?");
    snprintf(sql + length, sizeof sql - length, ")");
    return prepare(db, sql);
}

static void insert_row(sqlite3 *db, sqlite3_stmt *statement, const Row *row, int columns) {
    for (int i = 0; i < columns; i++) {
        sqlite3_value *value = row->values[i];
        switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER: sqlite3_bind_int64(statement, i + 1, sqlite3_value_int64(value)); break;
        case SQLITE_NULL: sqlite3_bind_null(statement, i + 1); break;
        default: {
            int length = sqlite3_value_bytes(value);
            if (length == 0) sqlite3_bind_zeroblob(statement, i + 1, 0);
            else sqlite3_bind_blob(statement, i + 1, sqlite3_value_blob(value), length, SQLITE_STATIC);
        }
        }
    }
    if (sqlite3_step(statement) != SQLITE_DONE) fail("insert", db);
    sqlite3_reset(statement);
}

static int insert(int argc, char **argv) {
    if (argc < 6) fail("insert SOURCE DATABASE ROWS STEPS...", NULL);
    sqlite3 *source = open_database(argv[2], SQLITE_OPEN_READONLY);
    int entry_columns, chunk_columns;
    size_t entries, chunks;
    Row *entry_rows = load(source, "entry", &entry_columns, &entries);
    Row *chunk_rows = load(source, "chunk", &chunk_columns, &chunks);
    if (entries == 0 || entries != chunks) fail("each entry has one chunk here", NULL);
    sqlite3_close(source);

    sqlite3 *db = create_database(argv[3], argv + 5, argc - 5);
    size_t together = strtoull(argv[4], NULL, 10);
    sqlite3_stmt *entry = inserting(db, "entry", entry_columns), *chunk = inserting(db, "chunk", chunk_columns);
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE"), *commit = prepare(db, "COMMIT");
    start();
    for (size_t i = 0; i < entries; i++) {
        if (together ? i % together == 0 : i == 0) sqlite3_step(begin), sqlite3_reset(begin);
        insert_row(db, entry, &entry_rows[i], entry_columns);
        insert_row(db, chunk, &chunk_rows[i], chunk_columns);
        if (i + 1 == entries || (together && i % together == together - 1)) {
            if (sqlite3_step(commit) != SQLITE_DONE) fail("commit", db);
            sqlite3_reset(commit);
        }
    }
    report(entries, 0);
    return 0;
}

static int write_chunks(int argc, char **argv) {
    if (argc < 5) fail("chunks DATABASE LENGTH STEPS...", NULL);
    sqlite3 *db = create_database(argv[2], argv + 4, argc - 4);
    int64_t length = strtoll(argv[3], NULL, 10), body_id = 1, written = 0;
    static char data[1 << 16];
    seed = 1;
    for (size_t i = 0; i < sizeof data; i += 8) *(uint64_t *)(data + i) = next_random();
    sqlite3_stmt *chunk = prepare(db, "INSERT INTO chunk (id, checksum, data) VALUES (?1, ?2, ?3)");
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE"), *commit = prepare(db, "COMMIT");
    start();
    for (int64_t index = 0; written < length; index++) {
        if (written % (4 << 20) == 0) sqlite3_step(begin), sqlite3_reset(begin);
        int64_t size = length - written < (int64_t)sizeof data ? length - written : (int64_t)sizeof data;
        sqlite3_bind_int64(chunk, 1, body_id << 16 | index);
        sqlite3_bind_int64(chunk, 2, index);
        sqlite3_bind_blob(chunk, 3, data, size, SQLITE_STATIC);
        if (sqlite3_step(chunk) != SQLITE_DONE) fail("insert", db);
        sqlite3_reset(chunk);
        written += size;
        if (written % (4 << 20) == 0 || written == length) {
            if (sqlite3_step(commit) != SQLITE_DONE) fail("commit", db);
            sqlite3_reset(commit);
        }
        // The store does this too; otherwise the log would be as long as the body.
        if (written % (16 << 20) == 0) sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    report(length, length);
    return 0;
}

static int read_chunks(int argc, char **argv) {
    if (argc < 3) fail("read DATABASE", NULL);
    sqlite3 *db = open_database(argv[2], SQLITE_OPEN_READONLY);
    run(db, "PRAGMA mmap_size = 0; PRAGMA cache_size = -4096");
    // Reads the longest body, with a statement for each chunk, as the store does.
    sqlite3_stmt *longest = prepare(db, "SELECT body_id, body_length FROM entry ORDER BY body_length DESC LIMIT 1");
    if (sqlite3_step(longest) != SQLITE_ROW) fail("there are no entries", db);
    int64_t body_id = sqlite3_column_int64(longest, 0), length = sqlite3_column_int64(longest, 1), bytes = 0;
    sqlite3_finalize(longest);
    sqlite3_stmt *chunk = prepare(db, "SELECT checksum, data FROM chunk WHERE id = ?1");
    static char buffer[1 << 16];
    start();
    for (int64_t index = 0; bytes < length; index++) {
        sqlite3_bind_int64(chunk, 1, body_id << 16 | index);
        if (sqlite3_step(chunk) != SQLITE_ROW) fail("a chunk is not there", db);
        const void *data = sqlite3_column_blob(chunk, 1);
        int size = sqlite3_column_bytes(chunk, 1);
        memcpy(buffer, data, size);
        bytes += size;
        sqlite3_reset(chunk);
    }
    report(bytes, bytes);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "lookup") == 0) return lookup(argc, argv);
    if (argc > 1 && strcmp(argv[1], "insert") == 0) return insert(argc, argv);
    if (argc > 1 && strcmp(argv[1], "chunks") == 0) return write_chunks(argc, argv);
    if (argc > 1 && strcmp(argv[1], "read") == 0) return read_chunks(argc, argv);
    fprintf(stderr, "error: lookup, insert, chunks or read\n");
    return 64;
}
