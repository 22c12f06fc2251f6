import ArgumentParser
import CommandLineSupport
import Holdfast

/// A configuration file, as commands read it.
enum ConfigurationFile {
    /// Reads a file; all that is wrong with it goes to standard error, one line for each.
    ///
    /// - Throws: `ExitCode` 1: a file is no command line, so it is not 64.
    static func read(_ path: String) throws -> Configuration {
        try reporting { try Configuration(contentsOf: path) }
    }

    /// The same for a command that sends nothing: what fields are set to is not looked up, so that
    /// it runs where those secrets are not.
    static func readWithoutValues(_ path: String) throws -> Configuration {
        try reporting { try Configuration(withoutValuesOf: path) }
    }

    /// Writes findings to standard error.
    ///
    /// - Throws: `ExitCode` 1 in place of them; what the body throws else.
    static func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as ConfigurationError {
            for finding in error.findings { StandardStream.error.line("\(finding)") }
            throw ExitCode.failure
        }
    }
}
