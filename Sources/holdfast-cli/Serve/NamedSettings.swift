import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastGateway

/// The settings outside a configuration file: from the command line or, if absent there, from the
/// environment.
struct NamedSettings: Sendable {
    let file: String?
    let origin: GatewayOrigin?
    /// The addresses; empty if none are given.
    let listen: [ListenAddress]
    let store: String?
    /// The option or variable that sets ``store``, for messages.
    let storePlace: String?
    let mode: OfflineMode?
    let threads: Int?
    /// The requests to log in the access log.
    let accessLog: Configuration.Log.Access?
    let logLevel: Logger.Level?
    let logFormat: LeveledLogHandler.Format?
    /// Whether the control plane is disabled, whatever the file says.
    let hasNoControl: Bool
    /// A folder with the page's files, for developing the page.
    let pageFolder: String?
    /// Used if neither `store` nor the file specifies a store.
    let defaultStore: DefaultStore

    /// - Throws: `InvalidSetting`
    init(_ arguments: Serve, environment: [String: String]) throws {
        func text(_ flag: String?, _ variable: ServeVariable) -> (text: String, place: String)? {
            if let flag { return (flag, "'--\(variable)'") }
            return variable.value(in: environment).map { ($0, "'\(variable.rawValue)' in the environment") }
        }
        defaultStore = DefaultStore(environment: environment)
        hasNoControl = arguments.noControl
        pageFolder = arguments.pageAssets
        file = text(arguments.file, .config)?.text
        let folder = text(arguments.store, .store)
        (store, storePlace) = (folder?.text, folder?.place)
        origin = try text(arguments.origin, .origin).map { text, place in
            do {
                return try GatewayOrigin(text)
            } catch {
                throw InvalidSetting("\(place) must be an absolute http or https URL: \(error)")
            }
        }
        listen = try Self.addresses(arguments.listen, ServeVariable.listen.value(in: environment))
        func word<Word: RawRepresentable<String> & CaseIterable>(
            _ flag: String?,
            _ variable: ServeVariable
        ) throws -> Word? {
            try text(flag, variable).map { text, place in
                guard let word = Word(rawValue: text) else {
                    let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
                    throw InvalidSetting("\(place) must be one of \(known), not '\(text)'.")
                }
                return word
            }
        }
        accessLog = try word(arguments.accessLog, .accessLog)
        logLevel = try word(arguments.logLevel, .logLevel)
        logFormat = try word(arguments.logFormat, .logFormat)
        mode = try text(arguments.mode?.rawValue, .mode).map { text, place in
            guard let mode = Serve.Mode(rawValue: text) else {
                let known = Serve.Mode.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidSetting("\(place) must be one of \(known), not '\(text)'.")
            }
            return mode.offlineMode
        }
        threads = try text(arguments.threads, .threads).map { text, place in
            guard let number = Int(text), (1...1024).contains(number) else {
                throw InvalidSetting("\(place) must be a number from 1 to 1024, not '\(text)'.")
            }
            return number
        }
    }

    private static func addresses(_ flags: [String], _ variable: String?) throws -> [ListenAddress] {
        let isFlag = !flags.isEmpty
        let texts = isFlag ? flags : variable.map { $0.split(separator: ",").map { $0.filter { $0 != " " } } } ?? []
        let place = isFlag ? "'--\(ServeVariable.listen)'" : "'\(ServeVariable.listen.rawValue)' in the environment"
        guard texts.count <= GatewayListener.limit else {
            throw InvalidSetting("\(place) sets \(texts.count) listeners. The limit is \(GatewayListener.limit).")
        }
        return try texts.map { text in
            do {
                return try ListenAddress(text)
            } catch {
                throw InvalidSetting("\(place): \(error)")
            }
        }
    }
}
