/// A command and its 'NAME=VALUE' options.
struct Options {
    let command: String
    private let values: [String: String]

    init(_ arguments: [String]) throws {
        guard let command = arguments.first else { throw BenchmarkError("Which command?") }
        self.command = command
        var values: [String: String] = [:]
        for argument in arguments.dropFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { throw BenchmarkError("'\(argument)' is not NAME=VALUE.") }
            values[String(parts[0])] = String(parts[1])
        }
        self.values = values
    }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw BenchmarkError("'\(command)' needs '\(name)='.") }
        return value
    }

    func text(_ name: String, default value: String) -> String { values[name] ?? value }

    func number(_ name: String) throws -> Int {
        guard let value = Int(try text(name)) else { throw BenchmarkError("'\(name)' is no number.") }
        return value
    }

    func number(_ name: String, default value: Int) throws -> Int {
        values[name] == nil ? value : try number(name)
    }
}
