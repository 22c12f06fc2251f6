// What can be configured of SQLite for a whole process, as a module.
//
// Swift sees no functions with a variable number of arguments, and 'sqlite3_config' is one.

#ifndef HOLDFAST_CSQLITECONFIGURATION_H
#define HOLDFAST_CSQLITECONFIGURATION_H

#include <sqlite3.h>

// SQLITE_CONFIG_MEMSTATUS: whether SQLite counts its memory. SQLITE_MISUSE, and no change, once the
// process has used SQLite.
static inline int csqlite_configureMemoryStatistics(int isOn) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, isOn);
}

#endif
