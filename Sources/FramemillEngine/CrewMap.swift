public import FramemillMedia
internal import Synchronization

extension Crew {
    /// What `body` makes of each index below `count`, in order. Only on a lane's own thread that holds a permit.
    /// - Parameter helpers: as for `each`.
    /// - Throws: the failure of the first part that failed; the other parts have ended too.
    public func map<Value: Sendable>(
        _ count: Int, helpers: Int = .max, _ body: @escaping @Sendable (Int) throws(Failure) -> Value
    ) throws(Failure) -> [Value] {
        let results = Results<Value>(count)
        each(count, helpers: helpers) { index in results.keep(index) { () throws(Failure) in try body(index) }
        }
        return try results.inOrder()
    }

    /// The same, while the caller does work of its own; see `each(_:_:meanwhile:)`. Both end, whichever fails.
    /// - Returns: the parts' results, and what `own` made or failed with.
    /// - Throws: the failure of the first part that failed, not that of `own`.
    public func map<Value: Sendable, Own>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws(Failure) -> Value,
        meanwhile own: () throws(Failure) -> Own
    ) throws(Failure) -> (parts: [Value], own: Result<Own, Failure>) {
        let results = Results<Value>(count)
        let made = each(count) { index in
            results.keep(index) { () throws(Failure) in try body(index) }
        } meanwhile: {
            () -> Result<Own, Failure> in
            do throws(Failure) { return .success(try own()) } catch { return .failure(error) }
        }
        return (try results.inOrder(), made)
    }
}

/// Where the results of several threads meet.
private final class Results<Value: Sendable>: Sendable {
    private let all: Mutex<[Result<Value, Failure>?]>

    init(_ count: Int) { all = Mutex(Array(repeating: nil, count: count)) }

    func keep(_ index: Int, _ make: () throws(Failure) -> Value) {
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try make()) } catch { result = .failure(error) }
        all.withLock { $0[index] = result }
    }

    func inOrder() throws(Failure) -> [Value] {
        var values: [Value] = []
        for result in all.withLock({ $0 }) {
            guard let result else { throw Failure(.internalError, .decode, "a part was left out") }
            values.append(try result.get())
        }
        return values
    }
}
