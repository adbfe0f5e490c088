import Framemill
import FramemillEngine
import FramemillQueue

/// A directory; each picture appears whole under the name of its key.
struct FolderSink: Sink {
    private let lane: Lane<OutputFolder>

    init(_ path: String) throws(Failure) {
        let folder = OutputFolder(path, option: "--sink")
        try folder.prepare()
        // Most of a write is the wait for the disk, so a few at once.
        lane = Lane("sink", width: 4) { () throws(Failure) in folder }
    }

    func put(_ artifact: Artifact, for job: FramemillQueue.Job) async throws(Failure) -> String? {
        let name = OutputName.make(url: job.url, key: job.pictureKey, format: job.recipe.format)
        try await lane.run(stop: Stop()) { (folder, _) throws(Failure) in
            try folder.write(artifact.bytes, as: name)
        }
        return name
    }
}
