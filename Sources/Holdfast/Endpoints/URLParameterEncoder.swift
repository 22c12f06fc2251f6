#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Parameters as `name=value&…`: for the query of a URL, and as a form in the content (`application/x-www-form-urlencoded`).
///
/// Sorted by name; everything but RFC 3986's unreserved characters is percent-encoded as UTF-8, a space as `%20`. A nested object's
/// names stand in brackets (`filter[author]=7`). `null` is left out.
public struct URLParameterEncoder: ParameterEncoder, Hashable {
    /// How the elements of an array are named.
    public enum Arrays: Sendable, Hashable {
        /// `id=1&id=2`
        case repeated
        /// `id[]=1&id[]=2`
        case brackets
        /// `id[0]=1&id[1]=2`
        case indexed
    }

    /// How a boolean is written.
    public enum Booleans: Sendable, Hashable {
        /// `true`, `false`
        case words
        /// `1`, `0`
        case digits
    }

    /// See ``Arrays``.
    public var arrays: Arrays
    /// See ``Booleans``.
    public var booleans: Booleans

    /// Repeated names and words unless told otherwise.
    public init(arrays: Arrays = .repeated, booleans: Booleans = .words) {
        self.arrays = arrays
        self.booleans = booleans
    }

    /// `application/x-www-form-urlencoded`
    public var contentType: String { "application/x-www-form-urlencoded" }

    /// The parameters as a form. See ``query(_:)``.
    public func encode(_ parameters: Parameters) throws -> Data {
        Data(try query(parameters).utf8)
    }

    /// The parameters as a query, without `?`; empty where there are none.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed`: a number that is not finite.
    public func query(_ parameters: Parameters) throws -> String {
        var pairs: [String] = []
        for (name, value) in parameters.sorted { try append(value, as: Self.escaped(name), to: &pairs) }
        return pairs.joined(separator: "&")
    }

    private func append(_ value: ParameterValue, as name: String, to pairs: inout [String]) throws {
        switch value {
        case .null: return
        case .boolean(let value):
            pairs.append("\(name)=\(booleans == .words ? (value ? "true" : "false") : (value ? "1" : "0"))")
        case .integer(let value): pairs.append("\(name)=\(value)")
        case .unsigned(let value): pairs.append("\(name)=\(value)")
        case .number(let value):
            guard value.isFinite else {
                throw HoldfastError(
                    code: .encodingFailed,
                    message: "The parameter '\(name)' is \(value); a query takes finite numbers only."
                )
            }
            // The '+' of an exponent would be read as a space.
            pairs.append("\(name)=\(Self.escaped("\(value)"))")
        case .string(let value): pairs.append("\(name)=\(Self.escaped(value))")
        case .array(let values):
            for (index, value) in values.enumerated() {
                let suffix =
                    switch arrays {
                    case .repeated: ""
                    case .brackets: "%5B%5D"
                    case .indexed: "%5B\(index)%5D"
                    }
                try append(value, as: name + suffix, to: &pairs)
            }
        case .object(let parameters):
            for (inner, value) in parameters.sorted {
                try append(value, as: "\(name)%5B\(Self.escaped(inner))%5D", to: &pairs)
            }
        }
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func escaped(_ text: some StringProtocol) -> String {
        var octets: [UInt8] = []
        octets.reserveCapacity(text.utf8.count)
        for octet in text.utf8 {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                octets.append(octet)
            default:
                octets.append(UInt8(ascii: "%"))
                octets.append(digits[Int(octet >> 4)])
                octets.append(digits[Int(octet & 15)])
            }
        }
        return String(decoding: octets, as: UTF8.self)
    }
}
