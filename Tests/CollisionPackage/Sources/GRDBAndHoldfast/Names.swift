import GRDB
import Holdfast

// None of these names says whose it is.

/// A database that is only read, and a client whose requests are repeated.
func settings() -> (Configuration, CachingClient.Configuration) {
    var configuration = Configuration()
    configuration.readonly = true
    var client = CachingClient.Configuration()
    client.retry = RetryPlan()
    return (configuration, client)
}

/// A rule in Swift, next to a table, a column and a row of the database.
func rule(for table: Table<Row>, _ column: Column) throws -> RuleSet {
    try RuleSet([
        Rule(column.name, matching: .init(urls: [URLPattern("/\(table.tableName)/**")])) {
            $0.freshness.lifetime = .minutes(5)
        }
    ])
}
