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
        .library(name: "Framemill", targets: ["Framemill", "FramemillImaging"]),
        .library(name: "FramemillQueue", targets: ["FramemillQueue"]),
        .executable(name: "framemill", targets: ["FramemillCommand"]),
        .executable(name: "framemill-bench", targets: ["FramemillBench"]),
        .executable(name: "framemill-fuzz", targets: ["FramemillFuzz"]),
    ],
    targets: walls.map { .systemLibrary(name: $0.0, pkgConfig: $0.1) } + [
        // Part of the C library: nothing to ask pkg-config for.
        .systemLibrary(name: "CAllocator"),
        // Of the compiler, and only where a build asks for it.
        .systemLibrary(name: "CFuzzer"),
        target("FramemillMedia", []),
        target("FramemillEngine", ["FramemillMedia"]),
        target("FramemillImaging", ["FramemillMedia", "FramemillEngine", "CFFmpeg", "CGIF", "CImage"]),
        target("Framemill", ["FramemillMedia", "FramemillEngine", "CCurl", "CSQLite", "CCrypto", "CXXHash"]),
        target(
            "FramemillQueue",
            ["Framemill", "FramemillMedia", "FramemillEngine", "CRedis", "CMicrohttpd"]),
        .executableTarget(
            name: "FramemillCommand",
            dependencies: [
                "Framemill", "FramemillQueue", "FramemillImaging", "FramemillMedia", "FramemillEngine",
                "CAllocator",
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
        tests("FramemillMediaTests", ["FramemillMedia"]),
        tests("FramemillEngineTests", ["FramemillEngine", "FramemillMedia"]),
        tests(
            "FramemillImagingTests",
            ["FramemillImaging", "Framemill", "FramemillMedia", "FramemillEngine", "CImage"]),
        tests("FramemillTests", ["Framemill", "FramemillImaging", "FramemillMedia", "FramemillEngine"]),
        tests("FramemillQueueTests", ["FramemillQueue", "Framemill", "FramemillMedia", "FramemillEngine"]),
        tests("CommandTests", ["FramemillMedia"]),
    ],
)
