extension Redaction {
    /// Returns a query with only the names of its parameters: `*` replaces each value and each
    /// parameter without a name. Used for logs that record every request.
    ///
    /// - Parameter query: the query without the leading `?`. It may be truncated anywhere.
    package static func valuesHidden(in query: some Sequence<UInt8>) -> String {
        var result: [UInt8] = []
        var parameter: [UInt8] = []
        var isValue = false
        func finish() {
            // A parameter without an equals sign may consist of a secret value: '?TOKEN'.
            if !isValue, !parameter.isEmpty { result.append(UInt8(ascii: "*")) }
            parameter.removeAll(keepingCapacity: true)
            isValue = false
        }
        for byte in query {
            switch byte {
            case UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                finish()
                result.append(byte)
            case UInt8(ascii: "=") where !isValue:
                result += parameter
                result += "=*".utf8
                isValue = true
            default:
                if !isValue { parameter.append(byte) }
            }
        }
        finish()
        return String(decoding: result, as: UTF8.self)
    }
}
