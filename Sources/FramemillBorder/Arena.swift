// Memory that a program and one decoder share: bytes of the source go one way, pixels the other, without passing through
// the kernel. What a decoder writes here may change at any time: the program copies it first and looks at the copy.
//
// A System V segment, since it has one size for good: a decoder can't shrink it under the program's feet. It is marked for
// removal before anybody else knows of it, and so is gone with the last of the two processes, however they end. Not a
// file without a name (`memfd_create`): its size counts against `ulimit -f`, and it would have to be sealed.

internal import CLinux
internal import Glibc

package final class Arena: Sendable {
    /// Bytes of a source: as much as one answer brings.
    package static let sourceBytes = 1 << 20
    /// Parts of a frame: one is read while others are written.
    package static let slotBytes = 1 << 20
    package static let slots = 4
    private static let byteCount = sourceBytes + slotBytes * slots

    private let address: UInt

    /// By which the other process finds it.
    package let number: Int32

    /// New memory; `nil` where the system has none.
    package convenience init?() {
        let number = shmget(IPC_PRIVATE, Self.byteCount, 0o600)
        guard number >= 0 else { return nil }
        self.init(number)
        // Linux lets others come as long as one is there. Nothing is written for this command.
        _ = shmctl(number, IPC_RMID, nil)
    }

    /// The memory of this number; `nil` where there is none.
    package init?(_ number: Int32) {
        // A place that the system chooses, which this object gives back.
        let pointer = unsafe shmat(number, nil, 0)
        guard let pointer = unsafe pointer, Int(bitPattern: pointer) != -1 else { return nil }
        address = UInt(bitPattern: pointer)
        self.number = number
    }

    deinit {
        // As it was attached.
        _ = unsafe shmdt(UnsafeRawPointer(bitPattern: address))
    }

    /// Room for bytes of a source.
    @unsafe package var source: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            start: UnsafeMutableRawPointer(bitPattern: address), count: Self.sourceBytes)
    }

    /// Room for pixels: the slot that the part of this number stands in.
    @unsafe package func slot(_ number: Int) -> UnsafeMutableRawBufferPointer {
        let offset = Self.sourceBytes + number % Self.slots * Self.slotBytes
        return unsafe UnsafeMutableRawBufferPointer(
            start: UnsafeMutableRawPointer(bitPattern: address + UInt(offset)), count: Self.slotBytes)
    }
}
