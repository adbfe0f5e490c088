package import FramemillMedia

extension Request {
    /// One text for all spellings of the source that surely mean the same bytes; as written where it is no URL.
    package var canonicalURL: String {
        // What is no URL fails when it is fetched, with a reason; here it only needs a name.
        (try? Location(url).canonical) ?? url
    }
}
