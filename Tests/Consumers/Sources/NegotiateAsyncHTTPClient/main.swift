import NegotiateAsyncHTTPClient

print(NegotiatingHTTPClient.self == NegotiatingHTTPClient.self ? "works" : "fails")
