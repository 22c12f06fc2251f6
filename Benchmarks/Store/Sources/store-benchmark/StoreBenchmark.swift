#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Measures one thing in a process of its own and prints one line of JSON: 'store-benchmark COMMAND
/// NAME=VALUE...'.
///
/// `compare.py` runs the other side, and decides the order.
@main
enum StoreBenchmark {
    static func main() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            print(try await measure(options).json)
        } catch {
            Self.tell("error: \(error)\n")
            exit(1)
        }
    }

    /// Writes to standard error, whose name in C is not a constant.
    private static func tell(_ text: String) {
        var text = text
        text.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
    }

    private static func measure(_ options: Options) async throws -> Report {
        switch options.command {
        case "write": try await Writing.measure(options)
        case "read": try await Reading.measure(options)
        case "engine": try await EngineReading.measure(options)
        case "open": try await Opening.measure(options)
        case "large-in": try await LargeBody.measureWriting(options)
        case "large-out": try await LargeBody.measureReading(options)
        case "purge": try await Disturbance.measurePurge(options)
        case "evict": try await Disturbance.measureEviction(options)
        default:
            throw BenchmarkError(
                "'\(options.command)' is not known: write, read, engine, open, large-in, large-out, purge, evict."
            )
        }
    }
}

/// An error that stops a measurement.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
