/// What one user has at the server.
package struct ServerCounts: Hashable, Sendable {
    /// The user.
    package let user: UInt32
    /// Open connections, refused ones included.
    package let connections: Int
    package let caches: Int
    /// Credentials in all caches; settings that libkrb5 keeps among them are not counted.
    package let tickets: Int
    /// The memory that the caches take, by the estimate that the limit is compared with.
    package let bytes: Int
}
