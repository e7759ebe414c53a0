//go:build !linux

package headgate

import "google.golang.org/grpc/codes"

func lowerPriority() (string, error) {
	return "", &Error{Code: codes.Unimplemented, Message: "a process lowers its own priority on Linux only"}
}
