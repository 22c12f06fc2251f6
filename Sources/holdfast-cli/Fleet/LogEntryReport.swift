import CommandLineSupport
import FleetTier
import Holdfast

/// An entry in the fleet log, for people and programs. Secrets are replaced.
struct LogEntryReport: Encodable {
    /// The kinds of entries.
    enum Kind: String, Encodable {
        case purge, epoch, unreadable
    }

    let position: String
    let addedAt: String
    let entry: Kind
    var node: String?
    var action: String?
    var scope: String?
    var selector: String?
    var epoch: String?
    var inherited: String?

    private enum CodingKeys: String, CodingKey {
        case position, addedAt, entry, node, action, scope, selector, epoch, inherited
    }

    /// - Parameter open: decrypts a sealed purge. Returns `nil` if it cannot.
    init(_ entry: LogEntry, open: ([UInt8]) -> PurgeRecord?) {
        position = "\(entry.position)"
        addedAt = Instant.text(Timestamp(milliseconds: entry.addedAt.milliseconds))
        switch entry.content {
        case .purge(let sealed):
            guard let record = open(sealed), let scope = record.selector.scope else {
                self.entry = .unreadable
                return
            }
            self.entry = .purge
            node = record.node.text
            action = record.effect.name
            self.scope = scope.kindName
            selector = scope.redactedSelector
        case .marker(let marker):
            self.entry = .epoch
            epoch = "\(marker.name)"
            inherited = marker.inherited.map { "\($0)" }
        case .unreadable: self.entry = .unreadable
        }
    }

    /// Writes all keys, with `null` for a missing value.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(position, forKey: .position)
        try container.encode(addedAt, forKey: .addedAt)
        try container.encode(entry, forKey: .entry)
        try container.encode(node, forKey: .node)
        try container.encode(action, forKey: .action)
        try container.encode(scope, forKey: .scope)
        try container.encode(selector, forKey: .selector)
        try container.encode(epoch, forKey: .epoch)
        try container.encode(inherited, forKey: .inherited)
    }

    /// The entry as one human-readable line.
    var text: String {
        let words: String
        switch entry {
        case .purge:
            let what = selector.map { "\(scope ?? "") \($0)" } ?? "everything"
            words = "\((node ?? "").padded(12))  \((action ?? "").padded(6))  \(what)"
        case .epoch:
            let rest =
                inherited.map { "it inherited the log up to \($0)" }
                ?? "it had no log (a new server, or one that lost its data)"
            words = "a new server: epoch \(epoch ?? ""); \(rest)"
        case .unreadable: words = "cannot be read: sealed with another secret or by a newer version, or foreign"
        }
        return "\(position.padded(24))  \(addedAt.padded(24))  \(words.printable)"
    }
}
