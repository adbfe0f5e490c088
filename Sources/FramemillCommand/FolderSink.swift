import Framemill
import FramemillEngine
import FramemillQueue

/// A directory; each picture appears whole under the name of its key.
struct FolderSink: Sink {
    private let lane: Lane<OutputFolder>

    init(_ path: String) throws(Failure) {
        let folder = OutputFolder(path, option: "--sink")
        try folder.prepare()
        // Nearly all of a write is the wait for the disk, which takes many at once in hardly more time than one.
        lane = Lane("sink", width: 16, stackBytes: 1 << 18) { () throws(Failure) in folder }
    }

    func put(_ artifact: Artifact, for job: FramemillQueue.Job) async throws(Failure) -> String? {
        let name = OutputName.make(url: job.url, key: job.pictureKey, format: job.recipe.format)
        try await lane.run(priority: job.priority, stop: Stop()) { (folder, _) throws(Failure) in
            try folder.write(artifact.bytes, as: name)
        }
        return name
    }
}
