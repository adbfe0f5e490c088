import Framemill
import FramemillEngine
import FramemillQueue

/// Looks at a worker from beside it: how its queue is, what room is left where its results go, what memory it takes.
struct Watch: Sendable {
    /// With less than this free no job can finish.
    let floorBytes: Int
    private let mostResidentBytes: Int?
    private let folders: [String]
    /// A file system that hangs must hold up nothing else.
    private let disk = Lane("room", width: 1, stackBytes: 1 << 18) { () }

    /// As often as a scraper might want to know.
    private static let period = Duration.seconds(2)

    init(_ arguments: Arguments, _ configuration: Configuration) throws(Failure) {
        floorBytes = try arguments.whole("disk-floor", 0...Int.max) ?? 64 << 20
        mostResidentBytes = try arguments.whole("max-memory", 1...Int.max)
        let resident = ProcessFacts.now().residentBytes
        if let most = mostResidentBytes, most < resident * 2 {
            throw Arguments.usage(
                "--max-memory \(most) is less than twice the \(resident) bytes of a worker without work")
        }
        let sink = arguments.text("sink") ?? "cache"
        let results = sink == "cache" ? configuration.cacheDirectory : sink.hasPrefix("s3://") ? nil : sink
        let file = arguments.text("queue").flatMap(QueueAddress.filePath)
        folders = [results, file].compactMap(\.self)
    }

    /// Asks the queue how it is. That takes a script of Redis, or a few rows of SQLite, however many jobs wait.
    func queue(_ queue: any JobQueue, _ pulse: Pulse) async {
        repeat {
            do throws(Failure) { pulse.note(.success(try await queue.stats())) } catch {
                pulse.note(.failure(error))
            }
        } while await Self.pause(Self.period)
    }

    func room(_ pulse: Pulse) async {
        guard !folders.isEmpty else { return }
        repeat {
            let free = try? await disk.run(stop: Stop()) { [folders] (_, _) throws(Failure) in
                folders.compactMap { DiskSpace.freeBytes(at: $0) }.min()
            }
            // Without an answer, because all is about to end, nothing is said of it.
            pulse.note(freeBytes: free ?? nil)
        } while await Self.pause(Self.period)
    }

    /// Returns what to say of it once the process and its decoders take more memory than they may; `nil` when the worker
    /// ends first.
    func memory(_ decoders: DecoderPool) async -> String? {
        guard let most = mostResidentBytes else { return nil }
        repeat {
            let resident =
                ProcessFacts.now().residentBytes
                + decoders.processes.reduce(0) { $0 + ProcessFacts.residentBytes(of: $1) }
            if resident > most {
                return
                    "\(resident) bytes are resident, more than --max-memory \(most): starts again once its jobs are done"
            }
        } while await Self.pause(Self.period)
        return nil
    }

    /// `false` once the worker has ended.
    static func pause(_ time: Duration) async -> Bool {
        do { try await Task.sleep(for: time) } catch { return false }
        return true
    }
}
