import FramemillEngine
import TestSupport
import Testing

@Suite struct ProcessorsTests {
    @Test(arguments: [
        ("200000 100000\n", 2), ("max 100000\n", nil), ("150000 100000", 2), ("50000 100000", 1),
        ("1 100000", 1),
        ("400000 50000", 8), ("", nil), ("100000", nil), ("100000 0", nil), ("-1 100000", nil),
        ("inf 100000", nil),
        ("nan nan", nil), ("9223372036854775807 1", Int.max), ("1 2 3", nil),
    ])
    func readsAQuota(_ text: String, _ expected: Int?) {
        #expect(Processors.quota(text) == expected)
    }

    @Test func asksEveryGroupAboveToo() throws {
        let root = try TemporaryFolder()
        try root.write(Array("300000 100000\n".utf8), to: "a/cpu.max")
        try root.write(Array("max 100000\n".utf8), to: "a/b/cpu.max")
        try root.write(Array("700000 100000\n".utf8), to: "a/b/c/cpu.max")
        #expect(Processors.limits(of: "1:cpu:/x\n0::/a/b/c\n", in: root.path) == [7, 3])
        #expect(Processors.limits(of: "0::/\n", in: root.path) == [])
        #expect(Processors.limits(of: nil, in: root.path) == [])
        try root.write(Array("200000 100000\n".utf8), to: "cpu.max")
        #expect(Processors.limits(of: "0::/only/the/host/knows\n", in: root.path) == [2])
    }

    @Test func neverSaysNone() {
        #expect(Processors.available >= 1)
    }
}
