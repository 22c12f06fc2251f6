import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

@testable import HTTPCacheOperations

/// A job's file. It gives the same lines however it is cut, and a line that is accepted is the same
/// when it is written and read again.
func jobFile(_ input: UnsafeBufferPointer<UInt8>) {
    let bytes = Array(input)
    let whole = jobLines([bytes[...]])
    let single = jobLines(bytes.indices.map { bytes[$0...$0] })
    require(single == whole, "byte by byte \(single), whole \(whole)")
    let cut = jobLines(bytes.cut())
    require(cut == whole, "in pieces \(cut), whole \(whole)")
    for line in whole.lines {
        switch line {
        case .header(let header): require(jobLines([header.line[...]]).lines == [line], "a header changes")
        case .entry(let entry):
            require(!entry.request.fields.contains { Redaction.isSecretField($0.name.canonicalName) }, "a credential")
            guard case .header(let header)? = whole.lines.first else { return require(false, "no header") }
            require(jobLines([header.line[...], entry.line[...]]).lines.last == line, "a request changes")
        }
    }
}

/// The lines of a file, and the reason that it is rejected.
private struct JobLines: Equatable {
    var lines: [JobFile.Line] = []
    var refusal: JobFile.Refusal?
}

private func jobLines(_ pieces: [ArraySlice<UInt8>]) -> JobLines {
    var result = JobLines()
    var reader = JobFileReader(file: "a.job")
    do {
        for piece in pieces { try reader.read(piece) { result.lines.append($0) } }
        try reader.end()
    } catch {
        result.refusal = error as? JobFile.Refusal
        require(result.refusal != nil, "\(error)")
    }
    return result
}
