// The system's SQLite, as a module.
//
// Swift cannot call functions with a variable number of arguments. The function below wraps
// 'sqlite3_config', which is one.

#ifndef HOLDFAST_CSQLITE_H
#define HOLDFAST_CSQLITE_H

#include <sqlite3.h>

// Sets SQLITE_CONFIG_MEMSTATUS: whether SQLite counts its memory. Returns SQLITE_MISUSE and changes
// nothing once the process has used SQLite.
static inline int csqlite_configureMemoryStatistics(int isOn) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, isOn);
}

#endif
