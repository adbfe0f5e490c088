internal import FoundationEssentials
internal import Glibc

/// What the kernel says of this process, under the names that all Prometheus clients use.
package struct ProcessFacts {
    package var residentBytes = 0
    var virtualBytes = 0
    var threads = 0
    var openFiles = 0
    var mostFiles = 0
    var cpuSeconds = 0.0

    /// Reads /proc; what can't be read stays 0.
    package static func now() -> ProcessFacts {
        var facts = ProcessFacts()
        (facts.virtualBytes, facts.residentBytes) = bytes(of: "self")
        if let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        {
            // The name may hold anything, so fields are counted from behind it: 14 and 15 are the times, 20 the threads.
            let fields = text[end...].split(separator: " ").dropFirst().map { Int($0) ?? 0 }
            if fields.count > 17 {
                facts.cpuSeconds = Double(fields[11] + fields[12]) / Double(sysconf(Int32(_SC_CLK_TCK)))
                facts.threads = fields[17]
            }
        }
        facts.openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        var limit = rlimit()
        // Writes one `rlimit`, which it is.
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            facts.mostFiles = Int(clamping: limit.rlim_cur)
        }
        return facts
    }

    /// Of another process; 0 once it is gone.
    package static func residentBytes(of process: Int32) -> Int { bytes(of: "\(process)").resident }

    private static func bytes(of process: String) -> (virtual: Int, resident: Int) {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else {
            return (0, 0)
        }
        // "size resident shared …", in pages (proc(5)).
        let pages = text.split(separator: " ").prefix(2).map { Int($0) ?? 0 }
        let page = sysconf(Int32(_SC_PAGESIZE))
        return pages.count == 2 ? (pages[0] * page, pages[1] * page) : (0, 0)
    }

    func write(to page: inout Exposition) {
        page.gauge("process_resident_memory_bytes", "Resident memory.", Double(residentBytes))
        page.gauge("process_virtual_memory_bytes", "Virtual memory.", Double(virtualBytes))
        page.gauge("process_threads", "Threads.", Double(threads))
        page.gauge("process_open_fds", "Open file descriptors.", Double(openFiles))
        page.gauge("process_max_fds", "The limit on them.", Double(mostFiles))
        page.counter("process_cpu_seconds_total", "User and system time.", cpuSeconds)
    }
}
