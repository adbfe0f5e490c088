internal import CAllocator

/// How the C library's allocator keeps memory: for a process that decodes pictures of every size, all day, on many
/// threads. Set for the command alone; a library does not change its host's allocator.
///
/// glibc left to itself gives threads up to eight arenas a core, each of which keeps what its largest picture needed,
/// and raises the size from which blocks come straight from the system to 32 MiB as soon as one such block was freed:
/// from then on frames lie among small blocks and their memory can't go back. Measured, 10,000 lines over 680 files
/// of which a seventh are broken, 2 cores, no cache: 390 MB resident at line 2,000 and 488 at the end without these
/// lines, 154 and 174 with them.
enum Allocator {
    /// Call before any other thread is started.
    static func settle() {
        // Threads that compute are as many as cores, so a few arenas are seldom waited for.
        mallopt(M_ARENA_MAX, arenas)
        // A constant, which also stops glibc from raising it. Frames of more than about 800 x 600 go back to the system
        // when they are freed; smaller ones are reused, which saves their page faults.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        // The free end of an arena beyond this goes back too.
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
    }

    private static let arenas: Int32 = 3
}
