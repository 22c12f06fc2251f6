import GRDB
import GRDBSQLite
import Holdfast

// swift run --package-path Tests/CollisionPackage GRDBAndHoldfast store-first
//
// Uses a database through GRDB and a store through Holdfast at the same time. Without the argument,
// GRDB is the first to use SQLite.

func openDatabase() throws -> DatabaseQueue {
    let database = try DatabaseQueue(path: "moments.sqlite")
    try database.write { try $0.execute(sql: "CREATE TABLE IF NOT EXISTS moment (id INTEGER PRIMARY KEY)") }
    return database
}

func use(_ database: DatabaseQueue, _ store: CacheManager) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...30 {
            group.addTask {
                try await database.write {
                    try $0.execute(sql: "INSERT OR REPLACE INTO moment VALUES (?)", arguments: [number])
                }
            }
            group.addTask { try await store.setObject(number, forKey: "moment-\(number)") }
        }
        try await group.waitForAll()
    }
    let rows = try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM moment") ?? 0 }
    var objects = 0
    for number in 1...30 where try await store.object(Int.self, forKey: "moment-\(number)") == number { objects += 1 }
    // The first to use SQLite decides about its memory statistics: decision 19.
    print(rows, "rows,", objects, "objects, memory", sqlite3_memory_used() > 0 ? "counted" : "not counted")
}

let isStoreFirst = CommandLine.arguments.contains("store-first")
let earlier = isStoreFirst ? nil : try openDatabase()
let store = try await CacheManager.open(at: "moments.store")
let database = try earlier ?? openDatabase()
try await use(database, store)
try database.close()
try await store.close()
