internal import FramemillMedia

/// How many jobs a worker takes now, and how many of these are for interactive ones alone.
///
/// People come first: while a job runs that somebody waits for, others run in a quarter of the slots only, because they
/// share cores, disk and network with it. As soon as none does, they have all of them again.
struct Room: Equatable {
    var free: Int
    var reserved: Int

    /// - Parameters:
    ///   - hurried: interactive jobs that run and are not late.
    ///   - others: jobs of other priorities that run and are not late.
    ///   - late: jobs that run for longer than `Options.late`, and hold no slot any more.
    ///   - started: jobs so far.
    init(_ options: Worker.Options, hurried: Int, others: Int, late: Int, started: Int) {
        // Nothing on top where the run is bounded, which else would end with more than it was told.
        let reserve = options.jobs == nil ? options.reserve : 0
        let all = options.slots + reserve
        free = max(
            0,
            min(
                all - hurried - others, all + options.slots - hurried - others - late,
                (options.jobs ?? .max) - started))
        let width = hurried > 0 ? max(1, options.slots / 4) : options.slots
        reserved = free - min(free, max(0, min(free - reserve, width - others)))
    }
}
