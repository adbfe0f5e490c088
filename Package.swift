// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// The walls to C, each with the packages that pkg-config knows it by.
let walls = [
    ("CFFmpeg", "libavformat libavcodec libswscale libavutil"),
    ("CGIF", "libgif"),
    ("CImage", "libpng libturbojpeg libwebp libwebpdemux libwebpmux libavif"),
    ("CCurl", "libcurl"),
    ("CSQLite", "sqlite3"),
    ("CCrypto", "libcrypto"),
    ("CXXHash", "libxxhash"),
    ("CRedis", "hiredis"),
    ("CMicrohttpd", "libmicrohttpd"),
    ("CSeccomp", "libseccomp"),
]

func target(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: strict)
}

let package = Package(
    name: "framemill",
    products: [
        .library(name: "Framemill", targets: ["Framemill"]),
        .library(name: "FramemillImaging", targets: ["FramemillImaging"]),
        .library(name: "FramemillQueue", targets: ["FramemillQueue"]),
        .executable(name: "framemill", targets: ["FramemillCommand"]),
        .executable(name: "framemill-decoder", targets: ["FramemillDecoder"]),
        .executable(name: "framemill-bench", targets: ["FramemillBench"]),
        .executable(name: "framemill-fuzz", targets: ["FramemillFuzz"]),
    ],
    targets: walls.map { .systemLibrary(name: $0.0, pkgConfig: $0.1) } + [
        // Part of the C library: nothing to ask pkg-config for.
        .systemLibrary(name: "CAllocator"),
        // Of the compiler, and only where a build asks for it.
        .systemLibrary(name: "CFuzzer"),
        .systemLibrary(name: "CLinux"),
        target("FramemillMedia", []),
        target("FramemillEngine", ["FramemillMedia"]),
        target(
            "FramemillImaging",
            ["FramemillMedia", "FramemillEngine", "FramemillCanvas", "CFFmpeg", "CGIF", "CImage"]),
        target("FramemillCanvas", ["FramemillMedia", "FramemillEngine"]),
        target("FramemillBorder", ["FramemillMedia", "CLinux"]),
        target(
            "FramemillChild",
            ["FramemillBorder", "FramemillCanvas", "FramemillMedia", "FramemillEngine", "CSeccomp", "CLinux"]),
        .executableTarget(
            name: "FramemillDecoder", dependencies: ["FramemillChild", "FramemillImaging", "CAllocator"],
            swiftSettings: strict,
        ),
        target(
            "Framemill",
            [
                "FramemillBorder", "FramemillCanvas", "FramemillMedia", "FramemillEngine", "CLinux", "CCurl",
                "CSQLite",
                "CCrypto", "CXXHash",
            ]),
        target(
            "FramemillQueue",
            ["Framemill", "FramemillMedia", "FramemillEngine", "CRedis", "CMicrohttpd"]),
        .executableTarget(
            name: "FramemillCommand",
            dependencies: [
                "Framemill", "FramemillQueue", "FramemillMedia", "FramemillEngine", "CAllocator",
            ],
            swiftSettings: strict,
        ),
        .executableTarget(
            name: "FramemillBench",
            dependencies: [
                "Framemill", "FramemillQueue", "FramemillImaging", "FramemillMedia", "FramemillEngine",
                "CAllocator",
            ],
            swiftSettings: strict,
        ),
        .executableTarget(
            name: "FramemillFuzz",
            dependencies: [
                "Framemill", "FramemillQueue", "FramemillImaging", "FramemillMedia", "FramemillEngine",
                "CFuzzer",
            ],
            swiftSettings: strict,
        ),
        .target(
            name: "TestSupport", dependencies: ["FramemillMedia", "FramemillEngine"],
            path: "Tests/TestSupport", exclude: ["server.py"], swiftSettings: strict,
        ),
        .systemLibrary(name: "CFaults", path: "Tests/CFaults"),
        .executableTarget(
            name: "FaultDecoder",
            dependencies: [
                "FramemillChild", "FramemillImaging", "FramemillMedia", "FramemillEngine", "CFaults",
            ],
            path: "Tests/FaultDecoder", swiftSettings: strict,
        ),
        tests("FramemillMediaTests", ["FramemillMedia"]),
        tests("FramemillEngineTests", ["FramemillEngine", "FramemillMedia"]),
        tests(
            "FramemillImagingTests",
            ["FramemillImaging", "Framemill", "FramemillMedia", "FramemillEngine", "CImage"]),
        tests("FramemillTests", ["Framemill", "FramemillImaging", "FramemillMedia", "FramemillEngine"]),
        tests(
            "FramemillDecoderTests",
            [
                "Framemill", "FramemillBorder", "FramemillImaging", "FramemillMedia", "FramemillEngine",
                "FaultDecoder", "FramemillDecoder",
            ]),
        tests("FramemillQueueTests", ["FramemillQueue", "Framemill", "FramemillMedia", "FramemillEngine"]),
        tests("CommandTests", ["FramemillMedia"]),
    ],
)
