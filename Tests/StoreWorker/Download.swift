import FaultShim
import Holdfast

/// One download into a file, with a fault at one of the file operations in its folder.
///
/// It writes a line `progress BYTES` for each part, then `done LENGTH RESUMED-FROM` or `failed
/// CODE`, and `calls COUNT`.
struct Download {
    private struct Film: Endpoint {
        let baseURL: String
        let path = ""
    }

    let folder: String
    let url: String
    let plan: fault_plan

    init?(_ words: [String]) {
        let modes = [
            "none": FAULT_COUNT, "kill": FAULT_KILL, "torn": FAULT_TORN_KILL, "cut": FAULT_CUT, "error": FAULT_ERROR,
        ]
        guard words.count == 6, let mode = modes[words[3]], let error = Int32(words[4]), let at = Int64(words[5]) else {
            return nil
        }
        folder = words[1]
        url = words[2]
        // A full disk stays full.
        plan = fault_plan(
            mode: mode,
            error: error,
            first: at,
            count: mode == FAULT_ERROR ? 1_000_000 : 1,
            seed: UInt64(at)
        )
    }

    func run() async {
        do {
            // This test does not concern the store.
            let client = try await CachingClient.open(store: folder + "/store")
            let files = folder + "/files"
            fault_watch(files, plan.mode == FAULT_CUT ? 1 : 0)
            fault_arm(plan)
            let call = client.call(Film(baseURL: url)).with {
                $0.onProgress = { Line.write("progress \($0.completed)") }
            }
            do {
                let file = try await call.download(to: DownloadDestination(files + "/film"))
                fault_disarm()
                Line.write("done \(file.length) \(file.resumedFrom)")
            } catch let error as HoldfastError {
                fault_disarm()
                Line.write("failed \(error.code)")
            }
            Line.write("calls \(fault_calls())")
            try await client.close()
        } catch {
            Line.write("wrong \(error)")
        }
    }
}
