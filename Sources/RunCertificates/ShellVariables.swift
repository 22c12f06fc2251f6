/// The difference between two environments, as commands of a POSIX shell.
package struct ShellVariables: Sendable {
    /// The commands in the order of the variables' names, such as `export https_proxy='…'`.
    package let lines: [String]

    /// - Parameters:
    ///   - environment: the variables that the shell shall have.
    ///   - existing: those that it has.
    package init(_ environment: [String: String], over existing: [String: String]) {
        let names = Set(environment.keys).union(existing.keys).filter { environment[$0] != existing[$0] }
        // A shell cannot set other names, and they did not come from here.
        lines = names.filter(Self.isName).sorted().map { name in
            environment[name].map { "export \(name)=\(Self.quoted($0))" } ?? "unset \(name)"
        }
    }

    private static func isName(_ name: String) -> Bool {
        name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }

    private static func quoted(_ value: String) -> String {
        "'" + value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
