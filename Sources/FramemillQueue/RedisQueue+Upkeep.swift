public import FramemillMedia

extension RedisQueue {
    public func stats() async throws(Failure) -> QueueStats {
        let reply = try await run(.stats, []).list
        guard reply.count == 14 else { throw unexpected(.stats) }
        let numbers = reply.map { $0.number ?? 0 }
        var stats = QueueStats()
        for (index, priority) in Priority.allCases.enumerated() {
            var depth = QueueStats.Depth()
            depth.waiting = Int(numbers[index * 2])
            depth.oldestMilliseconds = numbers[index * 2 + 1]
            stats.priorities[priority.name] = depth
        }
        stats.delayed = Int(numbers[6])
        // Due, and about to be given a place; not worth a look at each for its priority.
        stats.priorities[Priority.backfill.name]!.waiting += Int(numbers[7])
        (stats.running, stats.dead, stats.parked) = (Int(numbers[8]), Int(numbers[9]), Int(numbers[10]))
        (stats.done, stats.isPaused) = (numbers[11], numbers[12] != 0)
        stats.pausedHosts = reply[13].list.compactMap(\.text).sorted()
        // By INFO and not CONFIG, which hosted servers keep to themselves.
        let memory = try await ask(["INFO", "memory"]).text ?? ""
        stats.bytes = Self.value("used_memory", in: memory).flatMap { Int64($0) } ?? 0
        if let policy = Self.value("maxmemory_policy", in: memory), policy != "noeviction" {
            stats.warnings.append(
                "Redis throws keys away when it is full (maxmemory-policy \(policy)), and jobs with them; set it to noeviction"
            )
        }
        let persistence = try await ask(["INFO", "persistence"]).text ?? ""
        if Self.value("aof_enabled", in: persistence) == "0" {
            stats.warnings.append(
                "Redis keeps no append-only file: jobs are lost when it ends; set appendonly yes")
        }
        return stats
    }

    private static func value(_ name: String, in info: String) -> String? {
        info.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name + ":") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    public func show(_ id: String) async throws(Failure) -> JobRecord? {
        try records(try await run(.page, ["one", id])).jobs.first
    }

    public func page(_ state: JobState, after place: String?, count: Int) async throws(Failure) -> JobPage {
        try records(try await run(.page, [state.rawValue, place ?? "", "\(count)"]))
    }

    private func records(_ reply: Reply) throws(Failure) -> JobPage {
        let fields = reply.list.map { $0.text ?? "" }
        guard fields.count >= 2, fields.count % 15 == 2, let now = Int64(fields[0]) else {
            throw unexpected(.page)
        }
        let jobs = stride(from: 2, to: fields.count, by: 15).map { JobRecord(Array(fields[$0..<($0 + 15)])) }
        return JobPage(jobs: jobs, next: fields[1].isEmpty ? nil : fields[1], now: now)
    }
}

extension JobRecord {
    /// From the fields in the order of the script `page`.
    fileprivate init(_ fields: [String]) {
        func text(_ index: Int) -> String? { fields[index].isEmpty ? nil : fields[index] }
        self.init(
            id: fields[0], state: JobState(rawValue: fields[1]) ?? .waiting,
            priority: (Int(fields[2]).flatMap(Priority.init(rawValue:)) ?? .backfill).name, host: fields[3],
            tries: Int(fields[4]) ?? 0, added: Int64(fields[5]) ?? 0, due: Int64(fields[6]) ?? 0,
            key: text(7),
            worker: text(8), expires: Int64(fields[14]), code: text(9), class: text(10), message: text(11),
            ended: Int64(fields[12]), job: fields[13])
    }
}
