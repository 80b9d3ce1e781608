import NegotiateAsyncHTTPClient

// That this program builds and starts is the test.
print("works with \(NegotiatingHTTPClient.self)")
