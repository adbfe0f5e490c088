// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "library-call",
    dependencies: [
        // Named, because the folder of a checkout may be called anything.
        .package(name: "framemill", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "library-call",
            dependencies: [
                .product(name: "Framemill", package: "framemill"),
                // To decode in this process; with `DecoderPool` it is not needed.
                .product(name: "FramemillImaging", package: "framemill"),
            ],
            path: "Sources/LibraryCall",
            swiftSettings: [.swiftLanguageMode(.v6)],
        )
    ],
)
