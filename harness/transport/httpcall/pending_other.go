//go:build !unix

package httpcall

// pending cannot be told portably; net/http alone notices closed connections.
func pending(uintptr) bool { return false }
