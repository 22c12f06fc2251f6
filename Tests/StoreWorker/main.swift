import FaultShim
import FaultWorkload
import OfflineStore

// A process that uses a store, for tests that take its life, its disk or its power:
//
//   store-worker load FOLDER SEED COUNT LANES BUDGET [MODE AT]   a seeded workload; one line before
//   and after each operation store-worker sweep FOLDER SEED MODE ERROR LENGTH FROM STRIDE LIMIT
//   the tour again and again, each time with a fault at another file operation store-worker revise
//   FOLDER MODE AT   other keys for what is stored store-worker follow FOLDER URL COUNT   a store
//   that another process writes; one line for each change that it hears of store-worker download
//   FOLDER URL MODE ERROR AT   a file, by the request layer
//
// MODE is 'kill', 'torn' or 'cut' with 'load', 'error' or 'short' with 'sweep', any of them but
// 'short', or 'none', with 'revise' and 'download'.

let words = Array(CommandLine.arguments.dropFirst())
switch words.first {
case "load": await Load(words)?.run()
case "sweep": await Sweep(words)?.run()
case "revise": await Revise(words)?.run()
case "follow": await Follow(words)?.run()
case "download": await Download(words)?.run()
default: Line.write("usage: see Tests/StoreWorker/main.swift")
}
