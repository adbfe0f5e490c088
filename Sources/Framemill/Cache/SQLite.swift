// The wall to SQLite: one connection, and prepared statements that always end.
//
// A statement that is not reset keeps its read transaction, and while there is one the write-ahead log can't
// start anew: it would grow without bound. So rows are seen only inside a closure, and every way out of it
// resets.

internal import CSQLite

@safe package struct SQLite: ~Copyable {
    package struct Problem: Error {
        /// SQLite's result code, the extended one.
        package var code: CInt
        package var words: String

        /// The file is no database, or its pages contradict each other.
        package var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }
        /// The file may not be written, or not be made.
        package var isRefusal: Bool { [SQLITE_READONLY, SQLITE_CANTOPEN].contains(code & 0xFF) }
        package init(code: CInt, words: String) {
            self.code = code
            self.words = words
        }

        /// The file was opened, and says that it may not be written.
        var isWriteRefused: Bool { code == SQLITE_READONLY }
        /// The table isn't there: somebody emptied the file, or made it.
        package var isMissingTable: Bool { code & 0xFF == SQLITE_ERROR }
    }

    private let handle: OpaquePointer

    /// Without SQLite's own lock around the connection: whoever holds it is alone with it.
    package init(_ path: String, readOnly: Bool = false) throws(Problem) {
        var opened: OpaquePointer?
        let mode = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // The path lives until the call is over; `opened` takes the one pointer.
        let code = unsafe sqlite3_open_v2(
            path, &opened, mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard let opened = unsafe opened, code == SQLITE_OK else {
            // "Whether or not an error occurs when it is opened, resources ... should be released."
            _ = unsafe sqlite3_close_v2(opened)
            throw Problem(code: code, words: "cannot open \(path)")
        }
        unsafe handle = opened
    }

    // Statements may end after their connection: close_v2 waits for them.
    deinit { _ = unsafe sqlite3_close_v2(handle) }

    /// Milliseconds to wait for another process that writes.
    package func wait(_ milliseconds: Int32) { _ = unsafe sqlite3_busy_timeout(handle, milliseconds) }

    /// Runs statements that give no rows, or whose rows nobody wants.
    package func run(_ sql: String) throws(Problem) {
        // The text lives until the call is over.
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw problem(code, sql) }
    }

    package func prepare(_ sql: String) throws(Problem) -> Statement {
        var statement: OpaquePointer?
        // As above; SQLite keeps its own copy of the text.
        let code = unsafe sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard let statement = unsafe statement, code == SQLITE_OK else { throw problem(code, sql) }
        return unsafe Statement(statement)
    }

    /// The first column of the first row, as a number.
    package func number(_ sql: String) throws(Problem) -> Int64 {
        var number: Int64 = 0
        try prepare(sql).each { number = $0.int(0) }
        return number
    }

    /// `body` between `BEGIN IMMEDIATE` and `COMMIT`; undone when it throws.
    package func transaction<Value>(_ body: () throws(Problem) -> Value) throws(Problem) -> Value {
        try run("BEGIN IMMEDIATE")
        do throws(Problem) {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            // SQLite may have rolled back by itself already.
            try? run("ROLLBACK")
            throw error
        }
    }

    /// Whether the file was renamed or removed since it was opened.
    package var hasMoved: Bool {
        var moved: CInt = 0
        // SQLite writes one int.
        let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return code == SQLITE_OK && moved != 0
    }

    private func problem(_ code: CInt, _ sql: String) -> Problem {
        // The words are the connection's own until the next call.
        Problem(
            code: code, words: "\(unsafe String(cString: sqlite3_errmsg(handle))): \(sql.prefix(60))")
    }
}

/// A value for a `?`.
package enum SQLValue {
    case int(Int64)
    case text(String)
    case blob([UInt8])
    case null

    package init(_ text: String?) { self = text.map(Self.text) ?? .null }
}

/// A row under the cursor, of use only inside the closure that is given it.
@safe package struct SQLRow: ~Copyable {
    fileprivate let statement: OpaquePointer

    // A column beyond the last is NULL: 0, empty.
    package func int(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    package func isNull(_ column: CInt) -> Bool {
        unsafe sqlite3_column_type(statement, column) == SQLITE_NULL
    }

    package func text(_ column: CInt) -> String {
        // SQLite ends its text with a zero, and keeps it until the next step.
        unsafe sqlite3_column_text(statement, column).map { unsafe String(cString: $0) } ?? ""
    }

    /// The bytes lie in SQLite's memory and are gone when `body` is over.
    package func blob<Value>(_ column: CInt, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        // "call sqlite3_column_blob() first, then sqlite3_column_bytes()"
        let start = unsafe sqlite3_column_blob(statement, column)
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

@safe package struct Statement: ~Copyable {
    private let handle: OpaquePointer

    fileprivate init(_ handle: OpaquePointer) { unsafe self.handle = handle }

    deinit { _ = unsafe sqlite3_finalize(handle) }

    /// Runs it with these values, one row after the other. What is read stays valid as long as `body` runs.
    package func each(
        _ values: SQLValue..., row body: (borrowing SQLRow) throws(SQLite.Problem) -> Void = { _ in }
    ) throws(SQLite.Problem) {
        try each(values, row: body)
    }

    package func each(
        _ values: [SQLValue], row body: (borrowing SQLRow) throws(SQLite.Problem) -> Void
    ) throws(SQLite.Problem) {
        defer { _ = unsafe sqlite3_reset(handle) }
        for (index, value) in values.enumerated() {
            let code = bind(value, CInt(index + 1))
            guard code == SQLITE_OK else { throw problem(code) }
        }
        while true {
            let code = unsafe sqlite3_step(handle)
            switch code {
            case SQLITE_ROW: try body(unsafe SQLRow(statement: handle))
            case SQLITE_DONE: return
            default: throw problem(code)
            }
        }
    }

    /// The row that one number leads to, if there is one: without the list that `each` makes of its values.
    package func one(_ number: Int64, row body: (borrowing SQLRow) -> Void) throws(SQLite.Problem) {
        defer { _ = unsafe sqlite3_reset(handle) }
        _ = unsafe sqlite3_bind_int64(handle, 1, number)
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: body(unsafe SQLRow(statement: handle))
        case SQLITE_DONE: return
        default: throw problem(code)
        }
    }

    private func bind(_ value: SQLValue, _ place: CInt) -> CInt {
        switch value {
        case .int(let number):
            return unsafe sqlite3_bind_int64(handle, place, number)
        case .null: return unsafe sqlite3_bind_null(handle, place)
        // SQLITE_TRANSIENT: SQLite makes its own copy, before the text or the array can go.
        case .text(let text):
            return unsafe sqlite3_bind_text(handle, place, text, -1, framemill_sqlite_transient())
        case .blob(let bytes):
            return unsafe bytes.withUnsafeBytes {
                unsafe sqlite3_bind_blob(
                    handle, place, $0.baseAddress, CInt($0.count), framemill_sqlite_transient())
            }
        }
    }

    private func problem(_ code: CInt) -> SQLite.Problem {
        let connection = unsafe sqlite3_db_handle(handle)
        return SQLite.Problem(code: code, words: unsafe String(cString: sqlite3_errmsg(connection)))
    }
}
