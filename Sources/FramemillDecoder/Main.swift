// `framemill-decoder`: the libraries that read what strangers wrote, in a process that can do nothing else.

internal import CAllocator
internal import FramemillChild
internal import FramemillImaging

@main
enum Main {
    static func main() {
        // As in the command itself: see its `Allocator`.
        mallopt(M_ARENA_MAX, 3)
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
        DecoderChild.run(Imaging(), Array(CommandLine.arguments.dropFirst()))
    }
}
