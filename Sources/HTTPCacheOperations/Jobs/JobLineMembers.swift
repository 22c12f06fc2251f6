import HTTPCache

/// The members of a line of a job's file: texts, whole numbers, flags, and objects of these. Every
/// member is read once; members that are left are unknown.
struct JobLineMembers {
    /// The reason that a line is rejected, as the rest of a sentence about it.
    struct Fault: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }

    private enum Value {
        case text(String)
        case number(Int)
        case flag(Bool)
        case object([(name: String, value: Value)])
        case other
    }

    private static let maximumDepth = 2
    private static let maximumValues = 1024
    /// The range of a count. Counts can be added.
    private static let counts = 0...1_000_000_000

    private var members: [String: Value] = [:]

    /// - Throws: ``Fault``
    init(_ line: [UInt8]) throws(Fault) {
        let value: Value
        do throws(JSONScanner.ScanError) {
            value = try JSONScanner.read(
                line,
                maximumDepth: Self.maximumDepth,
                maximumCount: Self.maximumValues,
                Self.value
            )
        } catch {
            throw Self.fault(error)
        }
        guard case .object(let members) = value else { throw Fault("is not a JSON object.") }
        for (name, value) in members { self.members[name] = value }
    }

    private static func fault(_ error: JSONScanner.ScanError) -> Fault {
        switch error {
        case .notJSON: Fault("is not JSON.")
        case .repeated: Fault("has a member twice.")
        case .tooManyValues: Fault("has more than \(maximumValues) values.")
        case .tooDeep: Fault("has objects that are nested more than \(maximumDepth) levels deep.")
        }
    }

    private static func value(_ scanner: inout JSONScanner) throws(JSONScanner.ScanError) -> Value {
        let part = try scanner.next()
        switch part {
        case .string(let text): return .text(text)
        case .number(let number): return Int(exactly: number).map(Value.number) ?? .other
        case .bool(let flag): return .flag(flag)
        case .null: return .other
        case .list:
            try scanner.skip(part)
            return .other
        case .object:
            var members: [(name: String, value: Value)] = []
            var names: Set<String> = []
            try scanner.object { scanner, name throws(JSONScanner.ScanError) in
                guard names.insert(name).inserted else { throw .repeated(name) }
                members.append((name, try value(&scanner)))
            }
            return .object(members)
        }
    }

    // MARK: Members

    mutating func text(_ name: String) throws(Fault) -> String? {
        switch members.removeValue(forKey: name) {
        case nil: return nil
        case .text(let text): return text
        default: throw Fault("has a member '\(name)' that is not a text.")
        }
    }

    mutating func required(_ name: String) throws(Fault) -> String {
        guard let text = try text(name) else { throw Fault("has no member '\(name)'.") }
        return text
    }

    mutating func number(_ name: String) throws(Fault) -> Int? {
        switch members.removeValue(forKey: name) {
        case nil: return nil
        case .number(let number): return number
        default: throw Fault("has a member '\(name)' that is not a whole number.")
        }
    }

    /// Reads a count; a missing one is 0.
    mutating func count(_ name: String) throws(Fault) -> Int {
        guard let number = try number(name) else { return 0 }
        guard Self.counts.contains(number) else {
            throw Fault("has a member '\(name)' that is not a number up to \(Self.counts.upperBound).")
        }
        return number
    }

    /// Returns whether there is a member that was not read.
    func has(_ name: String) -> Bool { members[name] != nil }

    mutating func flag(_ name: String) throws(Fault) -> Bool {
        switch members.removeValue(forKey: name) {
        case nil: return false
        case .flag(let flag): return flag
        default: throw Fault("has a member '\(name)' that is neither true nor false.")
        }
    }

    /// Reads an object of texts, in its order.
    mutating func texts(_ name: String) throws(Fault) -> [(String, String)] {
        var result: [(String, String)] = []
        for (member, value) in try object(name) {
            guard case .text(let text) = value else { throw Fault("has a member of '\(name)' that is not a text.") }
            result.append((member, text))
        }
        return result
    }

    /// Reads an object of whole numbers.
    mutating func counts(_ name: String) throws(Fault) -> [String: Int] {
        var result: [String: Int] = [:]
        for (member, value) in try object(name) {
            guard case .number(let number) = value, Self.counts.contains(number) else {
                throw Fault("has a member of '\(name)' that is not a number up to \(Self.counts.upperBound).")
            }
            result[member] = number
        }
        return result
    }

    private mutating func object(_ name: String) throws(Fault) -> [(name: String, value: Value)] {
        switch members.removeValue(forKey: name) {
        case nil: return []
        case .object(let members): return members
        default: throw Fault("has a member '\(name)' that is not an object.")
        }
    }

    /// Rejects members that were not read.
    func end() throws(Fault) {
        guard members.isEmpty else {
            throw Fault("has \(members.count == 1 ? "an unknown member" : "\(members.count) unknown members").")
        }
    }
}
