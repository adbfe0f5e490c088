/// Whether jobs that are sent here get done. Red takes a worker out of rotation; it does not kill it (that is
/// `/healthz`, and the watchdog).
package struct Readiness: Sendable, Equatable {
    /// Why no job can finish now; empty when one can.
    package var troubles: [String]

    package init(troubles: [String]) { self.troubles = troubles }

    /// What is looked at. Times are seconds on a clock that never goes back.
    package struct Signs: Sendable {
        /// Why the last call to the queue failed.
        package var queueTrouble: String?
        /// For how long nobody listened for new jobs, in seconds.
        package var deafSeconds = 0.0
        /// Why the last result could not be put where it belongs.
        package var sinkTrouble: String?
        package var isDraining = false
        /// Jobs that are worked on.
        package var running = 0
        /// When the oldest of them began.
        package var oldestStart: Double?
        /// When the last job ended, or the worker began.
        package var lastProgress = 0.0
        /// Free bytes where results go, and the least that must be; `nil` where nobody counts.
        package var free: (bytes: Int, floor: Int)?

        package init() {}
    }

    /// Without progress for longer than this while work is in hand, the worker is stuck.
    ///
    /// - Parameter patience: seconds; longer than an honest job, shorter than a probe's patience.
    package init(_ signs: Signs, now: Double, patience: Double) {
        troubles = []
        if signs.isDraining { troubles.append("draining: no new jobs are taken") }
        if let trouble = signs.queueTrouble { troubles.append("queue: \(trouble)") }
        if signs.deafSeconds > patience {
            troubles.append(
                "queue: the read that waits for jobs has not come back for \(Int(signs.deafSeconds)) s")
        }
        if let trouble = signs.sinkTrouble { troubles.append("sink: \(trouble)") }
        if let free = signs.free, free.bytes < free.floor {
            troubles.append("disk: \(free.bytes) bytes are free, \(free.floor) must be")
        }
        if signs.running > 0, let start = signs.oldestStart {
            let idle = now - max(signs.lastProgress, start)
            if idle > patience {
                troubles.append(
                    "stuck: \(signs.running) jobs are in hand, and none has ended for \(Int(idle)) s")
            }
        }
    }

    package var isReady: Bool { troubles.isEmpty }

    /// The answer of `/readyz`.
    package var page: HealthServer.Page {
        isReady
            ? HealthServer.Page(200, "ready\n")
            : HealthServer.Page(503, troubles.map { $0 + "\n" }.joined())
    }
}
