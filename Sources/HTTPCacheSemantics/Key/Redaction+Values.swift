extension Redaction {
    /// A query of which only the names of parameters are left: `*` stands for each value, and for a
    /// parameter that has no name. For logs that keep more requests than anyone reads.
    ///
    /// - Parameter query: without the `?` before it. It may be cut anywhere.
    package static func valuesHidden(in query: some Sequence<UInt8>) -> String {
        var result: [UInt8] = []
        var parameter: [UInt8] = []
        var isValue = false
        func finish() {
            // Without an equals sign it may be all value: '?TOKEN'.
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
