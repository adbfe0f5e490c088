// The whole life of a decoder process: start threads, warm up, go behind the walls, then one job after the other until
// the parent is gone.

internal import FramemillBorder
public import FramemillEngine
internal import FramemillMedia
internal import Glibc

/// A decoder process: what its parent asks for, `renderer` makes.
public enum DecoderChild {
    /// Takes the words that the parent starts it with: helper threads, bytes of memory, and the number of
    /// the memory that both share.
    public static func run(_ renderer: any FrameRenderer, _ words: [String]) -> Never {
        guard words.count == 3, let helpers = Int(words[0]), let memoryBytes = Int(words[1]),
            let number = Int32(words[2]), let arena = Arena(number)
        else {
            let text =
                "framemill-decoder is started by framemill, which decodes pictures in it; it takes no options\n"
            // The text lives through the call; there is nobody to tell where it fails.
            _ = unsafe text.withCString { unsafe write(2, $0, strlen($0)) }
            exit(2)
        }
        let parent = Parent(arena)
        let desk = Desk(renderer, parent, Lane("helper", width: max(0, min(helpers, 63))) { () })
        let watch = Lane<Void>("watch", width: 1) { () }
        watch.post { desk.watch() }
        tellMemory()
        warmUp(renderer)
        do throws(Failure) {
            try Jail.close(memoryBytes: memoryBytes)
        } catch {
            var failure = error
            parent.say(Message(.failure) { $0.pass(&failure) })
            _exit(Border.Ending.setUp)
        }
        var (magic, version) = (Border.magic, Border.version)
        parent.say(
            Message(.hello) {
                $0.pass(&magic)
                $0.pass(&version)
            })
        while true { desk.work() }
    }

    /// What is made once, and may look for a file or take long: tables of codecs, metadata of types.
    private static func warmUp(_ renderer: any FrameRenderer) {
        let stop = Stop()
        var recipe = Recipe()
        for format in Recipe.OutputFormat.allCases {
            recipe.format = format
            // What fails here fails again when it is asked for, and is told then.
            guard let bytes = try? renderer.encode(Bitmap(width: 16, height: 16), recipe: recipe, stop: stop)
            else { continue }
            _ = try? renderer.render(MemoryReader(bytes), recipe: recipe, limits: Limits(), stop: stop)
        }
    }

    /// An allocation that fails ends a Swift process like any other fault. The C library's last word on the thread says
    /// which it was.
    private static func tellMemory() {
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS] {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { number in
                if errno == ENOMEM { _exit(Border.Ending.memory) }
                // Nobody hears it a second time, so that it ends the process as it would have.
                raise(number)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            // Reads the struct, which is ours.
            unsafe sigaction(number, &action, nil)
        }
    }
}
